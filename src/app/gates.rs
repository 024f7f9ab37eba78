//! A run judged by its own gates: those that need no other side.

use serde::Serialize;

use super::AppError;
use crate::{
    compare::{GateResult, Side, Verdict, frozen_gates, judge_side},
    domain::{RunRow, TargetName, TargetPos},
    store::Store,
};

/// What the gates say of every target of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedRun {
    /// What all of them say together.
    pub verdict: Verdict,
    /// The targets with gates to be judged by.
    #[serde(rename = "gates")]
    pub targets: Vec<JudgedTarget>,
    /// Whether the run has several targets.
    #[serde(skip)]
    pub several: bool,
}

/// What the gates say of one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedTarget {
    /// The target.
    pub target: TargetName,
    /// What each gate says.
    pub results: Vec<GateResult>,
}

/// Judges a run by the gates that it was started with.
///
/// # Errors
/// They are not gates as this version knows them, or the store cannot be read.
pub fn judge(store: &Store, run: RunRow) -> Result<JudgedRun, AppError> {
    let detail = store.run_detail(run)?;
    let several = detail.targets.len() > 1;
    let mut targets = vec![];
    if detail.gates.is_none() {
        return Ok(JudgedRun { verdict: Verdict::NoGates, targets, several });
    }
    for (position, target) in (0..).map(TargetPos).zip(&detail.targets) {
        let side = Side::read(store, &detail, position)?;
        let results = judge_side(&frozen_gates(&side)?, &side);
        if !results.is_empty() {
            targets.push(JudgedTarget { target: target.name.clone(), results });
        }
    }
    let all: Vec<GateResult> = targets.iter().flat_map(|judged| judged.results.clone()).collect();
    Ok(JudgedRun { verdict: Verdict::of(&all), targets, several })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{find_run::find_run, testing::Stored};

    #[test]
    fn each_target_is_judged_by_the_gates_that_the_run_was_started_with() {
        let stored = Stored::empty("[gates]\nmin_pass_rate = 0.6\n");
        stored.run();
        let store = stored.open();
        let judged = judge(&store, find_run(&store, "latest").unwrap().row.id).unwrap();
        assert_eq!((judged.targets.len(), judged.several, judged.verdict), (2, true, Verdict::Fail));
        assert_eq!(judged.targets[1].target.as_str(), "poor");
    }

    #[test]
    fn a_run_without_gates_is_judged_by_none() {
        let stored = Stored::new();
        let store = stored.open();
        let judged = judge(&store, find_run(&store, "latest").unwrap().row.id).unwrap();
        assert_eq!((judged.targets.len(), judged.verdict), (0, Verdict::NoGates));
    }
}
