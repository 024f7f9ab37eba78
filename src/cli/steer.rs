//! `caseload limits`, `pause` and `continue`: steer a run that another process works on.

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    app::{self, steer::SteeredQueue},
    domain::{LiveLimits, PerDimension, QueueControl},
    report::control_text,
};

/// Steer a running run
#[derive(Debug, Args)]
pub(super) struct SteerArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    #[arg(default_value = "latest")]
    run: String,

    /// Steer only this provider's queue; may be repeated
    #[arg(long, value_name = "NAME")]
    provider: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Change the limits of a running run
///
/// The process that works on the run takes them in within half a second and shows them in its
/// progress. What the provider's own headers tell still lowers them. A resume begins with the
/// experiment's limits again.
#[derive(Debug, Args)]
pub(super) struct LimitsArgs {
    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    steer: SteerArgs,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct LimitArgs {
    /// The most requests on the wire at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_in_flight: Option<u32>,

    /// Requests a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rpm: Option<u64>,

    /// Input tokens a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    itpm: Option<u64>,

    /// Output tokens a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    otpm: Option<u64>,
}

/// Does `caseload limits`.
pub(super) fn limits(arguments: &LimitsArgs) -> Result<ExitStatus, CliError> {
    let LimitArgs { max_in_flight, rpm, itpm, otpm } = arguments.limits;
    let per_minute = PerDimension { requests: rpm, input: itpm, output: otpm };
    let limits = LiveLimits { max_in_flight, per_minute };
    steer(&arguments.steer, |control| QueueControl { limits: control.limits.with(limits), ..control })
}

/// Does `caseload pause`.
pub(super) fn pause(arguments: &SteerArgs) -> Result<ExitStatus, CliError> {
    steer(arguments, |control| QueueControl { paused: true, ..control })
}

/// Does `caseload continue`.
pub(super) fn go_on(arguments: &SteerArgs) -> Result<ExitStatus, CliError> {
    steer(arguments, |control| QueueControl { paused: false, ..control })
}

fn steer(
    arguments: &SteerArgs,
    change: impl Fn(QueueControl) -> QueueControl,
) -> Result<ExitStatus, CliError> {
    let SteerArgs { run, provider, json, store } = arguments;
    let steered = app::steer::steer(&store.store, run, provider, change)?;
    let line = |queue: &SteeredQueue| {
        format!("{} · {} · {}", steered.run, queue.provider, control_text(&queue.control()))
    };
    output::either(*json, &steered, || steered.queues.iter().map(line).collect::<Vec<_>>().join("\n"))?;
    output::note("the process that works on the run takes it in within half a second");
    Ok(ExitStatus::Success)
}
