//! An experiment read from its file, with all that it names.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::{Timestamp, tz::TimeZone};

use super::AppError;
use crate::{
    config::{self, Experiment, Overrides, Plan, Settings},
    domain::{Case, Fault, Faults},
    golden::{self, GoldenSet},
    grading,
};

/// An experiment that could be run.
#[derive(Debug)]
pub struct Ready {
    /// The experiment.
    pub experiment: Experiment,
    /// The whole golden set.
    pub golden: GoldenSet,
    /// The cases that are asked by all shards together.
    pub selected: Vec<Arc<Case>>,
    /// Where its run is stored.
    pub store: PathBuf,
}

impl Ready {
    /// Reads the experiment in `file` with `overrides` over it, its golden set and all else it names.
    ///
    /// # Errors
    /// Every fault, in one go.
    pub fn read(file: &Path, overrides: &Overrides) -> Result<Self, AppError> {
        Self::read_with(file, overrides, |golden| grading::check_graders(golden, |_| false))
    }

    /// The same, and tests each case's graders against its own examples.
    ///
    /// # Errors
    /// Every fault, in one go.
    pub fn read_and_try_examples(file: &Path, overrides: &Overrides) -> Result<Self, AppError> {
        Self::read_with(file, overrides, |golden| grading::check_set(golden, |_| false))
    }

    fn read_with(
        file: &Path,
        overrides: &Overrides,
        check: impl Fn(&GoldenSet) -> Faults,
    ) -> Result<Self, AppError> {
        let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
        let Plan { settings, prices, store } = config::read(file, overrides, today)?;
        let (golden, mut faults) = golden::load_sound(&settings.golden, &settings.case_defaults());
        faults.0.extend(check(&golden).0);
        faults.0.sort_by_key(|fault| fault.line);
        faults.none_or(())?;
        let selected = golden::select(&golden, &settings.selection)?;
        let cases = of_shard(&selected, &settings)?;
        let experiment = Experiment::prepare(settings, prices, cases, Some(&golden))?;
        Ok(Self { experiment, golden, selected, store })
    }

    /// The experiment that this one is a shard of, if it is one.
    pub(super) fn whole(&self) -> Result<Option<Experiment>, AppError> {
        let settings = &self.experiment.settings;
        if settings.shard.is_none() {
            return Ok(None);
        }
        let prices = self.experiment.targets.iter().map(|target| target.price.clone()).collect();
        let cases = self.selected.clone();
        Ok(Some(Experiment::prepare(settings.clone(), prices, cases, Some(&self.golden))?))
    }
}

/// The selected cases that this part of the experiment asks.
fn of_shard(selected: &[Arc<Case>], settings: &Settings) -> Result<Vec<Arc<Case>>, Faults> {
    let Some(shard) = settings.shard else { return Ok(selected.to_vec()) };
    let cases: Vec<Arc<Case>> =
        selected.iter().filter(|case| shard.holds(case.cluster_or_id())).cloned().collect();
    if cases.is_empty() {
        let fault =
            Fault::of_file(&settings.golden, format!("shard {shard} holds no cluster of the selection"))
                .with_hint("divide it into fewer shards");
        return Err(fault.into());
    }
    Ok(cases)
}
