//! What repeats would gain, and how an estimate fared: what is told below a run's scorecard.

use serde::Serialize;

use super::AppError;
use crate::{
    compare::Side,
    domain::TargetPos,
    estimate::{
        held::{self, HeldRun},
        repeats::{RepeatGain, repeat_gain},
    },
    stats::{SampleTable, variance_components},
    store::{RunDetail, Store},
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
    let held = held::held(store, &detail.row)?;
    let mut gains = vec![];
    for position in (0..detail.targets.len()).map(TargetPos::at) {
        gains.extend(gain_of_side(&Side::read(store, detail, position)?));
    }
    Ok(Account { held, gains })
}

fn gain_of_side(side: &Side) -> Option<Gain> {
    let mut table = SampleTable::default();
    let (mut repeats, mut undecided) = (0, vec![]);
    for case in side.cases.iter().filter(|case| case.count.measured > 0) {
        let (passes, fails) = (case.count.passes, case.count.measured - case.count.passes);
        let scores = std::iter::repeat_n(1.0, passes as usize);
        table.push_case(scores.chain(std::iter::repeat_n(0.0, fails as usize)));
        repeats = repeats.max(case.count.measured);
        if passes > 0 && fails > 0 {
            undecided.push(case.id.to_string());
        }
    }
    let components = table.as_samples().ok().and_then(|samples| variance_components(&samples).ok());
    let components = components.filter(|_| repeats > 1)?;
    let variances = (components.between.ok()?, components.within.ok()?);
    gain_of(&side.target, variances, components.n as u64, repeats, undecided)
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
