//! Dollars, hours and what will be seen, before anything is sent.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    AppError, Ready,
    designs::{Designs, Wanted},
    gain::{Gain, gain_of},
};
use crate::{
    config::Experiment,
    domain::RunRow,
    estimate::{
        self, Estimate, History, Options, Spread, TargetEstimate, TargetHistory,
        design::{DesignRow, Prices},
        frontier::frontier,
        held, sample,
    },
    store::{Store, StoreError},
};

/// The earlier runs that an estimate rests on.
#[derive(Debug)]
pub struct EarlierRuns {
    /// Their store; `None` where there is none, or none that can be read as it is.
    pub store: Option<Store>,
    /// Why they are not looked at, where there are some.
    pub passed_over: Option<StoreError>,
}

/// Opens the store of earlier runs, if there is one that can be read as it is.
///
/// # Errors
/// There is one, and it cannot be read.
pub fn earlier_runs(path: &Path) -> Result<EarlierRuns, AppError> {
    match Store::open_to_read(path) {
        Ok(store) => Ok(EarlierRuns { store: Some(store), passed_over: None }),
        Err(StoreError::Missing { .. }) => Ok(EarlierRuns { store: None, passed_over: None }),
        Err(error @ StoreError::Older { .. }) => Ok(EarlierRuns { store: None, passed_over: Some(error) }),
        Err(error) => Err(error.into()),
    }
}

/// An experiment about to be estimated.
#[derive(Debug)]
pub struct Estimating<'a> {
    pub(super) experiment: Experiment,
    pub(super) history: History,
    store: Option<&'a Store>,
    wanted: Wanted,
    /// Cases of the experiment, whatever number is estimated.
    there_are: u64,
}

/// An estimate with the designs that were asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The designs.
    pub designs: Designs,
    /// What repeats would gain, where earlier runs have some.
    pub repeat_gains: Vec<Gain>,
    /// The designs that no other beats in both cost and what is seen.
    #[serde(skip)]
    pub frontier: Vec<DesignRow>,
    /// The design as it stands.
    #[serde(skip)]
    pub now: DesignRow,
}

impl<'a> Estimating<'a> {
    /// Looks at the earlier runs of `store`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn new(ready: Ready, store: Option<&'a Store>, wanted: Wanted) -> Result<Self, AppError> {
        let Ready { mut experiment, .. } = ready;
        let there_are = experiment.cases.len() as u64;
        if let Some(cases) = wanted.cases {
            resize(&mut experiment, cases as usize);
        }
        let history = match store {
            Some(store) => History::read(store, &experiment, &[])?,
            None => History::nothing(&experiment),
        };
        Ok(Self { experiment, history, store, wanted, there_are })
    }

    /// The estimate, and the designs that are wanted.
    ///
    /// # Errors
    /// No design does what is wanted, or the store cannot be read.
    pub fn plan(&self) -> Result<Planned, AppError> {
        let Self { experiment, history, wanted, .. } = self;
        let options = Options { assumptions: wanted.assumptions() };
        let mut estimate = estimate::estimate(experiment, history, &options);
        if let Some(store) = self.store {
            for target in &mut estimate.targets {
                target.record = held::record(store, &estimate.experiment, &target.name)?;
            }
        }
        let prices = prices(&estimate, self.there_are, wanted.case_cost);
        let spread = &widest(&estimate);
        let repeats = whole_repeats(estimate.repeats);
        let designs = Designs::find(wanted, experiment, &prices, spread, repeats)?;
        let repeat_gains = gains(history, &estimate);
        let now = prices.row(spread, estimate.cases as u64, repeats);
        let frontier = frontier(&prices, spread);
        Ok(Planned { estimate, designs, repeat_gains, frontier, now })
    }
}

/// The estimate of a run that is about to begin, as the store keeps it.
pub(super) fn at_start(
    store: &Store,
    experiment: &Experiment,
    run: RunRow,
    pilot: bool,
) -> Result<Value, AppError> {
    let history = History::read(store, experiment, &[run])?;
    let estimate = estimate::estimate(experiment, &history, &Options::default());
    let mut value = serde_json::to_value(&estimate).expect("an estimate is plain data");
    value["pilot"] = json!(pilot);
    Ok(value)
}

/// Fewer cases: a stratified sample. More: the same ones again, as if there were more of their kind.
fn resize(experiment: &mut Experiment, wanted: usize) {
    let there_are = experiment.cases.len();
    if wanted < there_are {
        let sample = sample::stratified_sample(&experiment.cases, wanted, experiment.settings.seed);
        experiment.cases = sample.into_iter().map(|at| experiment.cases[at].clone()).collect();
    } else {
        for at in 0..wanted - there_are {
            experiment.cases.push(experiment.cases[at % there_are].clone());
        }
    }
}

fn whole_repeats(repeats: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as meant")]
    let repeats = repeats.round() as u32;
    repeats.max(1)
}

/// What one more sample takes, from an estimate of all of them.
fn prices(estimate: &Estimate, there_are: u64, usd_a_case: f64) -> Prices {
    let samples = (estimate.cases as f64 * estimate.repeats).max(1.0);
    Prices {
        usd_a_sample: estimate.total.cost_usd.map(|cost| cost.mid / samples),
        usd_a_case,
        seconds_a_sample: estimate.total.wall_seconds.mid / samples,
        seconds_at_start: 0.0,
        cases: there_are,
        cluster_size: estimate.cases as f64 / estimate.clusters.max(1) as f64,
    }
}

/// The spread of the target that sees least.
fn widest(estimate: &Estimate) -> Spread {
    let of = |target: &TargetEstimate| target.detectable_difference.paired;
    let widest = estimate.targets.iter().max_by(|a, b| of(a).total_cmp(&of(b)));
    widest.expect("an experiment has a target").detectable_difference.spread.clone()
}

/// Where earlier runs have repeats, what one more would gain.
fn gains(history: &History, estimate: &Estimate) -> Vec<Gain> {
    let of = |(target, past): (&TargetEstimate, &TargetHistory)| {
        let spread = &target.detectable_difference.spread;
        let repeated = past.cases.iter().any(|case| case.scores.len() > 1);
        if spread.assumed || !repeated {
            return None;
        }
        let undecided = past.cases.iter().filter(|case| {
            let passes: f64 = case.scores.iter().sum();
            0.0 < passes && passes < case.scores.len() as f64
        });
        let undecided = undecided.filter_map(|case| case.id.as_ref().map(ToString::to_string)).collect();
        let repeats = whole_repeats(estimate.repeats);
        gain_of(&target.name, (spread.between, spread.within), estimate.cases as u64, repeats, undecided)
    };
    estimate.targets.iter().zip(&history.targets).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn an_estimate_rests_on_earlier_runs_and_tells_the_designs_that_are_wanted() {
        let stored = Stored::new();
        let store = stored.open();
        let wanted = Wanted { grid: true, detect: Some(20.0), ..Wanted::default() };
        let planned = Estimating::new(stored.ready(), Some(&store), wanted).unwrap().plan().unwrap();
        assert_eq!(planned.estimate.targets[0].past_runs, ["test-1"]);
        assert!(!planned.designs.grid.is_empty() && planned.designs.cheapest.is_some());
        assert_eq!((planned.now.cases, planned.now.repeats), (8, 2));
        let json = serde_json::to_value(&planned).unwrap();
        assert_eq!(json["cases"], 8);
        assert!(json["designs"]["grid"].is_array() && json.get("now").is_none());
    }

    #[test]
    fn fewer_and_more_cases_can_be_estimated() {
        let stored = Stored::empty("");
        for cases in [4, 20] {
            let wanted = Wanted { cases: Some(cases), ..Wanted::default() };
            let planned = Estimating::new(stored.ready(), None, wanted).unwrap().plan().unwrap();
            assert_eq!(planned.estimate.cases, cases as usize);
        }
    }

    #[test]
    fn a_store_that_is_not_there_has_no_earlier_runs() {
        let stored = Stored::empty("");
        let earlier = earlier_runs(&stored.path()).unwrap();
        assert!(earlier.store.is_none() && earlier.passed_over.is_none());
        stored.run();
        assert!(earlier_runs(&stored.path()).unwrap().store.is_some());
    }
}
