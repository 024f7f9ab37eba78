//! One grader's verdict on one answer.

use serde::{Deserialize, Serialize};

use super::GraderName;

/// What a grader found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The answer is right.
    Pass,
    /// The answer is wrong.
    Fail,
    /// The grader could not say; the trial is not measured.
    Unscored,
}

impl Verdict {
    /// The name as the store and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unscored => "unscored",
        }
    }

    /// The verdict of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Pass, Self::Fail, Self::Unscored].into_iter().find(|verdict| verdict.as_str() == name)
    }
}

/// One grader's verdict on one answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Who says so.
    pub grader: GraderName,
    /// Whether a failure is a hard (structural) one.
    pub hard: bool,
    /// Pass, fail or unscored.
    pub verdict: Verdict,
    /// The value in 0..=1 behind the verdict; `None` when unscored.
    pub value: Option<f64>,
    /// What was missing or found, in one line; empty when there is nothing to say.
    pub reason: String,
}
