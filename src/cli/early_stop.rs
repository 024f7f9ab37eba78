//! From `[stop]` to the machine that decides: the baseline is looked up, what is done is told.

use std::collections::HashMap;

use super::error::CliError;
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
) -> Result<Option<EarlyStop>, CliError> {
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
pub(super) fn check(store: &Store, experiment: &Experiment) -> Result<(), CliError> {
    let Some(stop) = &experiment.settings.stop else { return Ok(()) };
    baseline(store, RunRow(-1), experiment, stop).map(|_| ())
}

/// A target of the experiment by that name, else an earlier run.
fn baseline(
    store: &Store,
    run: RunRow,
    experiment: &Experiment,
    stop: &StopSettings,
) -> Result<Baseline, CliError> {
    let own = experiment.targets.iter().position(|target| target.name.as_str() == stop.against);
    if let Some(own) = own {
        if experiment.targets.len() == 1 {
            return Err(CliError::Usage {
                message: format!("`stop.against` names `{}`, the only target", stop.against),
                hint: Some("name another target or an earlier run".to_owned()),
            });
        }
        return Ok(Baseline::Target(TargetPos::at(own)));
    }
    let past = store.find_run(&stop.against).map_err(|error| CliError::Usage {
        message: format!("`stop.against`: no target of the experiment, and {error}"),
        hint: None,
    })?;
    if past.id == run {
        return Err(CliError::usage("`stop.against` names the run itself; give an earlier run's whole name"));
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
            return Err(CliError::Usage {
                message: format!("run `{}` has no target `{}` to compare with", past.name, target.name),
                hint: Some("leave the target out, or name another run in `stop.against`".to_owned()),
            });
        };
        let then = TargetPos::at(then);
        let evidence = Evidence::read_lean(store, past.id, then, cases.iter().map(|case| case.repeats))?;
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
