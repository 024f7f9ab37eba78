//! One case given to one target once.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CasePos, Cost, Failure, Metered, Outcome, Repeat, Retrieved, RunRow, TargetPos, UnixMillis};

/// Which trial: unique in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrialKey {
    /// The run's row in the store.
    pub run: RunRow,
    /// The target's position in the experiment, from 0.
    pub target: TargetPos,
    /// The case's position in the run's golden set, from 0.
    pub case: CasePos,
    /// Which repeat, from 1.
    pub repeat: Repeat,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerSource {
    /// The provider was asked.
    Live,
    /// An identical request was answered in an earlier run.
    Cache,
}

impl AnswerSource {
    /// The name as the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Cache => "cache",
        }
    }
}

/// Everything recorded of a trial that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRecord {
    /// Which trial.
    pub key: TrialKey,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed, when it did.
    pub failure: Option<Failure>,
    /// The answer; empty when there is none.
    pub answer: String,
    /// The provider's own word for why it stopped.
    pub stop_reason: Option<String>,
    /// Tokens of the successful attempt.
    pub metered: Metered,
    /// What the successful attempt cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// The successful attempt's own request-to-last-byte time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Time to its first token, in milliseconds, when streamed.
    pub first_token_ms: Option<f64>,
    /// Time spent waiting for a place before the first attempt, in milliseconds.
    pub queue_wait_ms: f64,
    /// Time spent in back-off and pauses between attempts, in milliseconds.
    pub backoff_wait_ms: f64,
    /// Attempts made for it, over all resumes.
    pub attempts: u32,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// The model's name as the provider returned it.
    pub model_returned: Option<String>,
    /// The provider's fingerprint of the system behind the model.
    pub system_fingerprint: Option<String>,
    /// What the application retrieved before it answered; `None` when it did not tell.
    pub retrieved: Option<Vec<Retrieved>>,
    /// Whatever else the application told of its answer.
    pub meta: Option<Value>,
    /// Where the answer came from.
    pub source: AnswerSource,
    /// When its first attempt of this session began.
    pub started_at: UnixMillis,
    /// When it ended.
    pub finished_at: UnixMillis,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Being worked on, or its process died.
    Running,
    /// Every trial ended with an outcome that a resume would not ask again.
    Complete,
    /// Trials are pending or failed.
    Incomplete,
    /// Stopped by the budget.
    Budget,
    /// A provider refused a queue or a target.
    Refused,
    /// Interrupted by the user.
    Interrupted,
}

impl RunStatus {
    const ALL: [Self; 6] =
        [Self::Running, Self::Complete, Self::Incomplete, Self::Budget, Self::Refused, Self::Interrupted];

    /// The name as the store and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Budget => "budget",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }
}
