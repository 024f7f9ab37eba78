//! `caseload pilot`: a small, stratified part of a run, asked first.

use clap::Args;

use super::{
    early_stop,
    error::CliError,
    estimate,
    exit_status::ExitStatus,
    experiment_arguments::ExperimentArgs,
    new_run, output,
    session::{self, Prepared, Screen},
    store_argument,
};
use crate::{
    config,
    domain::{CasePos, Repeat, TargetPos},
    estimate::sample::stratified_sample,
    store::Store,
};

/// Ask a small sample of a run's cases first, to see what the rest will cost
///
/// Makes a run of the whole experiment and asks only a seeded, stratified sample of its cases.
/// `caseload estimate` then rests on it, and `caseload resume` (or `run --continue`) asks the rest:
/// what the pilot asked is not paid again.
#[derive(Debug, Args)]
pub(super) struct PilotArgs {
    /// With `--repeats` and `--max-cost` of the pilot alone; the rest keeps the experiment's own
    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Ask so many cases
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u32).range(1..))]
    cases: u32,

    #[command(flatten)]
    screen: Screen,
}

/// Does `caseload pilot`.
pub(super) fn pilot(arguments: &PilotArgs) -> Result<ExitStatus, CliError> {
    let (whole, own) = arguments.experiment.without_pilots_own();
    let mut ready = whole.read(false)?;
    if own.max_cost.is_some() {
        // Read again with the pilot's budget, so that a budget that cannot be kept is told.
        arguments.experiment.read(false)?;
    }
    config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    let cases = &mut ready.experiment.cases;
    let sample = stratified_sample(cases, arguments.cases as usize, ready.experiment.settings.seed);
    if let Some(repeats) = own.repeats {
        // Chosen before any outcome: more repeats of the sample bias nothing.
        sample.iter().for_each(|&at| cases[at].repeats = cases[at].repeats.max(repeats));
    }
    let mut store = Store::open(&ready.store)?;
    early_stop::check(&store, &ready.experiment)?;
    let created = new_run::create_run(&mut store, &ready)?;
    let estimated = estimate::at_start(&store, &ready.experiment, created.id, true)?;
    store.add_estimate(created.id, &estimated)?;
    let name = created.name.clone();
    let mut prepared = Prepared::new(created, ready.experiment, ready.store.clone());
    let asked = own.repeats;
    let targets = prepared.experiment.targets.len();
    let mut in_sample = sample.iter().copied().peekable();
    for (at, planned) in prepared.experiment.cases.iter().enumerate() {
        let is_asked = in_sample.next_if_eq(&at).is_some();
        let first_later = if is_asked { asked.unwrap_or(planned.repeats) + 1 } else { 1 };
        let case = CasePos::at(at);
        for target in (0..targets).map(TargetPos::at) {
            for repeat in (first_later..=planned.repeats).map(Repeat) {
                prepared.plan.leave_for_later(target, case, repeat);
            }
        }
    }
    if let Some(limit) = own.max_cost {
        let whole = prepared.experiment.settings.max_cost;
        prepared.experiment.settings.max_cost = Some(whole.map_or(limit, |whole| whole.min(limit)));
    }
    let later = prepared.plan.left_for_later();
    let (status, summary) = session::work_on(prepared, store, &arguments.screen)?;
    let flag = store_argument::flag(&ready.store);
    let file = arguments.experiment.experiment.display();
    output::note(&format!("next:\n  caseload estimate {file}{flag}\n  caseload resume {name}{flag}"));
    // What was left for later on purpose is not missing.
    let done = summary.stops.is_empty() && summary.failed == 0 && summary.pending == later;
    Ok(if done { ExitStatus::Success } else { status })
}
