//! What came back: a provider's answer in neutral form.

use serde_json::Value;

use super::{Cost, LimitReport, Metered, Outcome, Retrieved};

/// An answer as a dialect read it. `outcome` is one of answered, truncated, refused and filtered.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// How the answer ended.
    pub outcome: Outcome,
    /// The model's text, possibly empty.
    pub text: String,
    /// The provider's own word for why it stopped.
    pub stop_reason: Option<String>,
    /// Tokens, as far as the provider gave them.
    pub metered: Metered,
    /// The model's name as the provider returned it.
    pub model: Option<String>,
    /// The provider's fingerprint of the system behind the model.
    pub system_fingerprint: Option<String>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// What the response's headers said about the account's limits.
    pub limits: LimitReport,
    /// How long it took, where the request's own time does not tell.
    pub latency: ReplyLatency,
    /// From the request to the first token, in milliseconds, when streamed.
    pub first_token_ms: Option<f64>,
    /// What an application retrieved before it answered, best first; `None` when it did not tell,
    /// which is not the same as having found nothing.
    pub retrieved: Option<Vec<Retrieved>>,
    /// What the answer cost by the application's own account; it then stands for the price.
    pub reported_cost: Option<Cost>,
    /// Whatever else an application told of its answer.
    pub meta: Option<Value>,
    /// What a program wrote to its standard error meanwhile, cut.
    pub stderr: Option<String>,
}

/// How long an answer took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ReplyLatency {
    /// As long as its request.
    #[default]
    Measured,
    /// So many milliseconds, as it was recorded or simulated.
    Known(f64),
    /// Nobody knows: a recorded answer without its time.
    Unknown,
}

impl ReplyLatency {
    /// The latency in milliseconds of an answer whose request took `measured_ms`.
    pub fn or_measured(self, measured_ms: f64) -> Option<f64> {
        match self {
            Self::Measured => Some(measured_ms),
            Self::Known(latency_ms) => Some(latency_ms),
            Self::Unknown => None,
        }
    }
}

impl Reply {
    /// A complete answer of `text` about which nothing else is known.
    pub fn answered(text: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Answered,
            text: text.into(),
            stop_reason: None,
            metered: Metered::default(),
            model: None,
            system_fingerprint: None,
            request_id: None,
            limits: LimitReport::default(),
            latency: ReplyLatency::Measured,
            first_token_ms: None,
            retrieved: None,
            reported_cost: None,
            meta: None,
            stderr: None,
        }
    }
}
