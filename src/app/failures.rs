//! What failed in a run, and why.

use serde::Serialize;

use super::AppError;
use crate::{
    domain::{CaseId, Repeat, RunId, Score, TargetName, Verdict},
    store::{RunDetail, Store, StoreError, StoredTrial},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// The trials of a run that were wrong or not measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failures {
    /// The version of this shape.
    pub schema_version: u32,
    /// The run.
    pub run: RunId,
    /// One entry a trial, in golden-set order.
    pub failures: Vec<FailedTrial>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedTrial {
    /// Its target.
    pub target: TargetName,
    /// Its case.
    pub case: CaseId,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// The verdict, or the outcome where there is none.
    pub what: &'static str,
    /// Why: the graders' reasons, or the provider's words.
    pub why: String,
}

/// The trials of a run that were wrong or not measured, with the reason.
///
/// # Errors
/// The store cannot be read.
pub fn failures(store: &Store, detail: &RunDetail) -> Result<Failures, AppError> {
    let mut failures = vec![];
    store.for_each_trial::<StoreError>(detail.row.id, |exported| {
        let trial = &exported.trial;
        if trial.verdict != Some(Verdict::Pass) {
            failures.push(FailedTrial {
                repeat: trial.record.key.repeat,
                what: trial.verdict.map_or_else(|| trial.record.outcome.as_str(), Verdict::as_str),
                why: why(trial, &exported.scores),
                target: exported.target,
                case: exported.case,
            });
        }
        Ok(())
    })?;
    Ok(Failures { schema_version: SCHEMA_VERSION, run: detail.row.name.clone(), failures })
}

fn why(trial: &StoredTrial, scores: &[Score]) -> String {
    if let Some(failure) = &trial.record.failure {
        return failure.to_string();
    }
    let reasons = scores.iter().filter(|score| score.verdict != Verdict::Pass);
    let reasons: Vec<String> = reasons.map(|score| format!("{}: {}", score.grader, score.reason)).collect();
    if reasons.is_empty() { trial.record.stop_reason.clone().unwrap_or_default() } else { reasons.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{find_run::find_run, testing::Stored};

    #[test]
    fn failures_tell_what_was_wrong_and_why() {
        let stored = Stored::new();
        let store = stored.open();
        let detail = find_run(&store, "latest").unwrap();
        let failures = failures(&store, &detail).unwrap();
        let poor = failures.failures.iter().find(|failed| failed.target.as_str() == "poor").unwrap();
        assert_eq!(poor.what, "fail");
        assert!(poor.why.starts_with("exact: "), "{}", poor.why);
        assert_eq!(serde_json::to_value(&failures).unwrap()["run"], "test-1");
    }
}
