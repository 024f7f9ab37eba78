//! `caseload rehearse`: an experiment's run against a mock server with its providers' limits.

use std::{
    collections::{BTreeMap, HashMap},
    env, fs,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use clap::{Args, ValueEnum};
use serde::Serialize;
use tokio::runtime::{self, Runtime};

use super::{
    error::CliError,
    exit_status::ExitStatus,
    experiment_arguments::{ExperimentArgs, Ready},
    new_run, output,
    session::{self, Prepared, Screen},
};
use crate::{
    config::ProviderSettings,
    domain::{Cost, RunStatus},
    evidence::{Scorecard, TargetCard},
    mock::{FaultRates, MockServer, MockSettings, MockStats},
    providers::{Facts, SimulatedTarget, simulator::Latency},
    queue::QueueSettings,
    report::{Table, count, dollars, duration, scorecard_text},
    runner::RunSummary,
    store::Store,
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

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
    #[arg(long, value_enum, default_value_t = Weather::Calm)]
    weather: Weather,

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Weather {
    /// Nothing goes wrong.
    Calm,
    /// Of a hundred requests one or two fail.
    Fair,
    /// Of a hundred requests ten fail: errors, overload, drops, refusals, silences.
    Rough,
}

impl Weather {
    fn faults(self) -> FaultRates {
        match self {
            Self::Calm => FaultRates::default(),
            Self::Fair => FaultRates {
                server_error: 0.005,
                overloaded: 0.005,
                dropped: 0.002,
                rate_limited: 0.001,
                slow: 0.01,
                ..FaultRates::default()
            },
            Self::Rough => FaultRates {
                server_error: 0.02,
                overloaded: 0.03,
                dropped: 0.02,
                malformed: 0.005,
                rate_limited: 0.005,
                stalled: 0.005,
                slow: 0.02,
            },
        }
    }
}

fn parse_speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1.0..=1_000.0).contains(&speed) { Ok(speed) } else { Err("expected 1 to 1000".to_owned()) }
}

/// Does `caseload rehearse`.
pub(super) fn rehearse(arguments: &RehearseArgs) -> Result<ExitStatus, CliError> {
    let mut ready = arguments.experiment.read(false)?;
    let folder = arguments.experiment.store.is_none().then(TemporaryFolder::new).transpose()?;
    if let Some(folder) = &folder {
        ready.store = folder.0.join("rehearsal.db");
    }
    let name = ready.experiment.settings.name.clone();
    ready.experiment.settings.name = format!("{name}-rehearsal");
    let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let servers = redirect(&mut ready, arguments, &runtime)?;

    let mut store = Store::open(&ready.store)?;
    let created = new_run::create_run(&mut store, &ready)?;
    let prepared = Prepared::new(created, ready.experiment, ready.store.clone());
    let run = prepared.run;
    let summary = session::ask_to_the_end(prepared, store, &arguments.screen)?;

    let store = Store::open_to_read(&ready.store)?;
    let card = Scorecard::read(&store, &store.run_detail(run)?)?;
    let rehearsal = Rehearsal::new(name, arguments, &summary, &card, &servers);
    runtime.shutdown_background();
    if arguments.screen.json {
        output::data(&serde_json::to_string_pretty(&rehearsal).expect("a rehearsal is plain data"))?;
    } else {
        output::data(&scorecard_text(&card))?;
        output::data(&rehearsal.text())?;
    }
    for reason in &summary.stops {
        output::note(&format!("stopped: {reason}"));
    }
    Ok(ExitStatus::of_run(summary.status))
}

/// Starts one server for every account that is reached over the network, and leads the account there.
fn redirect(
    ready: &mut Ready,
    arguments: &RehearseArgs,
    runtime: &Runtime,
) -> Result<Vec<(String, f64, MockServer)>, CliError> {
    let experiment = &mut ready.experiment;
    let mut servers = vec![];
    for provider in experiment.settings.providers.iter_mut().filter(|provider| provider.kind.is_remote()) {
        let own = experiment.targets.iter().filter(|target| target.settings.provider == provider.name);
        let models = own.map(|target| {
            let model = simulated(&target.settings.simulate, arguments);
            (target.settings.model.to_string(), model)
        });
        let settings = server_settings(provider, models.collect(), arguments, experiment.settings.seed);
        let problems = settings.problems();
        if !problems.is_empty() {
            return Err(CliError::usage(problems.join("\n")));
        }
        let allowed = provider.queue.limits.requests_per_minute;
        let server = runtime.block_on(MockServer::start(settings, ready.golden.cases.clone()))?;
        let path = provider.kind.facts().map_or("", Facts::base_path);
        provider.base_url = Some(server.url() + path);
        provider.api_key_env = None;
        provider.idle_s = shrunk(provider.idle_s, arguments.speed);
        compress(&mut provider.queue, arguments.speed);
        servers.push((
            provider.name.to_string(),
            allowed.map_or(f64::INFINITY, |limit| limit as f64),
            server,
        ));
    }
    if servers.is_empty() {
        return Err(CliError::Usage {
            message: "no target of the experiment is reached over the network".to_owned(),
            hint: Some("what runs offline needs no rehearsal: use `caseload run`".to_owned()),
        });
    }
    Ok(servers)
}

/// What a target's model is like on the server.
fn simulated(target: &SimulatedTarget, arguments: &RehearseArgs) -> SimulatedTarget {
    let latency = if target.latency_ms == Latency::default() {
        Latency { mean: arguments.latency_ms, p95: None, jitter: Some(arguments.jitter_ms) }
    } else {
        target.latency_ms
    };
    let scale = |milliseconds: f64| milliseconds / arguments.speed;
    let latency_ms =
        Latency { mean: scale(latency.mean), p95: latency.p95.map(scale), jitter: latency.jitter.map(scale) };
    let cache = target.cache.map(|mut cache| {
        cache.ttl_s /= arguments.speed;
        cache
    });
    SimulatedTarget { latency_ms, cache, ..target.clone() }
}

/// A server with the limits of `provider`, which still are the real ones.
fn server_settings(
    provider: &ProviderSettings,
    models: HashMap<String, SimulatedTarget>,
    arguments: &RehearseArgs,
    seed: u64,
) -> MockSettings {
    let limits = &provider.queue.limits;
    #[expect(clippy::cast_precision_loss, reason = "no limit has 2^52 a minute")]
    let faster = |limit: Option<u64>| limit.map(|limit| limit as f64 * arguments.speed);
    MockSettings {
        seed,
        faults: arguments.weather.faults(),
        requests_per_minute: faster(limits.requests_per_minute),
        input_tokens_per_minute: faster(limits.input_tokens_per_minute),
        output_tokens_per_minute: faster(limits.output_tokens_per_minute),
        tokens_per_minute: faster(limits.tokens_per_minute),
        output_reserved: limits.output_reserved,
        cache_reads_count: limits.cache_reads_count,
        burst_s: limits.burst_s / arguments.speed,
        stall_s: Some(30.0 / arguments.speed),
        slow_s: 5.0 / arguments.speed,
        rate_limited_wait_s: 1.0 / arguments.speed,
        models,
        ..MockSettings::default()
    }
}

/// The same settings in compressed time: buckets hold as much as before, and fill faster.
fn compress(queue: &mut QueueSettings, speed: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "limits are far from either end, and the cast saturates"
    )]
    let faster = |limit: &mut Option<u64>| *limit = limit.map(|limit| (limit as f64 * speed) as u64);
    let limits = &mut queue.limits;
    faster(&mut limits.requests_per_minute);
    faster(&mut limits.input_tokens_per_minute);
    faster(&mut limits.output_tokens_per_minute);
    faster(&mut limits.tokens_per_minute);
    limits.burst_s /= speed;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "delays are positive and far from either end"
    )]
    let sooner = |delay: u64| ((delay as f64 / speed) as u64).max(1);
    queue.retry.base_delay_ms = sooner(queue.retry.base_delay_ms);
    queue.retry.max_delay_ms = sooner(queue.retry.max_delay_ms);
    queue.retry.max_elapsed_s = sooner(queue.retry.max_elapsed_s);
    queue.attempt_timeout_s = shrunk(queue.attempt_timeout_s, speed);
    queue.breaker_after_s /= speed;
}

/// A timeout in compressed time; below a second this machine's own pauses would trip it.
fn shrunk(timeout_s: f64, speed: f64) -> f64 {
    (timeout_s / speed).max(timeout_s.min(1.0))
}

/// What a rehearsal came to.
#[derive(Debug, Serialize)]
struct Rehearsal {
    schema_version: u32,
    /// Always: no provider was asked.
    rehearsal: bool,
    /// The experiment.
    experiment: String,
    run: String,
    status: &'static str,
    speed: f64,
    weather: Weather,
    trials: u64,
    /// Trials that ended as failed.
    failed: u64,
    pending: u64,
    /// What the rehearsal took, in seconds.
    wall_s: f64,
    /// What a run would take: the rehearsal's time uncompressed, in seconds.
    run_wall_s: f64,
    requests: u64,
    /// Requests beyond one a trial.
    retries: u64,
    /// What the run would cost; `None` when a model has no price.
    cost_usd: Option<Cost>,
    providers: Vec<RehearsedProvider>,
}

/// What one account's server saw.
#[derive(Debug, Serialize)]
struct RehearsedProvider {
    name: String,
    /// Requests a minute of uncompressed time, from the first request to the last answer.
    requests_per_minute: Option<f64>,
    /// Requests a minute that the experiment allows itself.
    allowed_per_minute: Option<f64>,
    refused_429: u64,
    server: MockStats,
}

impl Rehearsal {
    fn new(
        experiment: String,
        arguments: &RehearseArgs,
        summary: &RunSummary,
        card: &Scorecard,
        servers: &[(String, f64, MockServer)],
    ) -> Self {
        let sum = |of: fn(&TargetCard) -> u64| card.targets.iter().map(of).sum::<u64>();
        let (requests, trials) = (sum(|target| target.attempts), sum(|target| target.trials));
        let priced = card.targets.iter().all(|target| target.cost_unknown_trials == 0);
        let costs = card.targets.iter().map(|target| target.cost_usd);
        let wall_s = summary.wall.as_secs_f64();
        let providers = servers.iter().map(|(name, allowed, server)| {
            let stats = server.stats();
            #[expect(clippy::cast_precision_loss, reason = "no rehearsal has 2^52 requests")]
            let per_minute = |sending_s: f64| stats.requests as f64 * 60.0 / (sending_s * arguments.speed);
            RehearsedProvider {
                name: name.clone(),
                requests_per_minute: stats.sending_s.filter(|time| *time > 0.0).map(per_minute),
                allowed_per_minute: Some(*allowed).filter(|allowed| allowed.is_finite()),
                refused_429: stats.by_status.get(&429).copied().unwrap_or(0),
                server: stats,
            }
        });
        Self {
            schema_version: SCHEMA_VERSION,
            rehearsal: true,
            experiment,
            run: card.run.id.clone(),
            status: RunStatus::as_str(summary.status),
            speed: arguments.speed,
            weather: arguments.weather,
            trials,
            failed: sum(|target| target.not_measured.get("failed").copied().unwrap_or(0)),
            pending: summary.pending,
            wall_s,
            run_wall_s: wall_s * arguments.speed,
            requests,
            retries: requests.saturating_sub(trials - summary.pending),
            cost_usd: if priced { costs.sum() } else { None },
            providers: providers.collect(),
        }
    }

    fn text(&self) -> String {
        let seconds = |time: f64| duration(Duration::from_secs_f64(time));
        let mut text = format!(
            "\nREHEARSAL of {}: a mock server answered; no provider was asked and nothing was paid.\n\
             The pass rates above are the simulator's and mean nothing.\n\n",
            self.experiment
        );
        let wall = if self.speed > 1.0 {
            let run = seconds(self.run_wall_s);
            format!("{} at {}× speed; a run would take about {run}", seconds(self.wall_s), self.speed)
        } else {
            seconds(self.wall_s)
        };
        let cost = self.cost_usd.map_or_else(
            || "unknown: a model has no price".to_owned(),
            |cost| format!("{} at the prices of its models", dollars(cost)),
        );
        let (lost, pending) = (count(self.failed), count(self.pending));
        for (name, value) in [
            ("trials", format!("{}, of which failed {lost}, pending {pending}", count(self.trials))),
            ("wall time", wall),
            ("requests", format!("{}, of which retries {}", count(self.requests), count(self.retries))),
            ("cost", cost),
        ] {
            text.push_str(&format!("  {name:<10} {value}\n"));
        }
        let headings =
            ["provider", "requests", "a minute", "allowed", "at once", "429", "5xx", "dropped", "stalled"];
        let mut table = Table::new(2, headings);
        for provider in &self.providers {
            let stats = &provider.server;
            let number =
                |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.0}"));
            table.row([
                provider.name.clone(),
                count(stats.requests),
                number(provider.requests_per_minute),
                number(provider.allowed_per_minute),
                count(stats.max_in_flight),
                count(provider.refused_429),
                count(server_errors(&stats.by_status)),
                count(stats.dropped),
                count(stats.stalled),
            ]);
        }
        text.push('\n');
        text.push_str(&table.text());
        text
    }
}

fn server_errors(by_status: &BTreeMap<u16, u64>) -> u64 {
    by_status.range(500..).map(|(_, count)| count).sum()
}

/// A folder that goes when it is dropped.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> Result<Self, CliError> {
        let path = env::temp_dir().join(format!("caseload-rehearsal-{}", process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clear away.
        let _ = remove(&self.0);
    }
}

fn remove(folder: &Path) -> std::io::Result<()> {
    fs::remove_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Limits;

    #[test]
    fn compressed_buckets_hold_as_much_and_fill_faster() {
        let limits = Limits { requests_per_minute: Some(600), burst_s: 2.0, ..Limits::default() };
        let mut queue = QueueSettings { limits, ..QueueSettings::default() };
        compress(&mut queue, 60.0);
        assert_eq!(queue.limits.requests_per_minute, Some(36_000));
        assert!((queue.limits.burst_s * 36_000.0 / 60.0 - 20.0).abs() < 1e-9);
        assert_eq!((queue.retry.base_delay_ms, queue.attempt_timeout_s), (8, 10.0));
        assert!(queue.faults().is_empty(), "{:?}", queue.faults());
    }

    #[test]
    fn a_timeout_is_never_shrunk_below_a_second_nor_made_longer() {
        for (given, speed, wanted) in [(600.0, 60.0, 10.0), (10.0, 100.0, 1.0), (0.5, 10.0, 0.5)] {
            assert!((shrunk(given, speed) - wanted).abs() < 1e-9);
        }
    }
}
