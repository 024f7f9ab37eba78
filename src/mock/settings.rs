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
    /// Input tokens a minute.
    pub input_tokens_per_minute: Option<f64>,
    /// Output tokens a minute.
    pub output_tokens_per_minute: Option<f64>,
    /// Input and output tokens together, a minute.
    pub tokens_per_minute: Option<f64>,
    /// A request is debited the most output it may have when it starts, and given back what it did not
    /// use; otherwise its output is counted once it is made, and refused is who comes while more was
    /// made than allowed.
    pub output_reserved: bool,
    /// Tokens read from the cache count against the limits of tokens.
    pub cache_reads_count: bool,
    /// How many seconds' worth of each limit may come at once.
    pub burst_s: f64,
    /// A 429 tells its wait in whole seconds only, without `retry-after-ms`.
    pub whole_seconds: bool,
    /// The limit headers tell what is left in the bucket, which holds only a burst, in place of what is
    /// left of the minute's limit. Real servers do either.
    pub bucket_headers: bool,
    /// How long a stalled answer stays silent, in seconds. `None`: until the client goes away.
    pub stall_s: Option<f64>,
    /// How much longer a slow answer takes to begin, in seconds.
    pub slow_s: f64,
    /// The wait told by a 429 that no limit causes, in seconds.
    pub rate_limited_wait_s: f64,
    /// How a streamed answer comes.
    pub stream: StreamPace,
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
            input_tokens_per_minute: None,
            output_tokens_per_minute: None,
            tokens_per_minute: None,
            output_reserved: false,
            cache_reads_count: true,
            burst_s: 1.0,
            whole_seconds: false,
            bucket_headers: false,
            stall_s: None,
            slow_s: 5.0,
            rate_limited_wait_s: 1.0,
            stream: StreamPace::default(),
            model: SimulatedTarget::default(),
            models: HashMap::new(),
            price: None,
        }
    }
}

impl MockSettings {
    /// What is wrong with the settings, one sentence each; empty when nothing is.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = vec![];
        let FaultRates { server_error, overloaded, dropped, malformed, rate_limited, stalled, slow } =
            self.faults;
        let rates = [
            ("server_error", server_error),
            ("overloaded", overloaded),
            ("dropped", dropped),
            ("malformed", malformed),
            ("rate_limited", rate_limited),
            ("stalled", stalled),
            ("slow", slow),
        ];
        for (name, rate) in rates {
            if !(0.0..=1.0).contains(&rate) {
                problems.push(format!("the rate of `{name}` is {rate}, expected 0 to 1"));
            }
        }
        let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
        // A sum of decimal fractions may pass 1 by rounding alone.
        if sum > 1.0 + 1e-9 {
            problems.push(format!("the rates of all faults add up to {sum}, expected at most 1"));
        }
        let MockLatency { mean_ms, jitter_ms } = self.latency;
        if !(mean_ms.is_finite() && mean_ms >= 0.0) {
            problems.push(format!("the latency is {mean_ms} ms, expected 0 or more"));
        } else if !(0.0..=mean_ms).contains(&jitter_ms) {
            problems.push(format!("the jitter is {jitter_ms} ms, expected 0 to the latency ({mean_ms} ms)"));
        }
        let sizes = [
            ("requests_per_minute", self.requests_per_minute),
            ("input_tokens_per_minute", self.input_tokens_per_minute),
            ("output_tokens_per_minute", self.output_tokens_per_minute),
            ("tokens_per_minute", self.tokens_per_minute),
            ("burst_s", Some(self.burst_s)),
            ("stall_s", self.stall_s),
            ("slow_s", Some(self.slow_s)),
            ("rate_limited_wait_s", Some(self.rate_limited_wait_s)),
        ];
        for (name, value) in sizes.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            if !(value.is_finite() && value > 0.0) {
                problems.push(format!("`{name}` is {value}, expected a number above 0"));
            }
        }
        let StreamPace { first_token_ms, event_ms } = self.stream;
        for (name, value) in [("first_token_ms", first_token_ms), ("event_ms", Some(event_ms))] {
            if value.is_some_and(|value| !(value.is_finite() && value >= 0.0)) {
                problems.push(format!("`{name}` is {}, expected 0 or more", value.unwrap_or_default()));
            }
        }
        problems.extend(self.model.faults());
        let mut models: Vec<_> = self.models.iter().collect();
        models.sort_by_key(|(name, _)| name.as_str());
        for (name, model) in models {
            problems.extend(model.faults().iter().map(|fault| format!("model `{name}`: {fault}")));
        }
        problems
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

/// How a streamed answer comes: one event a word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamPace {
    /// From the request to the first event, in milliseconds. `None`: the answer's whole latency.
    pub first_token_ms: Option<f64>,
    /// From one event to the next, in milliseconds.
    pub event_ms: f64,
}

/// How often something goes wrong: probabilities whose sum is at most 1.
///
/// Each is drawn from the request's body and from how often that body has come before, so that a
/// retry may succeed and a run that is repeated on a fresh server meets the same faults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultRates {
    /// The server fails: 500; half of the time in the middle of a streamed answer, after a 200.
    pub server_error: f64,
    /// The server has no capacity: 529 in Anthropic's dialect, 503 in OpenAI's; half of the time in the
    /// middle of a streamed answer, after a 200.
    pub overloaded: f64,
    /// The connection is reset, half of the time in the middle of the answer.
    pub dropped: f64,
    /// 200 with what is no valid JSON: half of the time the answer cut short, else HTML.
    pub malformed: f64,
    /// 429 although no limit is reached, with `retry-after: 1`.
    pub rate_limited: f64,
    /// Nothing more comes for `stall_s`, half of the time in the middle of the answer.
    pub stalled: f64,
    /// The answer takes `slow_s` longer to begin.
    pub slow: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_are_told_in_one_go() {
        assert_eq!(MockSettings::default().problems(), Vec::<String>::new());
        let settings = MockSettings {
            latency: MockLatency { mean_ms: 100.0, jitter_ms: 200.0 },
            faults: FaultRates { server_error: 0.7, dropped: 0.7, malformed: -0.1, ..FaultRates::default() },
            requests_per_minute: Some(0.0),
            models: HashMap::from([(
                "m".to_owned(),
                SimulatedTarget { skill: f64::NAN, ..SimulatedTarget::default() },
            )]),
            ..MockSettings::default()
        };
        let faults = settings.problems();
        assert_eq!(faults.len(), 5, "{faults:?}");
        assert!(faults[4].starts_with("model `m`: `skill`"));
    }
}
