//! `caseload pilot`: a small, stratified part of a run, asked first.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_arguments::ExperimentArgs,
    output,
    session::{self, Screen},
};
use crate::{
    app::{
        find_run::{shell_word, store_flag},
        pilot::{self, Pilot},
    },
    report::{count, dollars},
};

/// Ask a small sample of a run's cases first, to see what the rest will cost
///
/// Makes a run of the whole experiment and asks only a seeded, stratified sample of its cases.
/// `caseload estimate` then rests on it, and `caseload resume` (or `run --continue`) asks the rest:
/// what the pilot asked is not paid again. `--repeats` and `--max-cost` are the pilot's alone: the rest
/// keeps the repeats of the experiment, and its budget if it has one.
#[derive(Debug, Args)]
pub(super) struct PilotArgs {
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
    let Pilot { session, later, later_budget } =
        pilot::begin(file, &arguments.experiment.overrides(), arguments.cases as usize)?;
    let (name, flag) = (session.name().clone(), store_flag(session.store_path()));
    let (status, summary) = session::work_on(session, &arguments.screen)?;
    let budget =
        later_budget.map_or_else(|| "no budget".to_owned(), |most| format!("{} in all", dollars(most)));
    output::note(&format!(
        "next:\n  caseload estimate {}{flag}\n  caseload resume {name}{flag}    (the rest: {} trials, {budget})",
        shell_word(file),
        count(summary.pending)
    ));
    Ok(if pilot::is_done(&summary, later) { ExitStatus::Success } else { status })
}
