//! An experiment read from its file, with all that it names.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use super::AppError;
use crate::{
    compare::SignOff,
    config::{self, Experiment, Overrides, Plan, Settings},
    domain::{Case, Fault, Faults, PassIf},
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
    /// From when on each target's model has a price, where it has none today.
    pub price_begins: Vec<Option<Date>>,
    /// Where its run is stored.
    pub store: PathBuf,
}

impl Ready {
    /// What is allowed of its keys and yet worth a word.
    pub fn key_warnings(&self) -> Vec<String> {
        config::key_warnings(&self.experiment.settings.providers)
    }

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

    /// Reads an experiment in TOML and its golden set in JSON lines from memory. The experiment names its
    /// golden set all the same: so faults and runs call it.
    ///
    /// # Errors
    /// Every fault of the one, else of the other.
    pub fn from_text(experiment: &str, golden: &str, overrides: &Overrides) -> Result<Self, AppError> {
        let name = Path::new("experiment.toml");
        let plan = config::read_text(experiment, name, overrides, today())?;
        let defaults = plan.settings.case_defaults();
        let golden = golden::read(golden.as_bytes(), &plan.settings.golden, &defaults)?;
        let faults = grading::check_graders(&golden, |_| false);
        Self::prepare(plan, golden, faults)
    }

    fn read_with(
        file: &Path,
        overrides: &Overrides,
        check: impl Fn(&GoldenSet) -> Faults,
    ) -> Result<Self, AppError> {
        let plan = config::read(file, overrides, today())?;
        let (golden, mut faults) = golden::load_sound(&plan.settings.golden, &plan.settings.case_defaults());
        faults.0.extend(check(&golden).0);
        Self::prepare(plan, golden, faults)
    }

    fn prepare(plan: Plan, golden: GoldenSet, mut faults: Faults) -> Result<Self, AppError> {
        let Plan { settings, prices, price_begins, store } = plan;
        faults.0.sort_by_key(|fault| fault.line);
        faults.0.extend(of_sign_offs(&settings, &golden).0);
        faults.none_or(())?;
        let selected = golden::select(&golden, &settings.selection)?;
        hopeless(&golden, &selected, &settings).none_or(())?;
        let cases = of_shard(&selected, &settings)?;
        let experiment = Experiment::prepare(settings, prices, cases, Some(&golden))?;
        experiment.check_budget(&price_begins)?;
        Ok(Self { experiment, golden, selected, price_begins, store })
    }

    /// The experiment that this one is a shard of, if it is one.
    pub(super) fn whole(&self) -> Result<Option<Experiment>, AppError> {
        let settings = &self.experiment.settings;
        if settings.shard.is_none() {
            return Ok(None);
        }
        let prices =
            self.experiment.targets.iter().map(|target| target.prices.rows().cloned().collect()).collect();
        let cases = self.selected.clone();
        Ok(Some(Experiment::prepare(settings.clone(), prices, cases, Some(&self.golden))?))
    }
}

/// What is wrong with the sign-offs that the gates name: a comparison would stop at them, after all is paid.
fn of_sign_offs(settings: &Settings, golden: &GoldenSet) -> Faults {
    let Some(file) = &settings.gates.sign_offs else { return Faults::default() };
    let known = golden.cases.iter().map(|case| &case.id).collect();
    SignOff::read(file, &known).err().unwrap_or_default()
}

pub(super) fn today() -> Date {
    TimeZone::UTC.to_datetime(Timestamp::now()).date()
}

/// Cases that could never pass by the experiment's rule, however they were answered: one fault names the
/// first. A case's own rule may ask for more than one experiment does.
fn hopeless(golden: &GoldenSet, selected: &[Arc<Case>], settings: &Settings) -> Faults {
    let PassIf::AtLeast(least) = settings.pass_if else { return Faults::default() };
    let asked = |case: &Arc<Case>| case.repeats.unwrap_or(settings.repeats);
    let hopeless = |case: &&Arc<Case>| case.pass_if == settings.pass_if && asked(case) < least;
    let hopeless: Vec<&Arc<Case>> = selected.iter().filter(hopeless).collect();
    let Some(first) = hopeless.first() else { return Faults::default() };
    let others = match hopeless.len() - 1 {
        0 => String::new(),
        1 => ", and another case likewise".to_owned(),
        others => format!(", and {others} other cases likewise"),
    };
    let index = golden.cases.iter().position(|case| Arc::ptr_eq(case, first)).expect("it was selected");
    let message = format!("{} of {} repeats can never pass{others}", first.pass_if, asked(first));
    golden.fault(index, "pass_if", message).with_hint("raise `repeats` or lower `at_least`").into()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::testing::Stored, domain::Shard};

    #[test]
    fn an_experiment_is_read_with_its_golden_set() {
        let stored = Stored::empty("");
        let ready = stored.ready();
        assert_eq!((ready.golden.cases.len(), ready.selected.len()), (8, 8));
        assert_eq!((ready.experiment.targets.len(), ready.store), (2, stored.path()));
    }

    #[test]
    fn an_experiment_is_read_from_memory_as_from_its_file() {
        let stored = Stored::empty("");
        let text = |name: &str| std::fs::read_to_string(stored.beside(name)).unwrap();
        let read = Ready::from_text(&text("test.toml"), &text("golden.jsonl"), &stored.overrides()).unwrap();
        let file = stored.ready();
        assert_eq!(read.golden.fingerprint, file.golden.fingerprint);
        assert_eq!(read.experiment.settings.targets, file.experiment.settings.targets);
        let error = Ready::from_text(&text("test.toml"), "{\"id\": 1}", &stored.overrides()).unwrap_err();
        assert!(error.to_string().contains("golden.jsonl:1"), "{error}");
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let stored = Stored::empty("repeat = 3\nrepeats_ = 1\n");
        let Err(AppError::Faults(faults)) = Ready::read(&stored.experiment(), &stored.overrides()) else {
            panic!("unknown keys are faults")
        };
        assert_eq!(faults.0.len(), 2, "{faults}");
    }

    #[test]
    fn a_rule_that_no_number_of_right_answers_meets_is_a_fault() {
        let stored = Stored::empty("pass_if = { at_least = 3 }\n");
        let read = |repeats| {
            let overrides = Overrides { repeats, ..stored.overrides() };
            Ready::read(&stored.experiment(), &overrides).map(drop).map_err(|error| error.to_string())
        };
        let error = read(None).unwrap_err();
        let said = "golden.jsonl:1: case `c0`, `pass_if`: at least 3 of 2 repeats can never pass, and 7 other cases likewise";
        assert!(error.contains(said), "{error}");
        assert_eq!(read(Some(3)), Ok(()));
    }

    #[test]
    fn a_shard_asks_its_clusters_and_knows_the_whole() {
        let stored = Stored::empty("");
        let part = |number| {
            let overrides = Overrides { shard: Shard::new(number, 2), ..stored.overrides() };
            Ready::read(&stored.experiment(), &overrides).unwrap()
        };
        let parts = [part(1), part(2)];
        assert_eq!(parts[0].experiment.cases.len() + parts[1].experiment.cases.len(), 8);
        assert_eq!(parts[0].whole().unwrap().unwrap().cases.len(), 8);
        assert!(stored.ready().whole().unwrap().is_none());
    }

    #[test]
    fn a_shard_without_a_cluster_is_told() {
        let stored = Stored::empty("");
        let empty = (1..=64).find_map(|number| {
            let overrides = Overrides { shard: Shard::new(number, 64), ..stored.overrides() };
            Ready::read(&stored.experiment(), &overrides).err()
        });
        assert!(empty.unwrap().to_string().contains("holds no cluster of the selection"));
    }
}
