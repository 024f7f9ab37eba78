//! `caseload flaky`: the flake ledger of an experiment.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_argument::{find_runs, find_targets},
    output,
    store_argument::StoreArgument,
};
use crate::{
    compare::{FlakyLedger, History, flaky_target},
    report::flaky_text,
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

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
    let (experiment, runs) = find_runs(&store, arguments.experiment.as_deref())?;
    let mut targets = vec![];
    for name in find_targets(&store, &experiment, &runs, arguments.target.as_deref())? {
        targets.extend(flaky_target(&History::read(&store, &runs, &name)?));
    }
    let ledger = FlakyLedger { schema_version: SCHEMA_VERSION, experiment, targets };
    let text = if arguments.json {
        serde_json::to_string_pretty(&ledger).expect("a ledger is plain data")
    } else {
        flaky_text(&ledger, arguments.limit)
    };
    output::data(&text)?;
    Ok(ExitStatus::Success)
}
