//! `caseload run`: a new run of an experiment.

use clap::Args;

use super::{
    early_stop,
    error::CliError,
    estimate,
    exit_status::ExitStatus,
    experiment_arguments::{ExperimentArgs, Ready},
    new_run::create_run,
    resume,
    session::{self, Prepared, Screen},
};
use crate::{config, store::Store};

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
    #[arg(long)]
    dry_run: bool,

    /// Go on with the experiment's latest run (a pilot, say) where that is not done
    #[arg(long = "continue")]
    go_on: bool,

    #[command(flatten)]
    screen: Screen,
}

/// Does `caseload run`.
pub(super) fn run(arguments: &RunArgs) -> Result<ExitStatus, CliError> {
    let ready = arguments.experiment.read(false)?;
    if arguments.dry_run {
        return estimate::dry_run(ready, arguments.screen.json);
    }
    if arguments.go_on
        && let Some(unfinished) = resume::unfinished(&ready.store, &ready.experiment.settings.name)?
    {
        return resume::go_on(&unfinished, ready.store, &arguments.screen);
    }
    config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    let mut store = Store::open(&ready.store)?;
    early_stop::check(&store, &ready.experiment)?;
    let created = create_run(&mut store, &ready)?;
    let estimated = match ready.whole()? {
        Some(whole) => estimate::at_start(&store, &whole, created.id, false)?,
        None => estimate::at_start(&store, &ready.experiment, created.id, false)?,
    };
    store.add_estimate(created.id, &estimated)?;
    // The cases end with the run's experiment: the scorecard is made from the store.
    let Ready { experiment, golden, store: path, selected } = ready;
    drop((golden, selected));
    let prepared = Prepared::new(created, experiment, path);
    session::work(prepared, store, &arguments.screen)
}
