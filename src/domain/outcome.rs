//! How a trial ended.

use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A complete answer.
    Answered,
    /// The output limit was reached; graded when there is text.
    Truncated,
    /// The model declined by policy; its text, perhaps empty, is graded.
    Refused,
    /// A content filter withheld the answer; never graded, never retried.
    Filtered,
    /// No answer after all attempts.
    Failed,
    /// Stopped by the user while it was in flight.
    Cancelled,
}

impl Outcome {
    /// All outcomes, in the order in which reports list them.
    pub const ALL: [Self; 6] =
        [Self::Answered, Self::Truncated, Self::Refused, Self::Filtered, Self::Failed, Self::Cancelled];

    /// The name as the store and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == name)
    }

    /// Whether a trial that ended so, with `text`, is graded. What is not graded is not measured.
    pub fn is_graded(self, text: &str) -> bool {
        match self {
            Self::Answered | Self::Refused => true,
            Self::Truncated => !text.trim().is_empty(),
            Self::Filtered | Self::Failed | Self::Cancelled => false,
        }
    }
}
