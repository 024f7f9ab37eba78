//! `caseload trend`: a target over its runs.

use clap::Args;
use serde_json::json;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_argument::{find_runs, find_targets},
    output,
    store_argument::StoreArgument,
};
use crate::{
    compare::{History, trend_target},
    report::trend_text,
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// Show a target over its runs, what was changed between them, and whether its pass rate moved
///
/// A slow decline does not show between two nights. The hint at a change holds all splits of the runs
/// against each other, case by case, and accounts for having looked at each of them.
#[derive(Debug, Args)]
pub(super) struct TrendArgs {
    /// The experiment, the beginning of its name, or one of its runs; that of the latest run if absent
    experiment: Option<String>,

    /// Show only this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    /// Look only at the last N runs
    #[arg(long, value_name = "N", default_value = "30", value_parser = clap::value_parser!(u16).range(1..))]
    last: u16,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload trend`.
pub(super) fn trend(arguments: &TrendArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let (experiment, runs) = find_runs(&store, arguments.experiment.as_deref())?;
    let runs = &runs[runs.len().saturating_sub(arguments.last.into())..];
    let mut targets = vec![];
    for name in find_targets(&store, &experiment, runs, arguments.target.as_deref())? {
        targets.push(trend_target(&History::read(&store, runs, &name)?));
    }
    let text = if arguments.json {
        let whole = json!({
            "schema_version": SCHEMA_VERSION,
            "experiment": experiment,
            "targets": targets,
        });
        serde_json::to_string_pretty(&whole).expect("a trend is plain data")
    } else {
        trend_text(&experiment, &targets)
    };
    output::data(&text)?;
    Ok(ExitStatus::Success)
}
