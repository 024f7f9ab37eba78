//! `caseload run`: a new run of an experiment.

use clap::Args;

use super::{
    error::CliError,
    estimate,
    exit_status::ExitStatus,
    experiment_arguments::ExperimentArgs,
    output, resume,
    session::{self, Screen},
};
use crate::app::{
    self,
    resume::{GoOn, unfinished},
};

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
    ///
    /// With the settings that it began with: of what is given beside it only `--max-cost` reaches it.
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
    if arguments.go_on {
        let name = &ready.experiment.settings.name;
        if let Some(unfinished) = unfinished(&ready.store, name)? {
            tell_frozen(&unfinished, &arguments.experiment);
            return resume::go_on(
                &unfinished,
                &ready.store,
                GoOn { max_cost: arguments.experiment.max_cost, ..GoOn::default() },
                &arguments.screen,
            );
        }
        output::note(&format!("no run of `{name}` is to be gone on with: a new one begins"));
    }
    for warning in ready.key_warnings() {
        output::note(&format!("warning: {warning}"));
    }
    session::work(app::run::begin(ready)?, &arguments.screen)
}

/// Tells what of the arguments does not reach a run that began before.
fn tell_frozen(run: &str, experiment: &ExperimentArgs) {
    let flags = experiment.overrides().frozen_flags();
    if !flags.is_empty() {
        let flags = flags.join(", ");
        output::note(&format!("`{run}` goes on with the settings that it began with, without {flags}"));
    }
}
