//! What one grader found, before it is a score.

use crate::domain::Verdict;

/// A verdict and its one-line reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
}

impl Finding {
    pub(super) fn pass() -> Self {
        Self { verdict: Verdict::Pass, reason: String::new() }
    }

    pub(super) fn pass_because(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Pass, reason: reason.into() }
    }

    pub(super) fn fail(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, reason: reason.into() }
    }

    pub(super) fn unscored(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::Unscored, reason: reason.into() }
    }
}
