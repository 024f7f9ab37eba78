//! What a provider's error means for the run.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// What follows from an error; decided once, where the wire is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Passing trouble: ask again after a wait.
    Retry,
    /// Pressure on a rate limit: the whole queue waits and slows down, then the trial asks again.
    RetrySlow,
    /// This trial cannot succeed; its neighbours can.
    ThisTrial,
    /// Every trial of this target fails alike (unknown model, rejected parameter).
    StopTarget,
    /// Every trial of this account fails alike (key, quota, billing).
    StopQueue,
}

impl ErrorClass {
    /// The name as the store and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::RetrySlow => "retry_slow",
            Self::ThisTrial => "this_trial",
            Self::StopTarget => "stop_target",
            Self::StopQueue => "stop_queue",
        }
    }

    /// The class of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Retry, Self::RetrySlow, Self::ThisTrial, Self::StopTarget, Self::StopQueue]
            .into_iter()
            .find(|class| class.as_str() == name)
    }

    /// Whether asking again may help.
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Retry | Self::RetrySlow)
    }
}

/// What went wrong, in one word that tables can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection could be made.
    Connect,
    /// The connection broke before the answer was whole.
    Dropped,
    /// No answer in time.
    Timeout,
    /// Too many requests or tokens a minute.
    RateLimit,
    /// The provider has no capacity just now.
    Overloaded,
    /// The provider failed (5xx).
    Server,
    /// The answer is not what the protocol promises.
    Malformed,
    /// The answer is larger than is accepted.
    TooLarge,
    /// The input does not fit into the model's context.
    ContextTooLong,
    /// The provider rejected this request.
    BadRequest,
    /// The provider rejected a parameter that every request of the target has.
    BadParameter,
    /// No such model.
    UnknownModel,
    /// The key is missing, wrong or not allowed.
    Authentication,
    /// The account's quota for a day or longer is used up.
    Quota,
    /// The account has no money or a spending limit was reached.
    Billing,
    /// A redirect to another host: never followed, since it would carry the key.
    Redirect,
    /// The program or replay under test gave no answer.
    Application,
    /// The user stopped it on its way.
    Cancelled,
}

impl FailureKind {
    /// The name as the store and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Dropped => "dropped",
            Self::Timeout => "timeout",
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::ContextTooLong => "context_too_long",
            Self::BadRequest => "bad_request",
            Self::BadParameter => "bad_parameter",
            Self::UnknownModel => "unknown_model",
            Self::Authentication => "authentication",
            Self::Quota => "quota",
            Self::Billing => "billing",
            Self::Redirect => "redirect",
            Self::Application => "application",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

/// One failed attempt, as the provider's dialect read it. Carries no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What follows from it.
    pub class: ErrorClass,
    /// What went wrong.
    pub kind: FailureKind,
    /// The provider's words, shortened and without the key.
    pub message: String,
    /// The HTTP status, if one was received.
    pub status: Option<u16>,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the provider may have billed it although no answer arrived.
    pub may_be_billed: bool,
}

impl Failure {
    /// A failure without an HTTP answer behind it.
    pub fn new(class: ErrorClass, kind: FailureKind, message: impl Into<String>) -> Self {
        Self { class, kind, message: message.into(), status: None, retry_after: None, may_be_billed: false }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(out, "{} (HTTP {status}): {}", self.kind, self.message),
            None => write!(out, "{}: {}", self.kind, self.message),
        }
    }
}
