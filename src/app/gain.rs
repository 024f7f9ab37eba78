//! What repeats would gain, and how an estimate fared: what is told below a run's scorecard.

use serde::Serialize;

use super::AppError;
use crate::{
    domain::TargetPos,
    estimate::{
        held::{self, HeldRun},
        repeats::{RepeatGain, repeat_gain},
    },
    evidence::Evidence,
    stats::variance_components,
    store::{RunCase, RunDetail, Store, StoreError},
};

/// What repeats would gain one target.
#[derive(Clone, Debug, Serialize)]
pub struct Gain {
    /// The target.
    pub target: String,
    /// What they would gain.
    pub gain: RepeatGain,
    /// Cases whose repeats did not all end alike.
    pub undecided_cases: Vec<String>,
}

/// A run held against its estimate, and where repeats would help the next one.
#[derive(Clone, Debug)]
pub struct Account {
    /// What was estimated against what came; `None` where nothing was estimated.
    pub held: Option<HeldRun>,
    /// What repeats would gain, by target, where the run has some.
    pub gains: Vec<Gain>,
}

/// What a gain is from the variances `between` and `within` cases; `None` where no more repeats help.
pub(super) fn gain_of(
    target: &str,
    (between, within): (f64, f64),
    cases: u64,
    repeats: u32,
    undecided_cases: Vec<String>,
) -> Option<Gain> {
    let gain = repeat_gain(between, within, cases, repeats)?;
    Some(Gain { target: target.to_owned(), gain, undecided_cases })
}

/// Accounts for a run.
///
/// # Errors
/// The store cannot be read.
pub fn account(store: &Store, detail: &RunDetail) -> Result<Account, AppError> {
    let run = detail.row.id;
    let held = held::held(store, &detail.row)?;
    let mut cases = vec![];
    store.for_each_case::<StoreError>(run, |case| {
        cases.push(case);
        Ok(())
    })?;
    let mut gains = vec![];
    for (position, target) in (0..).map(TargetPos).zip(&detail.targets) {
        let evidence = Evidence::read_lean(store, run, position, cases.iter().map(|case| case.repeats))?;
        gains.extend(gain_of_target(target.name.as_str(), &evidence, &cases));
    }
    Ok(Account { held, gains })
}

fn gain_of_target(target: &str, evidence: &Evidence, cases: &[RunCase]) -> Option<Gain> {
    let counts = evidence.counts();
    let repeats = counts.iter().map(|count| count.measured).max().unwrap_or(0);
    let undecided = cases.iter().zip(&counts).filter(|(_, count)| count.is_flaky());
    let undecided = undecided.map(|(case, _)| case.id.to_string()).collect();
    let scores = evidence.samples(cases);
    let components = scores.samples().ok().and_then(|samples| variance_components(&samples).ok());
    let components = components.filter(|_| repeats > 1)?;
    let variances = (components.between.ok()?, components.within.ok()?);
    gain_of(target, variances, components.n as u64, repeats, undecided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{find_run::find_run, testing::Stored};

    #[test]
    fn a_run_with_repeats_is_accounted_for_target_by_target() {
        let stored = Stored::new();
        let store = stored.open();
        let account = account(&store, &find_run(&store, "latest").unwrap()).unwrap();
        assert_eq!(account.held.unwrap().targets.len(), 2);
        for gain in &account.gains {
            assert!(["good", "poor"].contains(&gain.target.as_str()));
            assert!(gain.undecided_cases.iter().all(|case| case.starts_with('c')));
        }
    }
}
