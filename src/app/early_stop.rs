//! From `[stop]` to the machine that decides: the baseline is looked up, what is done is told.

use std::collections::HashMap;

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

/// Whether the baseline of an experiment that may stop early can be had, before a run is made.
pub(super) fn check(store: &Store, experiment: &Experiment) -> Result<(), AppError> {
    let Some(stop) = &experiment.settings.stop else { return Ok(()) };
    baseline(store, RunRow(-1), experiment, stop).map(|_| ())
}

/// A target of the experiment by that name, else an earlier run.
fn baseline(
    store: &Store,
    run: RunRow,
    experiment: &Experiment,
    stop: &StopSettings,
) -> Result<Baseline, AppError> {
    let own = experiment.targets.iter().position(|target| target.name.as_str() == stop.against);
    if let Some(own) = own {
        if experiment.targets.len() == 1 {
            return Err(AppError::Usage {
                message: format!("`stop.against` names `{}`, the only target", stop.against),
                hint: Some("name another target or an earlier run".to_owned()),
            });
        }
        return Ok(Baseline::Target(TargetPos::at(own)));
    }
    let past = store.find_run(&stop.against).map_err(|error| AppError::Usage {
        message: format!("`stop.against`: no target of the experiment, and {error}"),
        hint: None,
    })?;
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
        let store = Store::open(good.path()).unwrap();
        check(&store, &good.ready().experiment).unwrap();
        let error = check(&store, &stored("nobody").ready().experiment).unwrap_err().to_string();
        assert!(error.starts_with("`stop.against`: no target of the experiment, and "), "{error}");
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
        let store = Store::open(stored.path()).unwrap();
        check(&store, &stored.ready().experiment).unwrap();
    }
}
