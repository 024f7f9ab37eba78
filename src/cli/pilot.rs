//! `caseload pilot`: a small, stratified part of a run, asked first.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_arguments::ExperimentArgs,
    output,
    session::{self, Screen},
};
use crate::app::{
    find_run::{shell_word, store_flag},
    pilot::{self, Pilot},
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
    let file = &arguments.experiment.experiment;
    let Pilot { session, later } =
        pilot::begin(file, &arguments.experiment.overrides(), arguments.cases as usize)?;
    let (name, flag) = (session.name().clone(), store_flag(session.store_path()));
    let (status, summary) = session::work_on(session, &arguments.screen)?;
    output::note(&format!(
        "next:\n  caseload estimate {}{flag}\n  caseload resume {name}{flag}",
        shell_word(file)
    ));
    Ok(if pilot::is_done(&summary, later) { ExitStatus::Success } else { status })
}
