//! `caseload limits`, `pause` and `continue`: steer a run that another process works on.

use clap::Args;
use serde_json::json;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    output,
    store_argument::{StoreArgument, find_run},
};
use crate::{
    config::Frozen,
    domain::{LiveLimits, PerDimension, ProviderName, QueueControl, nearest},
    report::count,
    store::{RunDetail, Store},
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
    let mut store = arguments.store.open_to_write()?;
    let detail = find_run(&store, &arguments.run)?;
    check_is_running(&store, &detail, &arguments.store.flag())?;
    let providers = chosen(&detail, &arguments.provider)?;
    let controls = store.steer(detail.row.id, &providers, change)?;
    let text = if arguments.json {
        let queues = controls.iter().map(|(provider, control)| {
            let LiveLimits { max_in_flight, per_minute } = control.limits;
            let limits = json!({
                "max_in_flight": max_in_flight,
                "requests_per_minute": per_minute.requests,
                "input_tokens_per_minute": per_minute.input,
                "output_tokens_per_minute": per_minute.output,
            });
            json!({ "provider": provider, "paused": control.paused, "limits": limits })
        });
        let whole = json!({
            "schema_version": 1, "run": detail.row.name, "queues": queues.collect::<Vec<_>>(),
        });
        serde_json::to_string_pretty(&whole).expect("what is asked of queues is plain data")
    } else {
        let lines: Vec<String> = controls
            .iter()
            .map(|(provider, control)| format!("{} · {provider} · {}", detail.row.name, asked(control)))
            .collect();
        lines.join("\n")
    };
    output::data(&text)?;
    output::note("the process that works on the run takes it in within half a second");
    Ok(ExitStatus::Success)
}

fn check_is_running(store: &Store, detail: &RunDetail, flag: &str) -> Result<(), CliError> {
    if store.is_worked_on(detail.row.id)? {
        return Ok(());
    }
    let name = &detail.row.name;
    Err(CliError::Usage {
        message: format!("run `{name}` is not running: there is nothing to steer"),
        hint: Some(format!(
            "`caseload runs{flag}` lists the runs; `caseload resume {name}{flag}` goes on with this one"
        )),
    })
}

/// The run's queues that are meant: those named, else all.
fn chosen(detail: &RunDetail, named: &[String]) -> Result<Vec<ProviderName>, CliError> {
    let frozen = Frozen::of_stored(&detail.config).map_err(|error| {
        CliError::usage(format!("the settings of run `{}` cannot be read: {error}", detail.row.name))
    })?;
    let all: Vec<ProviderName> =
        frozen.settings.providers.into_iter().map(|provider| provider.name).collect();
    for name in named {
        if !all.iter().any(|known| known.as_str() == name) {
            let known: Vec<&str> = all.iter().map(ProviderName::as_str).collect();
            return Err(CliError::Usage {
                message: format!(
                    "run `{}` has no provider `{name}`; it has {}",
                    detail.row.name,
                    known.join(", ")
                ),
                hint: nearest(name, known).map(|near| format!("did you mean `{near}`?")),
            });
        }
    }
    let is_meant =
        |provider: &ProviderName| named.is_empty() || named.iter().any(|name| name == provider.as_str());
    Ok(all.into_iter().filter(is_meant).collect())
}

/// What is asked of a queue, in words: `paused by you`, `at most 32 in flight, 500 requests/min`.
pub(super) fn asked(control: &QueueControl) -> String {
    let LiveLimits { max_in_flight, per_minute } = control.limits;
    let rate = |limit: Option<u64>, what: &str| limit.map(|limit| format!("{} {what}/min", count(limit)));
    let parts: Vec<String> = [
        control.paused.then(|| "paused by you".to_owned()),
        max_in_flight.map(|limit| format!("at most {limit} in flight")),
        rate(per_minute.requests, "requests"),
        rate(per_minute.input, "input tokens"),
        rate(per_minute.output, "output tokens"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "goes on".to_owned() } else { parts.join(", ") }
}
