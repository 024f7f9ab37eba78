//! `caseload run`: a new run of an experiment.

use clap::Args;

use super::{
    error::CliError,
    estimate,
    exit_status::ExitStatus,
    experiment_arguments::ExperimentArgs,
    resume,
    session::{self, Screen},
};
use crate::app::{self, resume::unfinished};

/// Run an experiment: ask, store, grade, and print the scorecard
///
/// Asks every case of the golden set of every target, as often as the experiment says, through the
/// queues of its providers. Everything is stored as it arrives: whatever happens, `caseload resume`
/// goes on where it stopped.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Send nothing; print what `caseload estimate` prints
    #[arg(long, conflicts_with = "events")]
    dry_run: bool,

    /// Go on with the experiment's latest run (a pilot, say) where that is not done
    #[arg(long = "continue")]
    go_on: bool,

    #[command(flatten)]
    screen: Screen,
}

/// Does `caseload run`.
pub(super) fn run(arguments: &RunArgs) -> Result<ExitStatus, CliError> {
    let ready = arguments.experiment.read()?;
    if arguments.dry_run {
        return estimate::dry_run(ready, arguments.screen.json);
    }
    if arguments.go_on
        && let Some(unfinished) = unfinished(&ready.store, &ready.experiment.settings.name)?
    {
        return resume::go_on(&unfinished, &ready.store, false, &arguments.screen);
    }
    session::work(app::run::begin(ready)?, &arguments.screen)
}
