//! From `[stop]` to the machine that decides: the baseline is looked up, what is done is told.

use std::{collections::HashMap, path::Path};

use super::AppError;
use crate::{
    config::{Experiment, StopGate, StopSettings},
    domain::{CaseId, Fingerprint, RunRow, TargetPos},
    evidence::{Evidence, measured},
    runner::{
        TrialPlan,
        early_stop::{Baseline, EarlyStop, Rule, shuffled_clusters},
    },
    store::{Detail, Store, StoreError},
};

/// The machine of a run that may stop early; `None` for any other.
pub(super) fn of(
    store: &Store,
    run: RunRow,
    experiment: &Experiment,
    plan: &TrialPlan,
) -> Result<Option<EarlyStop>, AppError> {
    let Some(stop) = &experiment.settings.stop else { return Ok(None) };
    let names = experiment.cases.iter().map(|planned| planned.case.cluster_or_id());
    let clusters = shuffled_clusters(names, experiment.settings.seed);
    let repeats = experiment.cases.iter().map(|planned| planned.repeats).collect();
    let targets: Vec<TargetPos> = (0..experiment.targets.len()).map(TargetPos::at).collect();
    let rule = Rule { margin: stop.margin / 100.0, either_way: stop.gate == StopGate::Different };
    let baseline = baseline(store, run, experiment, stop)?;
    let mut machine = EarlyStop::new(&clusters, repeats, &targets, baseline, rule);
    for &target in &targets {
        store.for_each_trial_row(run, target, Detail::Lean, |trial| {
            // What is asked again has not ended yet.
            if plan.is_done(target, trial.case, trial.repeat) {
                machine.ended(target, trial.case, measured(trial).ok());
            }
        })?;
    }
    Ok(Some(machine))
}

/// Whether the baseline of an experiment that may stop early can be had, before a run is made in the
/// store at `path`.
pub(super) fn check(path: &Path, experiment: &Experiment) -> Result<(), AppError> {
    let Some(stop) = &experiment.settings.stop else { return Ok(()) };
    if own_target(experiment, stop)?.is_some() {
        return Ok(());
    }
    let store = Store::open_to_read(path).map_err(|error| no_baseline(experiment, stop, error))?;
    past_run(&store, RunRow(-1), experiment, stop).map(drop)
}

/// A target of the experiment by the name of `[stop]`, else an earlier run.
fn baseline(
    store: &Store,
    run: RunRow,
    experiment: &Experiment,
    stop: &StopSettings,
) -> Result<Baseline, AppError> {
    match own_target(experiment, stop)? {
        Some(own) => Ok(Baseline::Target(own)),
        None => past_run(store, run, experiment, stop),
    }
}

fn own_target(experiment: &Experiment, stop: &StopSettings) -> Result<Option<TargetPos>, AppError> {
    let own = experiment.targets.iter().position(|target| target.name.as_str() == stop.against);
    if own.is_some() && experiment.targets.len() == 1 {
        return Err(AppError::hinted(
            format!("`stop.against` names `{}`, the only target", stop.against),
            "name another target or an earlier run",
        ));
    }
    Ok(own.map(TargetPos::at))
}

/// Neither a target nor a run has the name, or the store fails.
fn no_baseline(experiment: &Experiment, stop: &StopSettings, error: StoreError) -> AppError {
    match error {
        StoreError::Missing { .. }
        | StoreError::NoRuns
        | StoreError::OnlyAside { .. }
        | StoreError::UnknownRun { .. } => {
            let names = experiment.targets.iter().map(|target| format!("`{}`", target.name));
            AppError::hinted(
                format!("`stop.against` is `{}`: no target of the experiment, and no run", stop.against),
                format!("the targets are {}", names.collect::<Vec<_>>().join(", ")),
            )
        }
        StoreError::AmbiguousRun { .. } => AppError::usage(format!("`stop.against`: {error}")),
        error => error.into(),
    }
}

/// Each case's mean in the earlier run that `[stop]` names.
fn past_run(
    store: &Store,
    run: RunRow,
    experiment: &Experiment,
    stop: &StopSettings,
) -> Result<Baseline, AppError> {
    let past = store.find_run(&stop.against).map_err(|error| no_baseline(experiment, stop, error))?;
    if past.id == run {
        return Err(AppError::usage("`stop.against` names the run itself; give an earlier run's whole name"));
    }
    let targets = store.targets(past.id)?;
    let mut cases = vec![];
    store.for_each_case::<StoreError>(past.id, |case| {
        cases.push(case);
        Ok(())
    })?;
    let mut means = HashMap::new();
    for (position, target) in (0..).map(TargetPos).zip(&experiment.targets) {
        let same = targets.iter().position(|then| then.name == target.name);
        let Some(then) = same.or((targets.len() == 1).then_some(0)) else {
            return Err(AppError::hinted(
                format!("run `{}` has no target `{}` to compare with", past.name, target.name),
                "leave the target out, or name another run in `stop.against`",
            ));
        };
        let planned = cases.iter().map(|case| case.repeats);
        let evidence = Evidence::read_lean(store, past.id, TargetPos::at(then), planned)?;
        let known: HashMap<(&CaseId, Fingerprint), f64> = cases
            .iter()
            .zip(&evidence.cases)
            .filter_map(|(case, own)| Some(((&case.id, case.fingerprint), own.count.share()?)))
            .collect();
        let of_case = |planned: &crate::config::PlannedCase| {
            known.get(&(&planned.case.id, planned.case.fingerprint)).copied()
        };
        means.insert(position, experiment.cases.iter().map(of_case).collect());
    }
    Ok(Baseline::Past(means))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    fn stored(against: &str) -> Stored {
        Stored::empty(&format!("[stop]\nagainst = \"{against}\"\nmargin = 2\n"))
    }

    #[test]
    fn another_target_is_a_baseline_and_an_unknown_name_is_told() {
        let good = stored("good");
        check(&good.path(), &good.ready().experiment).unwrap();
        let unknown = stored("nobody").ready().experiment;
        for store in [good, Stored::new()] {
            let error = check(&store.path(), &unknown).unwrap_err().to_string();
            let said = "`stop.against` is `nobody`: no target of the experiment, and no run\n  hint: the targets are `good`, `poor`";
            assert_eq!(error, said);
        }
    }

    #[test]
    fn an_earlier_run_is_a_baseline_for_each_of_its_targets() {
        let past = Stored::new();
        let experiment = stored("test-1").ready().experiment;
        let stop = experiment.settings.stop.clone().unwrap();
        let found = baseline(&past.open(), RunRow(-1), &experiment, &stop).unwrap();
        let Baseline::Past(means) = found else { panic!("an earlier run is no target") };
        assert_eq!(means.len(), 2);
        assert!(means[&TargetPos(0)].iter().all(Option::is_some));
    }

    #[test]
    fn an_experiment_that_does_not_stop_needs_no_baseline() {
        let stored = Stored::empty("");
        check(&stored.path(), &stored.ready().experiment).unwrap();
    }
}
