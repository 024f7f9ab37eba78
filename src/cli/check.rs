//! `caseload check`: everything that can be known to fail before a request is sent.

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, experiment_arguments::ExperimentArgs, output};
use crate::{
    app::{self, Ready},
    report::checked_text,
};

/// Check an experiment without sending anything
///
/// Reads the experiment, the golden set, templates, prices and recorded outputs, tests each case's
/// graders against its own examples, and looks whether the keys are set. All faults are told at once.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Do not ask for keys (where the golden set is checked and nothing will be run)
    #[arg(long)]
    no_keys: bool,
}

/// Does `caseload check`.
pub(super) fn check(arguments: &CheckArgs) -> Result<ExitStatus, CliError> {
    let experiment = &arguments.experiment;
    let ready = Ready::read_and_try_examples(&experiment.experiment, &experiment.overrides())?;
    output::data(&checked_text(&app::check::check(&ready, !arguments.no_keys)?))?;
    Ok(ExitStatus::Success)
}
