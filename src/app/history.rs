//! An experiment over its runs: its trend, and which of its cases answer now so, now so.

use serde::Serialize;

use super::{
    AppError,
    find_experiment::{find_runs, find_targets},
};
use crate::{
    compare::{FlakyLedger, History, TrendTarget, flaky_target, trend_target},
    store::Store,
};

/// The version of both JSON shapes.
const SCHEMA_VERSION: u32 = 1;

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The experiment, the beginning of its name, or one of its runs; `None`: that of the latest run.
    pub experiment: Option<String>,
    /// The only target; `None`: all that the latest of the runs has.
    pub target: Option<String>,
}

/// The targets of an experiment over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The version of this shape.
    pub schema_version: u32,
    /// The experiment.
    pub experiment: String,
    /// One entry a target.
    pub targets: Vec<TrendTarget>,
}

/// The trend over the `last` runs.
///
/// # Errors
/// There is no such experiment or target, or the store cannot be read.
pub fn trend(store: &Store, look: &Look, last: usize) -> Result<Trend, AppError> {
    let (experiment, runs) = find_runs(store, look.experiment.as_deref())?;
    let runs = &runs[runs.len().saturating_sub(last)..];
    let mut targets = vec![];
    for name in find_targets(store, &experiment, runs, look.target.as_deref())? {
        targets.push(trend_target(&History::read(store, runs, &name)?));
    }
    Ok(Trend { schema_version: SCHEMA_VERSION, experiment, targets })
}

/// The flake ledger over all runs.
///
/// # Errors
/// There is no such experiment or target, or the store cannot be read.
pub fn flaky(store: &Store, look: &Look) -> Result<FlakyLedger, AppError> {
    let (experiment, runs) = find_runs(store, look.experiment.as_deref())?;
    let mut targets = vec![];
    for name in find_targets(store, &experiment, &runs, look.target.as_deref())? {
        targets.extend(flaky_target(&History::read(store, &runs, &name)?));
    }
    Ok(FlakyLedger { schema_version: SCHEMA_VERSION, experiment, targets })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn a_trend_tells_each_target_over_its_last_runs() {
        let stored = Stored::new();
        stored.run();
        let trend = trend(&stored.open(), &Look::default(), 1).unwrap();
        assert_eq!((trend.experiment.as_str(), trend.targets.len()), ("test", 2));
        assert_eq!(trend.targets[0].runs.len(), 1);
        let look = Look { target: Some("poor".to_owned()), ..Look::default() };
        let trend = self::trend(&stored.open(), &look, 30).unwrap();
        assert_eq!((trend.targets.len(), trend.targets[0].runs.len()), (1, 2));
        assert_eq!(trend.targets[0].runs[1].changed, []);
    }

    #[test]
    fn a_ledger_adds_the_runs_up() {
        let stored = Stored::new();
        stored.run();
        let ledger = flaky(&stored.open(), &Look::default()).unwrap();
        assert_eq!((ledger.experiment.as_str(), ledger.targets.len()), ("test", 2));
        let unknown = Look { experiment: Some("other".to_owned()), ..Look::default() };
        assert!(flaky(&stored.open(), &unknown).is_err());
    }
}
