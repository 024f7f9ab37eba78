//! `caseload trend`: a target over its runs.

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    app::history::{self, Look},
    report::trend_text,
};

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
    let look = Look { experiment: arguments.experiment.clone(), target: arguments.target.clone() };
    let trend = history::trend(&store, &look, arguments.last.into())?;
    output::either(arguments.json, &trend, || trend_text(&trend.experiment, &trend.targets))?;
    Ok(ExitStatus::Success)
}
