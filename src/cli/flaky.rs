//! `caseload flaky`: the flake ledger of an experiment.

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    app::history::{self, Look},
    report::flaky_text,
};

/// List which cases answer now so, now so, which always alike, and where more repeats would help
///
/// Adds up the trials of each case over all runs in which the target, the graders and the case itself
/// were what they are in the latest run.
#[derive(Debug, Args)]
pub(super) struct FlakyArgs {
    /// The experiment, the beginning of its name, or one of its runs; that of the latest run if absent
    experiment: Option<String>,

    /// Show only this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    /// Show at most this many cases of a kind
    #[arg(long, value_name = "N", default_value = "20")]
    limit: usize,

    /// Print JSON: every case, whatever the limit
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload flaky`.
pub(super) fn flaky(arguments: &FlakyArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let look = Look { experiment: arguments.experiment.clone(), target: arguments.target.clone() };
    let ledger = history::flaky(&store, &look)?;
    output::either(arguments.json, &ledger, || flaky_text(&ledger, arguments.limit))?;
    Ok(ExitStatus::Success)
}
