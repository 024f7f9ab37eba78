//! What the store keeps of an answer.

use serde::{Deserialize, Serialize};

/// What the store keeps of a run's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerKeeping {
    /// Their whole text.
    #[default]
    Full,
    /// Their hash and length alone, and scores without reasons, which may quote them. They are graded
    /// while they are in memory and cannot be graded again.
    Hash,
}

impl AnswerKeeping {
    /// The name as files and tables write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Hash => "hash",
        }
    }
}
