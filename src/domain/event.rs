//! What a run tells while it goes on: the progress display and `--events` listen.

use std::{fmt, time::Duration};

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::{
    AnswerSource, Cost, Failure, FailureKind, Outcome, ProviderName, Purpose, QueueControl, RunStatus,
    TargetName, UnixMillis, Usage, Verdict,
};

#[cfg(test)]
pub(crate) mod samples;

/// Why a queue, a target or a whole run stopped before its trials were done.
#[derive(Clone, Debug, PartialEq)]
pub enum StopReason {
    /// The provider refuses every request of the account.
    QueueRefused {
        /// The account.
        provider: ProviderName,
        /// Its words.
        failure: Failure,
    },
    /// The provider refuses every request of one target.
    TargetRefused {
        /// The target.
        target: TargetName,
        /// Its words.
        failure: Failure,
    },
    /// Too many failures in a row without one success.
    Breaker {
        /// The account.
        provider: ProviderName,
        /// How many failures in a row.
        failures: u32,
        /// The last of them.
        failure: Failure,
    },
    /// The server asks to wait longer than the queue is allowed to.
    WaitTooLong {
        /// The account.
        provider: ProviderName,
        /// How long it asks to wait.
        wait: Duration,
        /// When it could go on.
        until: UnixMillis,
    },
    /// The next trial could pass the budget.
    Budget {
        /// What was spent.
        spent: Cost,
        /// What may be spent.
        limit: Cost,
    },
    /// There is a budget, and nobody can say what the next trial may cost.
    Unbounded {
        /// The target.
        target: TargetName,
    },
    /// Every comparison of the run is decided.
    Decided {
        /// How, in one sentence a candidate, and what it saved.
        summary: String,
    },
    /// The user asked to stop.
    Interrupted,
}

/// One sentence on why it stopped.
impl fmt::Display for StopReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueRefused { provider, failure } => {
                write!(out, "provider `{provider}` refuses every request: {failure}")
            }
            Self::TargetRefused { target, failure } => write!(out, "target `{target}` is refused: {failure}"),
            Self::Breaker { provider, failures, failure } => write!(
                out,
                "provider `{provider}` failed {failures} times in a row without one success; the last time: {failure}"
            ),
            Self::WaitTooLong { provider, wait, until } => write!(
                out,
                "provider `{provider}` asks to wait {} s, longer than a queue sleeps; it could go on at {}",
                wait.as_secs(),
                local_time(*until)
            ),
            Self::Budget { spent, limit } => {
                write!(out, "the next trial could pass the budget: ${spent} of ${limit} are spent")
            }
            Self::Unbounded { target } => write!(
                out,
                "nobody can say what an answer of target `{target}` may cost at most, so the budget cannot be kept"
            ),
            Self::Decided { summary } => write!(out, "decided early: {summary}"),
            Self::Interrupted => out.write_str("interrupted"),
        }
    }
}

/// An instant on the clock of whoever reads it.
fn local_time(at: UnixMillis) -> String {
    match Timestamp::from_millisecond(at.0) {
        Ok(instant) => {
            let there = TimeZone::system().to_datetime(instant);
            format!("{} (local time)", there.strftime("%Y-%m-%d %H:%M:%S"))
        }
        Err(_) => "the end of the year 9999 or later".to_owned(),
    }
}

/// How a trial ended, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TrialEnd {
    /// How.
    pub outcome: Outcome,
    /// Why it failed, when it did.
    #[serde(rename = "kind")]
    pub failure: Option<FailureKind>,
    /// Where its answer came from.
    pub source: AnswerSource,
    /// Attempts made for it, over all sessions.
    pub attempts: u32,
    /// Its answer's tokens, if they are known.
    pub usage: Option<Usage>,
    /// What it cost, if that is known.
    #[serde(rename = "cost_usd")]
    pub cost: Option<Cost>,
    /// How long its answer took, in milliseconds; `None` where it has none, or an earlier run's.
    pub latency_ms: Option<f64>,
}

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A session of the run begins.
    RunStarted {
        /// The experiment.
        experiment: String,
        /// Trials of the whole run.
        planned: u64,
        /// Those that this session is to do.
        to_do: u64,
    },
    /// A call was handed to its queue.
    Queued {
        /// The queue.
        provider: ProviderName,
        /// Which call.
        call: Purpose,
    },
    /// An attempt goes out.
    Sent {
        /// The queue.
        provider: ProviderName,
        /// Which call.
        call: Purpose,
        /// The attempt's number within its call, from 1.
        attempt: u32,
    },
    /// An attempt brought no answer.
    AttemptFailed {
        /// The queue.
        provider: ProviderName,
        /// Which call.
        call: Purpose,
        /// The attempt's number within its call, from 1.
        attempt: u32,
        /// What went wrong.
        failure: Failure,
        /// How long the call waits until it is repeated; `None`: it is not.
        retry_in: Option<Duration>,
    },
    /// A queue pauses as a whole.
    Paused {
        /// The queue.
        provider: ProviderName,
        /// For how long.
        wait: Duration,
    },
    /// A trial ended.
    Ended {
        /// The queue.
        provider: ProviderName,
        /// Which call.
        call: Purpose,
        /// How.
        end: TrialEnd,
    },
    /// An answer was graded.
    Graded {
        /// Which call brought it.
        call: Purpose,
        /// What its graders' scores come to.
        verdict: Verdict,
    },
    /// The user steers a queue while it runs.
    Steered {
        /// The queue.
        provider: ProviderName,
        /// What holds from now on.
        control: QueueControl,
    },
    /// A call went back to pending: its queue or target stopped, or the budget or the user stopped it.
    Returned {
        /// The queue.
        provider: ProviderName,
        /// Which call.
        call: Purpose,
    },
    /// Something stopped.
    Stopped(StopReason),
    /// Another process keeps the store locked.
    StoreLocked {
        /// Answers that came and wait to be stored.
        answers: u64,
        /// How long they still wait.
        patience: Duration,
    },
    /// The session ends.
    RunFinished {
        /// Where the run stands now.
        status: RunStatus,
        /// Trials that ended in this session.
        ended: u64,
        /// Trials that failed, those of earlier sessions included.
        failed: u64,
        /// Trials still to do.
        pending: u64,
        /// How long the session took.
        wall: Duration,
    },
}
