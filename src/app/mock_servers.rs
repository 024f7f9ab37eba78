//! The servers of a rehearsal: each speaks for one account, with its limits and the day's weather.

use std::{collections::HashMap, thread};

use serde::Serialize;
use tokio::runtime::{self, Runtime};

use super::{
    AppError, Ready,
    compressed::{compress, shrunk},
};
use crate::{
    config::ProviderSettings,
    mock::{FaultRates, MockServer, MockSettings, MockStats},
    providers::{Facts, SimulatedTarget, simulator::Latency},
};

/// How a run is rehearsed.
#[derive(Clone, Copy, Debug)]
pub struct Conditions {
    /// How much time is compressed: a minute of the provider's takes 60/speed seconds.
    pub speed: f64,
    /// What the provider's day is like.
    pub weather: Weather,
    /// Mean latency of an answer in milliseconds, for targets that set none of their own.
    pub latency_ms: f64,
    /// How far it is spread to both sides, in milliseconds.
    pub jitter_ms: f64,
}

/// How often something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weather {
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

/// What one account's server saw.
#[derive(Debug, Serialize)]
pub struct RehearsedProvider {
    /// The account.
    pub name: String,
    /// Requests a minute of uncompressed time, from the first request to the last answer.
    pub requests_per_minute: Option<f64>,
    /// Requests a minute that the experiment allows itself.
    pub allowed_per_minute: Option<f64>,
    /// Requests that were refused for being too many.
    pub refused_429: u64,
    /// All that the server counted.
    pub server: MockStats,
}

/// The servers of a rehearsal, with threads of their own.
pub(super) struct Servers {
    runtime: Option<Runtime>,
    running: Vec<Server>,
}

/// One account's server.
struct Server {
    provider: String,
    allowed_per_minute: Option<f64>,
    server: MockServer,
}

impl Servers {
    fn new() -> Result<Self, AppError> {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| AppError::usage(error.to_string()))?;
        Ok(Self { runtime: Some(runtime), running: vec![] })
    }

    /// Waits until a server is started; also where a caller's own runtime must not be blocked.
    fn start(&self, settings: MockSettings, ready: &Ready) -> Result<MockServer, AppError> {
        let runtime = self.runtime.as_ref().expect("the runtime goes with the servers");
        let starting = MockServer::start(settings, ready.golden.cases.clone());
        let started = thread::scope(|scope| scope.spawn(|| runtime.block_on(starting)).join());
        let started = started.expect("starting a server does not panic");
        started.map_err(|error| AppError::usage(error.to_string()))
    }

    /// What they saw so far, in uncompressed time.
    pub(super) fn seen(&self, speed: f64) -> Vec<RehearsedProvider> {
        self.running.iter().map(|server| server.seen(speed)).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Server {
    fn seen(&self, speed: f64) -> RehearsedProvider {
        let stats = self.server.stats();
        #[expect(clippy::cast_precision_loss, reason = "no rehearsal has 2^52 requests")]
        let per_minute = |sending_s: f64| stats.requests as f64 * 60.0 / (sending_s * speed);
        RehearsedProvider {
            name: self.provider.clone(),
            requests_per_minute: stats.sending_s.filter(|time| *time > 0.0).map(per_minute),
            allowed_per_minute: self.allowed_per_minute,
            refused_429: stats.by_status.get(&429).copied().unwrap_or(0),
            server: stats,
        }
    }
}

/// Starts one server for every account that is reached over the network, and leads the account there.
pub(super) fn redirect(ready: &mut Ready, conditions: Conditions) -> Result<Servers, AppError> {
    let mut servers = Servers::new()?;
    for at in 0..ready.experiment.settings.providers.len() {
        let provider = &ready.experiment.settings.providers[at];
        if !provider.kind.is_remote() {
            continue;
        }
        let targets = ready.experiment.targets.iter();
        let models = targets.filter(|target| target.settings.provider == provider.name).map(|target| {
            (target.settings.model.to_string(), simulated(&target.settings.simulate, &conditions))
        });
        let settings =
            server_settings(provider, models.collect(), &conditions, ready.experiment.settings.seed);
        let problems = settings.problems();
        if !problems.is_empty() {
            return Err(AppError::usage(problems.join("\n")));
        }
        let server = servers.start(settings, ready)?;
        let provider = &mut ready.experiment.settings.providers[at];
        #[expect(clippy::cast_precision_loss, reason = "no limit has 2^52 a minute")]
        let allowed = provider.queue.limits.requests_per_minute.map(|limit| limit as f64);
        let path = provider.kind.facts().map_or("", Facts::base_path);
        provider.base_url = Some(server.url() + path);
        provider.api_key_env = None;
        provider.idle_s = shrunk(provider.idle_s, conditions.speed);
        compress(&mut provider.queue, conditions.speed);
        let provider = provider.name.to_string();
        servers.running.push(Server { provider, allowed_per_minute: allowed, server });
    }
    if servers.running.is_empty() {
        return Err(AppError::hinted(
            "no target of the experiment is reached over the network",
            "what runs offline needs no rehearsal: use `caseload run`",
        ));
    }
    Ok(servers)
}

/// What a target's model is like on the server.
fn simulated(target: &SimulatedTarget, conditions: &Conditions) -> SimulatedTarget {
    let latency = if target.latency_ms == Latency::default() {
        Latency { mean: conditions.latency_ms, p95: None, jitter: Some(conditions.jitter_ms) }
    } else {
        target.latency_ms
    };
    let scale = |milliseconds: f64| milliseconds / conditions.speed;
    let latency_ms =
        Latency { mean: scale(latency.mean), p95: latency.p95.map(scale), jitter: latency.jitter.map(scale) };
    let cache = target.cache.map(|mut cache| {
        cache.ttl_s /= conditions.speed;
        cache
    });
    SimulatedTarget { latency_ms, cache, ..target.clone() }
}

/// A server with the limits of `provider`, which still are the real ones.
fn server_settings(
    provider: &ProviderSettings,
    models: HashMap<String, SimulatedTarget>,
    conditions: &Conditions,
    seed: u64,
) -> MockSettings {
    let limits = &provider.queue.limits;
    #[expect(clippy::cast_precision_loss, reason = "no limit has 2^52 a minute")]
    let faster = |limit: Option<u64>| limit.map(|limit| limit as f64 * conditions.speed);
    MockSettings {
        seed,
        faults: conditions.weather.faults(),
        requests_per_minute: faster(limits.requests_per_minute),
        input_tokens_per_minute: faster(limits.input_tokens_per_minute),
        output_tokens_per_minute: faster(limits.output_tokens_per_minute),
        tokens_per_minute: faster(limits.tokens_per_minute),
        output_reserved: limits.output_reserved,
        cache_reads_count: limits.cache_reads_count,
        burst_s: limits.burst_s / conditions.speed,
        stall_s: Some(30.0 / conditions.speed),
        slow_s: 5.0 / conditions.speed,
        rate_limited_wait_s: 1.0 / conditions.speed,
        models,
        ..MockSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONS: Conditions =
        Conditions { speed: 60.0, weather: Weather::Rough, latency_ms: 600.0, jitter_ms: 60.0 };

    #[test]
    fn a_model_without_a_latency_of_its_own_gets_the_conditions_in_compressed_time() {
        let model = simulated(&SimulatedTarget::default(), &CONDITIONS);
        assert_eq!((model.latency_ms.mean, model.latency_ms.jitter), (10.0, Some(1.0)));
        let own = Latency { mean: 1_200.0, p95: None, jitter: None };
        let model =
            simulated(&SimulatedTarget { latency_ms: own, ..SimulatedTarget::default() }, &CONDITIONS);
        assert_eq!((model.latency_ms.mean, model.latency_ms.jitter), (20.0, None));
    }

    #[test]
    fn bad_weather_brings_more_failures() {
        let server_errors =
            [Weather::Calm, Weather::Fair, Weather::Rough].map(|day| day.faults().server_error);
        assert!(server_errors.is_sorted() && server_errors[0] < server_errors[2], "{server_errors:?}");
    }
}
