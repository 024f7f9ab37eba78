//! What a simulated model is like.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Prompt, TargetName, Usage};

/// A latency's 95th percentile can be at most this many times its mean: beyond it, no log-normal
/// distribution has both (exp(z²/2) with z = 1.645).
pub(super) const MAX_P95_OVER_MEAN: f64 = 3.86;

/// All simulated models of one provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatorSettings {
    /// The seed of every draw: the same seed gives the same answers.
    pub seed: u64,
    /// What each target is like; a target that is not named is [`SimulatedTarget::default`].
    pub targets: HashMap<TargetName, SimulatedTarget>,
}

/// One simulated model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SimulatedTarget {
    /// The mean over all possible cases of the probability of a right answer, 0 to 1. Default 0.8.
    pub skill: f64,
    /// How much cases differ in difficulty, 0 to 1: the share of a single answer's variance that
    /// lies between cases. At 0 every case is passed with probability `skill`, at 1 each case is
    /// always or never passed. Default 0.5.
    pub difficulty_spread: f64,
    /// How alike the cases of one cluster are, 0 to 1: the share of their difficulty (on a normal
    /// scale) that they have in common. Default 0.3.
    pub cluster_correlation: f64,
    /// How alike the targets of one simulator are, 0 to 1: the share of a case's difficulty (on a
    /// normal scale) that it has for all of them. Default 0.7.
    pub shared_difficulty: f64,
    /// How long an answer takes. Default: no time at all.
    pub latency_ms: Latency,
    /// How many tokens a request takes. Default: by the length of the texts.
    pub tokens: Tokens,
    /// Whether prompt prefixes are cached. Default: they are not.
    pub cache: Option<CacheSettings>,
    /// How often a model declines by policy, 0 to 1, drawn anew for each repeat. Default 0.
    pub refusal_rate: f64,
    /// How often an answer stops half-way at the output limit, 0 to 1. Default 0.
    pub truncation_rate: f64,
    /// How often a content filter withholds the answer, 0 to 1. Default 0.
    pub filter_rate: f64,
    /// How often an attempt fails, by kind. Default: never.
    pub errors: ErrorRates,
    /// Requests a minute that are answered; those beyond are refused as a rate limit would. Default:
    /// as many as come.
    pub requests_per_minute: Option<f64>,
    /// How many seconds' worth of requests may come at once under `requests_per_minute`. Default 1.
    pub burst_s: f64,
    /// The model's name as it is returned. Default: the name asked for.
    pub model: Option<String>,
}

impl Default for SimulatedTarget {
    fn default() -> Self {
        Self {
            skill: 0.8,
            difficulty_spread: 0.5,
            cluster_correlation: 0.3,
            shared_difficulty: 0.7,
            latency_ms: Latency::default(),
            tokens: Tokens::default(),
            cache: None,
            refusal_rate: 0.0,
            truncation_rate: 0.0,
            filter_rate: 0.0,
            errors: ErrorRates::default(),
            requests_per_minute: None,
            burst_s: 1.0,
            model: None,
        }
    }
}

/// How long an answer takes, in milliseconds: always `mean`; with `p95`, log-normal with that mean
/// and that 95th percentile; with `jitter`, uniform in `mean` ± `jitter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    /// The mean.
    pub mean: f64,
    /// The 95th percentile, from `mean` to 3.86 times `mean`.
    pub p95: Option<f64>,
    /// The largest distance from the mean, at most `mean`.
    pub jitter: Option<f64>,
}

impl Latency {
    /// The latency at the standard normal quantile `z`, of probability `p`.
    pub fn at(&self, z: f64, p: f64) -> f64 {
        match (self.p95, self.jitter) {
            // From ln mean = μ + σ²/2 and ln p95 = μ + 1.645 σ.
            (Some(p95), _) if self.mean > 0.0 => {
                let z95 = 1.644_853_626_951_472_2_f64;
                let ratio = (p95 / self.mean).ln().max(0.0);
                let sigma = z95 - (z95 * z95 - 2.0 * ratio).max(0.0).sqrt();
                self.mean * (sigma * z - sigma * sigma / 2.0).exp()
            }
            (_, Some(jitter)) => (self.mean + jitter * (2.0 * p - 1.0)).max(0.0),
            _ => self.mean,
        }
    }
}

/// How many tokens a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Characters a token, for all that is counted by length. Default 4.
    pub chars_per_token: f64,
    /// Input tokens of every request. Default: counted from the prompt's length.
    pub input: Option<u64>,
    /// Mean of the output tokens, drawn from a normal distribution (at least 1, at most the
    /// request's `max_tokens`). Default: counted from the answer's length.
    pub output_mean: Option<f64>,
    /// Standard deviation around `output_mean`. Default 0.
    pub output_sd: f64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { chars_per_token: 4.0, input: None, output_mean: None, output_sd: 0.0 }
    }
}

impl Tokens {
    /// The input tokens of a request with this prompt.
    pub(super) fn of_prompt(&self, prompt: &Prompt) -> u64 {
        self.input.unwrap_or_else(|| {
            let system = prompt.system.as_deref().unwrap_or_default();
            let texts = prompt.messages.iter().map(|message| message.content.text());
            self.of_chars(texts.chain([system]).map(|text| text.chars().count()).sum())
        })
    }

    /// The tokens of a text of `chars` characters; at least one where there is text.
    pub(crate) fn of_chars(&self, chars: usize) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "no text has 2^52 characters")]
        let tokens = (chars as f64 / self.chars_per_token).ceil();
        whole(tokens)
    }
}

/// A count from a float: what is negative or not a number is 0.
pub(super) fn whole(count: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is meant"
    )]
    let count = count.round() as u64;
    count
}

/// Caching of prompt prefixes: written once, then read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSettings {
    /// The shortest prefix that is cached, in tokens. Default 1024.
    pub min_tokens: u64,
    /// How long after its last use a prefix can be read, in seconds. Default 300.
    pub ttl_s: f64,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self { min_tokens: 1024, ttl_s: 300.0 }
    }
}

/// How often an attempt fails, by kind: probabilities whose sum is at most 1.
///
/// All but `bad_request` are drawn anew for each attempt, so that asking again may help.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErrorRates {
    /// The provider fails (500).
    pub server: f64,
    /// The provider has no capacity just now (529).
    pub overloaded: f64,
    /// The connection breaks.
    pub dropped: f64,
    /// No answer comes in time. It fails after the latency drawn, not after the client's own limit.
    pub timeout: f64,
    /// A rate limit is met (429), with `retry-after: 1`.
    pub rate_limit: f64,
    /// The answer is not what the protocol promises.
    pub malformed: f64,
    /// The request is rejected (400), and so is every other attempt of its trial.
    pub bad_request: f64,
}

impl ErrorRates {
    fn named(&self) -> [(&'static str, f64); 7] {
        [
            ("errors.server", self.server),
            ("errors.overloaded", self.overloaded),
            ("errors.dropped", self.dropped),
            ("errors.timeout", self.timeout),
            ("errors.rate_limit", self.rate_limit),
            ("errors.malformed", self.malformed),
            ("errors.bad_request", self.bad_request),
        ]
    }
}

impl SimulatedTarget {
    /// What is wrong with the settings, one sentence each; empty when nothing is.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = vec![];
        let shares = [
            ("skill", self.skill),
            ("difficulty_spread", self.difficulty_spread),
            ("cluster_correlation", self.cluster_correlation),
            ("shared_difficulty", self.shared_difficulty),
            ("refusal_rate", self.refusal_rate),
            ("truncation_rate", self.truncation_rate),
            ("filter_rate", self.filter_rate),
        ];
        for (name, value) in shares.into_iter().chain(self.errors.named()) {
            if !(0.0..=1.0).contains(&value) {
                faults.push(format!("`{name}` is {value}, expected 0 to 1"));
            }
        }
        let sums = [
            (
                "`refusal_rate`, `truncation_rate` and `filter_rate`",
                self.refusal_rate + self.truncation_rate + self.filter_rate,
            ),
            ("the rates of `errors`", self.errors.named().iter().map(|(_, rate)| rate).sum()),
        ];
        // A sum of decimal fractions may pass 1 by rounding alone.
        faults.extend(
            sums.iter()
                .filter(|(_, sum)| *sum > 1.0 + 1e-9)
                .map(|(names, sum)| format!("{names} add up to {sum}, expected at most 1")),
        );
        faults.extend(self.latency_fault());
        let sizes = [
            ("tokens.chars_per_token", Some(self.tokens.chars_per_token)),
            ("tokens.output_mean", self.tokens.output_mean),
            ("requests_per_minute", self.requests_per_minute),
            ("burst_s", Some(self.burst_s)),
            ("cache.ttl_s", self.cache.map(|cache| cache.ttl_s)),
        ];
        for (name, value) in sizes.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            if !(value.is_finite() && value > 0.0) {
                faults.push(format!("`{name}` is {value}, expected a number above 0"));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a power of two")]
        let most = Usage::MAX_COUNT as f64;
        #[expect(clippy::cast_precision_loss, reason = "compared with a bound")]
        let input = self.tokens.input.map(|input| input as f64);
        let counts = [
            ("tokens.input", input),
            ("tokens.output_mean", self.tokens.output_mean),
            ("tokens.output_sd", Some(self.tokens.output_sd)),
        ];
        for (name, value) in counts.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            if value.is_finite() && value > most {
                faults.push(format!("`{name}` is {value}, expected at most {most}"));
            }
        }
        if !(self.tokens.output_sd.is_finite() && self.tokens.output_sd >= 0.0) {
            faults.push(format!("`tokens.output_sd` is {}, expected 0 or more", self.tokens.output_sd));
        }
        faults
    }

    fn latency_fault(&self) -> Option<String> {
        let Latency { mean, p95, jitter } = self.latency_ms;
        if !(mean.is_finite() && mean >= 0.0) {
            return Some(format!("`latency_ms.mean` is {mean}, expected 0 or more"));
        }
        match (p95, jitter) {
            (Some(_), Some(_)) => {
                Some("`latency_ms` has both `p95` and `jitter`, expected one of them".to_owned())
            }
            (Some(p95), None) if !(p95 >= mean && p95 <= mean * MAX_P95_OVER_MEAN) => Some(format!(
                "`latency_ms.p95` is {p95}, expected `mean` to {MAX_P95_OVER_MEAN} times `mean` ({mean} to {})",
                mean * MAX_P95_OVER_MEAN
            )),
            (None, Some(jitter)) if !(0.0..=mean).contains(&jitter) => {
                Some(format!("`latency_ms.jitter` is {jitter}, expected 0 to `mean` ({mean})"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_the_default() {
        let read: SimulatedTarget = toml::from_str("").unwrap();
        assert_eq!(read, SimulatedTarget::default());
        assert_eq!(read.faults(), Vec::<String>::new());
    }

    #[test]
    fn a_table_reads_as_it_is_documented() {
        let read: SimulatedTarget = toml::from_str(
            "skill = 0.6\nlatency_ms = { mean = 200, p95 = 500 }\ntokens = { output_mean = 90, output_sd = 20 }\n\
             cache = { min_tokens = 512 }\nerrors = { server = 0.05, rate_limit = 0.01 }\n",
        )
        .unwrap();
        assert_eq!(read.latency_ms, Latency { mean: 200.0, p95: Some(500.0), jitter: None });
        assert_eq!(read.cache.unwrap(), CacheSettings { min_tokens: 512, ttl_s: 300.0 });
        assert_eq!(read.errors.server, 0.05);
        assert!(read.faults().is_empty());
        assert!(toml::from_str::<SimulatedTarget>("skil = 0.6").is_err());
    }

    #[test]
    fn all_faults_are_told_in_one_go() {
        let read: SimulatedTarget = toml::from_str(
            "skill = 1.5\nlatency_ms = { mean = 100, p95 = 900 }\nrefusal_rate = 0.6\nfilter_rate = 0.5\nburst_s = 0\n",
        )
        .unwrap();
        assert_eq!(read.faults().len(), 4, "{:?}", read.faults());
    }

    #[test]
    fn token_counts_that_no_answer_has_are_told() {
        for tokens in [
            Tokens { input: Some(u64::MAX), ..Tokens::default() },
            Tokens { output_mean: Some(1e300), ..Tokens::default() },
            Tokens { output_mean: Some(1.0), output_sd: 1e300, ..Tokens::default() },
        ] {
            let faults = SimulatedTarget { tokens, ..SimulatedTarget::default() }.faults();
            assert!(
                matches!(faults.as_slice(), [one] if one.ends_with("expected at most 1099511627776")),
                "{faults:?}"
            );
        }
    }

    #[test]
    fn a_latency_has_its_mean_and_its_95th_percentile() {
        let latency = Latency { mean: 200.0, p95: Some(500.0), jitter: None };
        assert!((latency.at(1.644_853_626_951_472_2, 0.95) - 500.0).abs() < 1e-6);
        let uniform = Latency { mean: 200.0, p95: None, jitter: Some(100.0) };
        assert_eq!(uniform.at(0.0, 0.0), 100.0);
        assert_eq!(uniform.at(0.0, 1.0), 300.0);
        assert_eq!(Latency::default().at(2.0, 0.97), 0.0);
    }
}
