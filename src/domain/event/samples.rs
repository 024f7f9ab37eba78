//! One event of every kind, for the tests of those who listen.

use super::*;
use crate::domain::{CasePos, ErrorClass, LiveLimits, PerDimension, Repeat, RunRow, TargetPos, TrialKey};

/// What nobody may read in a line of `--events`.
pub(crate) const WORDS_OF_OTHERS: &str = "the provider quotes an answer";

/// The second repeat of the first target's second case.
pub(crate) fn call() -> Purpose {
    Purpose::Trial(TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(1), repeat: Repeat(2) })
}

/// An answer.
pub(crate) fn end() -> TrialEnd {
    TrialEnd {
        outcome: Outcome::Answered,
        failure: None,
        source: AnswerSource::Live,
        attempts: 2,
        usage: Some(Usage { input_uncached: 100, output: 20, ..Usage::default() }),
        cost: Some("0.01".parse().expect("it is a sum")),
        latency_ms: Some(812.5),
    }
}

/// Every reason to stop.
pub(crate) fn stops() -> Vec<StopReason> {
    let (provider, target) = (ProviderName::from("account"), TargetName::from("good"));
    let cost = |text: &str| text.parse::<Cost>().expect("it is a sum");
    vec![
        StopReason::QueueRefused { provider: provider.clone(), failure: failure(401) },
        StopReason::TargetRefused { target: target.clone(), failure: failure(404) },
        StopReason::Breaker { provider: provider.clone(), failures: 50, failure: failure(503) },
        StopReason::WaitTooLong {
            provider,
            wait: Duration::from_secs(86_400),
            until: UnixMillis(86_400_000),
        },
        StopReason::Budget { spent: cost("0.99"), limit: cost("1.00") },
        StopReason::Unbounded { target },
        StopReason::Decided { summary: "`poor`: worse; 12 trials (30 %) were saved".to_owned() },
        StopReason::Interrupted,
    ]
}

/// One of each, in an order in which they could happen; and every reason to stop.
pub(crate) fn one_of_each() -> Vec<RunEvent> {
    let provider = ProviderName::from("account");
    let call = call();
    let retry_in = Some(Duration::from_millis(1_500));
    let per_minute = PerDimension { requests: Some(600), input: None, output: None };
    let limits = LiveLimits { max_in_flight: Some(8), per_minute };
    let mut events = vec![
        RunEvent::RunStarted { experiment: "test".to_owned(), planned: 32, to_do: 30 },
        RunEvent::Queued { provider: provider.clone(), call },
        RunEvent::Sent { provider: provider.clone(), call, attempt: 1 },
        RunEvent::Paused { provider: provider.clone(), wait: Duration::from_secs(7) },
        RunEvent::AttemptFailed {
            provider: provider.clone(),
            call,
            attempt: 1,
            failure: failure(429),
            retry_in,
        },
        RunEvent::Steered { provider: provider.clone(), control: QueueControl { paused: false, limits } },
        RunEvent::Ended { provider: provider.clone(), call, end: end() },
        RunEvent::Graded { call, verdict: Verdict::Pass },
        RunEvent::Returned { provider, call },
    ];
    events.extend(stops().into_iter().map(RunEvent::Stopped));
    events.push(RunEvent::StoreLocked { answers: 12, patience: Duration::from_secs(25) });
    let wall = Duration::from_secs(9);
    events.push(RunEvent::RunFinished {
        status: RunStatus::Interrupted,
        ended: 20,
        failed: 1,
        pending: 10,
        wall,
    });
    events
}

fn failure(status: u16) -> Failure {
    let failure = Failure::new(ErrorClass::RetrySlow, FailureKind::RateLimit, WORDS_OF_OTHERS);
    Failure { status: Some(status), ..failure }
}
