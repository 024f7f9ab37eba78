//! `caseload rehearse`: an experiment's run against a mock server with its providers' limits.

use clap::{Args, ValueEnum};

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_arguments::ExperimentArgs,
    output,
    session::{self, Screen},
};
use crate::{
    app::{
        mock_servers::{Conditions, Weather},
        rehearse,
    },
    report::{rehearsal_text, scorecard_text},
};

/// Rehearse a run: the same cases, queues and limits, against a mock server on this machine
///
/// No key is needed and nothing is paid. Tells how long the run would take, what it would cost at the
/// prices of its models, and what retries the weather causes. A rehearsal's pass rates mean nothing.
#[derive(Debug, Args)]
pub(super) struct RehearseArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Compress time: a minute of the provider's takes 60/N seconds
    ///
    /// Latencies, limits, waits and timeouts all shrink alike; this machine's own work does not.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = parse_speed)]
    speed: f64,

    /// What the provider's day is like
    #[arg(long, value_enum, default_value_t = WeatherArg::Calm)]
    weather: WeatherArg,

    /// Mean latency of an answer in milliseconds, for targets without `simulate.latency_ms`
    #[arg(long, default_value_t = 2_000.0, value_name = "MS")]
    latency_ms: f64,

    /// Spread the latency evenly this far to both sides of its mean, in milliseconds
    #[arg(long, default_value_t = 1_000.0, value_name = "MS")]
    jitter_ms: f64,

    #[command(flatten)]
    screen: Screen,
}

/// How often something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WeatherArg {
    /// Nothing goes wrong.
    Calm,
    /// Of a hundred requests one or two fail.
    Fair,
    /// Of a hundred requests ten fail: errors, overload, drops, refusals, silences.
    Rough,
}

impl From<WeatherArg> for Weather {
    fn from(weather: WeatherArg) -> Self {
        match weather {
            WeatherArg::Calm => Self::Calm,
            WeatherArg::Fair => Self::Fair,
            WeatherArg::Rough => Self::Rough,
        }
    }
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1.0..=1_000.0).contains(&speed) { Ok(speed) } else { Err("expected 1 to 1000".to_owned()) }
}

/// Does `caseload rehearse`.
pub(super) fn rehearse(arguments: &RehearseArgs) -> Result<ExitStatus, CliError> {
    let RehearseArgs { experiment, speed, weather, latency_ms, jitter_ms, screen } = arguments;
    let conditions = Conditions {
        speed: *speed,
        weather: Weather::from(*weather),
        latency_ms: *latency_ms,
        jitter_ms: *jitter_ms,
    };
    let (session, rehearsing) = rehearse::begin(experiment.read()?, conditions, experiment.store.is_some())?;
    let summary = session::ask_to_the_end(session, screen)?;
    let (rehearsal, card) = rehearsing.end(&summary)?;
    if screen.json {
        output::json(&rehearsal)?;
    } else {
        output::data(&scorecard_text(&card))?;
        output::data(&rehearsal_text(&rehearsal))?;
    }
    session::tell_stops(&summary);
    Ok(ExitStatus::of_run(summary.status))
}
