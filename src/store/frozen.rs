//! What a run froze of its targets and graders: written once, and read as it was written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{GraderName, ModelId, ProviderName, TargetName};

/// A target as a run froze it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTarget {
    /// Its name.
    pub name: TargetName,
    /// Its account.
    pub provider: ProviderName,
    /// Its model.
    pub model: ModelId,
    /// All its settings.
    pub config: Value,
}

/// A grader as a run froze it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewGrader {
    /// The name its scores are reported under.
    pub name: GraderName,
    /// Whether its failures are hard ones.
    pub hard: bool,
    /// Which grader it is, such as `words`.
    pub kind: String,
    /// The version of its rules: scores of different versions do not compare.
    pub version: String,
}
