//! What a queue is told: limits, patience, and when to give up.
//!
//! Everything here is what the user wrote or the provider's dialect knows beforehand; what a
//! server's headers add is in [`learning`](super::learning).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{LimitDimension, PerDimension};

/// All settings of one queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueSettings {
    /// What the account may be asked for.
    pub limits: Limits,
    /// How a failed attempt is repeated.
    pub retry: RetryPolicy,
    /// The longest time one attempt may take, in seconds; 600 by default.
    pub attempt_timeout_s: f64,
    /// The longest time one trial may take over its attempts and its own waits, in seconds; `None`, the
    /// default, leaves that to the attempts' own limit and `retry.max_elapsed_s`.
    pub trial_timeout_s: Option<f64>,
    /// The longest pause asked for by the server that is slept, in seconds; 600 by default. A longer
    /// one stops the queue, which a later resume continues.
    pub max_wait_s: f64,
    /// How many failures in a row, of at least three trials and without one success, open the breaker;
    /// 50 by default, 0 for never.
    pub breaker_failures: u32,
    /// How long those failures must have lasted, in seconds, unless as many trials were lost; 30 by
    /// default. A shorter outage is what retries are for.
    pub breaker_after_s: f64,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            retry: RetryPolicy::default(),
            attempt_timeout_s: 600.0,
            trial_timeout_s: None,
            max_wait_s: 600.0,
            breaker_failures: 50,
            breaker_after_s: 30.0,
        }
    }
}

impl QueueSettings {
    /// Everything that is wrong with the settings, one sentence each; empty when they can be used.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = self.limits.faults();
        faults.extend(self.retry.faults());
        faults.extend(positive("timeouts.attempt_s", self.attempt_timeout_s));
        faults.extend(self.trial_timeout_s.and_then(|limit| positive("timeouts.trial_s", limit)));
        faults.extend(not_negative("max_wait_s", self.max_wait_s));
        faults.extend(not_negative("breaker_after_s", self.breaker_after_s));
        faults
    }

    pub(super) fn attempt_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.attempt_timeout_s)
    }

    pub(super) fn trial_timeout(&self) -> Option<Duration> {
        self.trial_timeout_s.map(Duration::from_secs_f64)
    }

    pub(super) fn max_wait(&self) -> Duration {
        Duration::from_secs_f64(self.max_wait_s)
    }
}

/// What an account may be asked for. A limit that is `None` is unknown: the server's headers, if
/// they tell it, are used in its place.
///
/// Flat, since that is how it is written and stored; who counts by dimension asks for
/// [`per_minute`](Self::per_minute).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests a minute.
    pub requests_per_minute: Option<u64>,
    /// Input tokens a minute.
    pub input_tokens_per_minute: Option<u64>,
    /// Output tokens a minute.
    pub output_tokens_per_minute: Option<u64>,
    /// Input and output tokens together, a minute.
    pub tokens_per_minute: Option<u64>,
    /// The most requests on the wire at once; 64 by default.
    pub max_in_flight: u32,
    /// How many seconds' worth of each limit may be used at once; 1 by default.
    pub burst_s: f64,
    /// Whether the provider reserves `max_tokens` when a request starts and gives back what was not
    /// used. Where it does not, the mean of the outputs seen so far is asked for.
    pub output_reserved: bool,
    /// Whether tokens read from the cache count against the input limit.
    pub cache_reads_count: bool,
    /// Whether processes of this machine that use the same account share its limits; they do by
    /// default.
    pub shared: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            input_tokens_per_minute: None,
            output_tokens_per_minute: None,
            tokens_per_minute: None,
            max_in_flight: 64,
            burst_s: 1.0,
            output_reserved: false,
            cache_reads_count: true,
            shared: true,
        }
    }
}

impl Limits {
    /// The limits of each dimension; the combined one stands beside them.
    pub fn per_minute(&self) -> PerDimension<Option<u64>> {
        PerDimension {
            requests: self.requests_per_minute,
            input: self.input_tokens_per_minute,
            output: self.output_tokens_per_minute,
        }
    }

    /// Whether one trial fits into a minute's limits at all; it could never be sent otherwise.
    ///
    /// `output_tokens` is the trial's `max_tokens`; it counts only where the provider reserves it.
    ///
    /// # Errors
    /// [`TooLarge`] names the first limit that the trial exceeds.
    pub fn check_fits(&self, input_tokens: u64, output_tokens: u64) -> Result<(), TooLarge> {
        let output_tokens = if self.output_reserved { output_tokens } else { 0 };
        [
            (LimitDimension::InputTokens, input_tokens, self.input_tokens_per_minute),
            (LimitDimension::OutputTokens, output_tokens, self.output_tokens_per_minute),
            (LimitDimension::Tokens, input_tokens.saturating_add(output_tokens), self.tokens_per_minute),
        ]
        .into_iter()
        .find_map(|(dimension, asked, limit)| {
            let limit = limit.filter(|limit| asked > *limit)?;
            Some(TooLarge { dimension, asked, limit })
        })
        .map_or(Ok(()), Err)
    }

    fn faults(&self) -> Vec<String> {
        let zero = |name: &str| format!("`limits.{name}` is 0: nothing could ever be sent");
        let rates = [
            ("requests_per_minute", self.requests_per_minute),
            ("input_tokens_per_minute", self.input_tokens_per_minute),
            ("output_tokens_per_minute", self.output_tokens_per_minute),
            ("tokens_per_minute", self.tokens_per_minute),
        ];
        let mut faults: Vec<String> =
            rates.into_iter().filter(|(_, limit)| *limit == Some(0)).map(|(name, _)| zero(name)).collect();
        if self.max_in_flight == 0 {
            faults.push(zero("max_in_flight"));
        }
        faults.extend(positive("limits.burst_s", self.burst_s));
        if self.burst_s > 60.0 {
            faults.push(format!(
                "`limits.burst_s` is {}: a bucket holds a minute's worth (60) at most",
                self.burst_s
            ));
        }
        faults
    }
}

/// A trial is larger than a whole minute's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a trial of {asked} {} is larger than the limit of {limit} a minute", noun(*dimension))]
pub struct TooLarge {
    /// Which limit.
    pub dimension: LimitDimension,
    /// What the trial asks for.
    pub asked: u64,
    /// What a minute allows.
    pub limit: u64,
}

fn noun(dimension: LimitDimension) -> &'static str {
    match dimension {
        LimitDimension::Requests => "requests",
        LimitDimension::InputTokens => "input tokens",
        LimitDimension::OutputTokens => "output tokens",
        LimitDimension::Tokens => "tokens",
    }
}

/// How often, and how patiently, a failed attempt is repeated.
///
/// The first attempt is not a retry: `max_retries = 4` means at most five requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryPolicy {
    /// Retries after the first attempt; 8 by default.
    pub max_retries: u32,
    /// Longest wait before the first retry, in milliseconds; 500 by default. Doubles with each retry.
    pub base_delay_ms: u64,
    /// Longest wait, in milliseconds, before jitter; 60,000 by default. A server may ask for more.
    pub max_delay_ms: u64,
    /// How long a trial may take over its attempts and its own waits, in seconds; 1,800 by default.
    /// Pauses of the queue and the wait for a place are not counted.
    pub max_elapsed_s: u64,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_retries: 8, base_delay_ms: 500, max_delay_ms: 60_000, max_elapsed_s: 1_800 }
    }
}

impl RetryPolicy {
    fn faults(&self) -> Option<String> {
        let Self { base_delay_ms, max_delay_ms, .. } = *self;
        (max_delay_ms < base_delay_ms).then(|| {
            format!(
                "`retry.max_delay_ms` is {max_delay_ms}, less than `retry.base_delay_ms` ({base_delay_ms})"
            )
        })
    }
}

/// A year: whatever is longer was not meant, and durations stay far from overflow.
const LONGEST_S: f64 = 365.0 * 24.0 * 3600.0;

fn positive(name: &str, value: f64) -> Option<String> {
    let fine = value > 0.0 && value <= LONGEST_S;
    (!fine).then(|| format!("`{name}` is {value}: it must be greater than 0 and at most a year"))
}

fn not_negative(name: &str, value: f64) -> Option<String> {
    let fine = (0.0..=LONGEST_S).contains(&value);
    (!fine).then(|| format!("`{name}` is {value}: it must be at least 0 and at most a year"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_in_order() {
        assert_eq!(QueueSettings::default().faults(), Vec::<String>::new());
    }

    #[test]
    fn all_faults_are_told_in_one_go() {
        let settings = QueueSettings {
            limits: Limits {
                requests_per_minute: Some(0),
                max_in_flight: 0,
                burst_s: f64::NAN,
                ..Limits::default()
            },
            retry: RetryPolicy { base_delay_ms: 10, max_delay_ms: 5, ..RetryPolicy::default() },
            attempt_timeout_s: -1.0,
            max_wait_s: f64::INFINITY,
            ..QueueSettings::default()
        };
        assert_eq!(
            settings.faults(),
            [
                "`limits.requests_per_minute` is 0: nothing could ever be sent",
                "`limits.max_in_flight` is 0: nothing could ever be sent",
                "`limits.burst_s` is NaN: it must be greater than 0 and at most a year",
                "`retry.max_delay_ms` is 5, less than `retry.base_delay_ms` (10)",
                "`timeouts.attempt_s` is -1: it must be greater than 0 and at most a year",
                "`max_wait_s` is inf: it must be at least 0 and at most a year",
            ]
        );
    }

    #[test]
    fn a_trial_larger_than_a_minutes_limit_is_refused_with_its_size() {
        let limits = Limits { input_tokens_per_minute: Some(10_000), ..Limits::default() };
        assert_eq!(limits.check_fits(10_000, 0), Ok(()));
        let error = limits.check_fits(12_000, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a trial of 12000 input tokens is larger than the limit of 10000 a minute"
        );
    }

    #[test]
    fn max_tokens_must_fit_only_where_it_is_reserved() {
        let limits = Limits { output_tokens_per_minute: Some(1_000), ..Limits::default() };
        assert_eq!(limits.check_fits(0, 4_096), Ok(()));
        let limits = Limits { output_reserved: true, ..limits };
        assert_eq!(limits.check_fits(0, 4_096).unwrap_err().dimension, LimitDimension::OutputTokens);
        let limits = Limits { output_tokens_per_minute: None, tokens_per_minute: Some(5_000), ..limits };
        assert_eq!(limits.check_fits(905, 4_096).unwrap_err().asked, 5_001);
    }

    #[test]
    fn unknown_settings_are_an_error() {
        let error = toml::from_str::<QueueSettings>("[limits]\nrpm = 60").unwrap_err();
        assert!(error.message().contains("unknown field `rpm`"), "{error}");
        let settings: QueueSettings = toml::from_str("attempt_timeout_s = 5").unwrap();
        assert_eq!(settings.attempt_timeout(), Duration::from_secs(5));
    }
}
