//! What the mock server is like.

use std::collections::HashMap;

use secrecy::SecretString;

use crate::{domain::Rates, providers::simulator::SimulatedTarget};

/// How the mock server answers. The default answers every key at once, without faults or limits.
#[derive(Clone, Debug)]
pub struct MockSettings {
    /// The seed of every draw.
    pub seed: u64,
    /// The key that requests must have (`x-api-key` or `Authorization: Bearer`). `None`: any or none.
    pub api_key: Option<SecretString>,
    /// How long an answer takes, beside what the model's own settings add.
    pub latency: MockLatency,
    /// How often something goes wrong.
    pub faults: FaultRates,
    /// Requests a minute; those beyond are answered 429 at once.
    pub requests_per_minute: Option<f64>,
    /// How many seconds' worth of requests may come at once under `requests_per_minute`.
    pub burst_s: f64,
    /// A 429 tells its wait in whole seconds only, without `retry-after-ms`.
    pub whole_seconds: bool,
    /// The limit headers tell what is left in the bucket, which holds only a burst, in place of what is
    /// left of the minute's limit. Real servers do either.
    pub bucket_headers: bool,
    /// What models are like that `models` does not name.
    pub model: SimulatedTarget,
    /// What each model is like, by the name that requests give. Their own errors and limits of
    /// requests a minute are not used: `faults` and `requests_per_minute` stand for the whole server.
    pub models: HashMap<String, SimulatedTarget>,
    /// The price of a token, for the cost in the statistics.
    pub price: Option<Rates>,
}

impl Default for MockSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            api_key: None,
            latency: MockLatency::default(),
            faults: FaultRates::default(),
            requests_per_minute: None,
            burst_s: 1.0,
            whole_seconds: false,
            bucket_headers: false,
            model: SimulatedTarget::default(),
            models: HashMap::new(),
            price: None,
        }
    }
}

/// A latency that is uniform in `mean_ms` ± `jitter_ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MockLatency {
    /// The mean, in milliseconds.
    pub mean_ms: f64,
    /// The largest distance from the mean, in milliseconds.
    pub jitter_ms: f64,
}

/// How often something goes wrong: probabilities whose sum is at most 1.
///
/// Each is drawn from the request's body and from how often that body has come before, so that a
/// retry may succeed and a run that is repeated on a fresh server meets the same faults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// The server fails: 500.
    pub server_error: f64,
    /// The server has no capacity: 529 in Anthropic's dialect, 503 in OpenAI's.
    pub overloaded: f64,
    /// The connection is reset, half of the time in the middle of the answer.
    pub dropped: f64,
    /// 200 with what is no valid JSON: half of the time the answer cut short, else HTML.
    pub malformed: f64,
    /// 429 although no limit is reached, with `retry-after: 1`.
    pub rate_limited: f64,
}
