//! One simulated model: what it would answer, how fast, and where it fails, as pure functions of the
//! seed, the target, the case and the repeat.

use std::time::Duration;

use rand::RngExt;

use super::{
    answers, draws,
    settings::{SimulatedTarget, whole},
};
use crate::{
    domain::{Bounds, Case, ErrorClass, Failure, FailureKind, Outcome, Question, Repeat, TargetName},
    providers::provider::said_output,
};

/// What a model says when it declines by policy.
const REFUSAL: &str = "I can't help with that.";

/// No draw lies more standard deviations above its mean: the quantile of 1 − 2⁻⁵³ is 8.2.
const FARTHEST_DRAW: f64 = 9.0;

/// One simulated model.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedModel<'a> {
    /// The seed of every draw.
    pub seed: u64,
    /// The target's name: it is part of every draw but a case's shared difficulty.
    pub name: &'a TargetName,
    /// What it is like.
    pub settings: &'a SimulatedTarget,
}

/// What a simulated model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedAnswer {
    /// How the answer ends: answered, truncated, refused or filtered.
    pub outcome: Outcome,
    /// Its text; empty when it is filtered.
    pub text: String,
    /// Its output tokens.
    pub output_tokens: u64,
}

impl SimulatedTarget {
    /// The most that an answer to `question` counts as.
    pub fn bounds(&self, question: &Question) -> Bounds {
        let said_output = said_output(question);
        let longest = || match self.tokens.output_mean {
            Some(mean) => whole(mean + FARTHEST_DRAW * self.tokens.output_sd).max(1),
            None => self.tokens.of_chars(answers::longest(&question.asked.case)),
        };
        // No limit cuts a refusal.
        let output = said_output.unwrap_or_else(longest).max(self.tokens.of_chars(REFUSAL.len()));
        Bounds { input: Some(self.tokens.of_prompt(&question.prompt)), output: Some(output), said_output }
    }
}

impl SimulatedModel<'_> {
    /// The probability that an ordinary answer to `case` is right: exactly the one with which
    /// [`answer`](Self::answer) draws. Answers that are refused, truncated or filtered are drawn
    /// beforehand and are no part of it.
    ///
    /// The case's ease is a standard normal z = √r · C + √(1 − r) · I, with r the cluster correlation,
    /// C drawn by cluster and I by case; each of them is √s · (the same for all targets) + √(1 − s)
    /// · (the target's own), with s the shared difficulty. Φ(z) is then the case's rank in the beta
    /// distribution that `skill` and `difficulty_spread` describe (a Gaussian copula).
    pub fn pass_probability(&self, case: &Case) -> f64 {
        let settings = self.settings;
        let part = |level: &[u8], id: &str| {
            let id = id.as_bytes();
            mix(
                settings.shared_difficulty,
                || draws::normal(self.seed, &[level, id]),
                || draws::normal(self.seed, &[level, id, self.name.as_str().as_bytes()]),
            )
        };
        let ease = mix(
            settings.cluster_correlation,
            || part(b"cluster", case.cluster_or_id()),
            || part(b"case", case.id.as_str()),
        );
        draws::pass_probability(settings.skill, settings.difficulty_spread, ease)
    }

    /// The answer to `case` in repeat `repeat`, cut off where it is longer than `max_tokens`.
    pub fn answer(&self, case: &Case, repeat: Repeat, max_tokens: Option<u32>) -> SimulatedAnswer {
        self.answer_at(self.pass_probability(case), case, repeat, max_tokens)
    }

    /// The same, given the case's [`pass_probability`](Self::pass_probability): it costs more than the
    /// rest, and is the same for every repeat.
    pub fn answer_at(
        &self,
        pass_probability: f64,
        case: &Case,
        repeat: Repeat,
        max_tokens: Option<u32>,
    ) -> SimulatedAnswer {
        let settings = self.settings;
        let mut draw = self.generator(b"answer", case, repeat, 0);
        let (fate, luck, size) = (draw.random::<f64>(), draw.random::<f64>(), draw.random::<f64>());

        let refused = settings.refusal_rate;
        let filtered = refused + settings.filter_rate;
        if fate < refused {
            let output_tokens = settings.tokens.of_chars(REFUSAL.len());
            return SimulatedAnswer { outcome: Outcome::Refused, text: REFUSAL.to_owned(), output_tokens };
        }
        if fate < filtered {
            return SimulatedAnswer { outcome: Outcome::Filtered, text: String::new(), output_tokens: 0 };
        }
        let mut text = if luck < pass_probability {
            answers::right(case, &mut draw)
        } else {
            answers::wrong(case, &mut draw)
        };
        let chars = text.chars().count();
        let limit = max_tokens.map_or(u64::MAX, u64::from);
        let by_length = settings.tokens.of_chars(chars);
        // Tokens that are drawn say nothing of the text's length, so they never cut it.
        let too_long = settings.tokens.output_mean.is_none() && by_length > limit;
        let output_tokens = match settings.tokens.output_mean {
            Some(mean) => whole(mean + settings.tokens.output_sd * draws::quantile(size)).max(1).min(limit),
            None => by_length.min(limit),
        };
        if !too_long && fate >= filtered + settings.truncation_rate {
            return SimulatedAnswer { outcome: Outcome::Answered, text, output_tokens };
        }
        #[expect(clippy::cast_precision_loss, reason = "no text has 2^52 characters")]
        let kept = if too_long {
            usize::try_from(whole((limit as f64 * settings.tokens.chars_per_token).floor())).unwrap_or(chars)
        } else {
            chars / 2
        };
        if let Some((end, _)) = text.char_indices().nth(kept) {
            text.truncate(end);
        }
        // The whole room for output was used, whatever is left of the text.
        let output_tokens = max_tokens.map_or(output_tokens, u64::from);
        SimulatedAnswer { outcome: Outcome::Truncated, text, output_tokens }
    }

    /// How long an attempt takes; `attempt` counts the trial's failures before it.
    pub fn latency(&self, case: &Case, repeat: Repeat, attempt: u32) -> Duration {
        let settings = &self.settings.latency_ms;
        if settings.mean <= 0.0 {
            return Duration::ZERO;
        }
        let probability: f64 = self.generator(b"latency", case, repeat, attempt).random();
        let milliseconds = settings.at(draws::quantile(probability), probability);
        Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or(Duration::MAX)
    }

    /// Whether an attempt fails, and how; `attempt` counts the trial's failures before it.
    pub fn failure(&self, case: &Case, repeat: Repeat, attempt: u32) -> Option<Failure> {
        let rates = &self.settings.errors;
        let for_good: f64 = self.generator(b"rejected", case, repeat, 0).random();
        if for_good < rates.bad_request {
            return Some(failed(ErrorClass::ThisTrial, FailureKind::BadRequest, Some(400)));
        }
        let mut fate: f64 = self.generator(b"failure", case, repeat, attempt).random();
        for (rate, class, kind, status) in [
            (rates.server, ErrorClass::Retry, FailureKind::Server, Some(500)),
            (rates.overloaded, ErrorClass::Retry, FailureKind::Overloaded, Some(529)),
            (rates.dropped, ErrorClass::Retry, FailureKind::Dropped, None),
            (rates.timeout, ErrorClass::Retry, FailureKind::Timeout, None),
            (rates.rate_limit, ErrorClass::RetrySlow, FailureKind::RateLimit, Some(429)),
            (rates.malformed, ErrorClass::Retry, FailureKind::Malformed, Some(200)),
        ] {
            if fate < rate {
                return Some(failed(class, kind, status));
            }
            fate -= rate;
        }
        None
    }

    fn generator(&self, label: &[u8], case: &Case, repeat: Repeat, attempt: u32) -> rand_pcg::Pcg64 {
        draws::generator(
            self.seed,
            &[
                label,
                self.name.as_str().as_bytes(),
                case.id.as_str().as_bytes(),
                &repeat.0.to_le_bytes(),
                &attempt.to_le_bytes(),
            ],
        )
    }
}

/// √`share` · `common` + √(1 − `share`) · `own`: two standard normals that are drawn alike in
/// `common` have the correlation `share`. What does not count is not drawn.
fn mix(share: f64, common: impl FnOnce() -> f64, own: impl FnOnce() -> f64) -> f64 {
    if share <= 0.0 {
        own()
    } else if share >= 1.0 {
        common()
    } else {
        share.sqrt() * common() + (1.0 - share).sqrt() * own()
    }
}

fn failed(class: ErrorClass, kind: FailureKind, status: Option<u16>) -> Failure {
    Failure {
        status,
        retry_after: (kind == FailureKind::RateLimit).then_some(Duration::from_secs(1)),
        may_be_billed: matches!(kind, FailureKind::Dropped | FailureKind::Timeout | FailureKind::Malformed),
        ..Failure::new(class, kind, format!("simulated {}", kind.as_str().replace('_', " ")))
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            settings::{ErrorRates, Latency, Tokens},
            test_cases::{case, clustered},
        },
        *,
    };

    fn probabilities(name: &str, settings: &SimulatedTarget, cases: &[Case]) -> Vec<f64> {
        let name = TargetName::from(name);
        let model = SimulatedModel { seed: 7, name: &name, settings };
        cases.iter().map(|case| model.pass_probability(case)).collect()
    }

    fn correlation(left: &[f64], right: &[f64]) -> f64 {
        let n = left.len() as f64;
        let (a, b) = (left.iter().sum::<f64>() / n, right.iter().sum::<f64>() / n);
        let sum =
            |f: &dyn Fn(f64, f64) -> f64| left.iter().zip(right).map(|(x, y)| f(x - a, y - b)).sum::<f64>();
        sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
    }

    #[test]
    fn the_mean_over_many_cases_is_the_skill() {
        let settings = SimulatedTarget { skill: 0.7, cluster_correlation: 0.0, ..SimulatedTarget::default() };
        let cases: Vec<Case> = (0..2_000).map(|i| case(&format!("c{i}"))).collect();
        let values = probabilities("a", &settings, &cases);
        let mean = values.iter().sum::<f64>() / 2_000.0;
        // The standard deviation is √(0.5 · 0.7 · 0.3) = 0.32, the mean's error 0.0072.
        assert!((mean - 0.7).abs() < 0.022, "{mean}");

        let name = TargetName::from("a");
        let model = SimulatedModel { seed: 7, name: &name, settings: &settings };
        let right = cases
            .iter()
            .filter(|case| case.examples.pass.contains(&model.answer(case, Repeat::FIRST, None).text))
            .count();
        assert!((right as f64 / 2_000.0 - mean).abs() < 0.022, "{right} right, {mean} expected");
    }

    #[test]
    fn repeats_of_a_case_are_right_as_often_as_its_probability_says() {
        let name = TargetName::from("a");
        let settings = SimulatedTarget { skill: 0.6, difficulty_spread: 0.2, ..SimulatedTarget::default() };
        let model = SimulatedModel { seed: 3, name: &name, settings: &settings };
        let case = case("one");
        let p = model.pass_probability(&case);
        assert!(p > 0.05 && p < 0.95, "{p}");
        let right = (1..=4_000)
            .filter(|&repeat| case.examples.pass.contains(&model.answer(&case, Repeat(repeat), None).text))
            .count();
        assert!((right as f64 / 4_000.0 - p).abs() < 0.032, "{right} of 4000, p = {p}");
    }

    #[test]
    fn cases_of_a_cluster_are_alike() {
        let cases: Vec<Case> = (0..1_500)
            .flat_map(|i| ["x", "y"].map(|half| clustered(&format!("{half}{i}"), &format!("k{i}"))))
            .collect();
        for (set, low, high) in [(0.0, -0.1, 0.1), (0.6, 0.5, 0.7), (1.0, 0.999, 1.001)] {
            let settings = SimulatedTarget {
                cluster_correlation: set,
                difficulty_spread: 0.1,
                skill: 0.5,
                ..SimulatedTarget::default()
            };
            let values = probabilities("a", &settings, &cases);
            let (left, right): (Vec<f64>, Vec<f64>) = values.chunks(2).map(|pair| (pair[0], pair[1])).unzip();
            let found = correlation(&left, &right);
            assert!((low..high).contains(&found), "{found} of {set}");
        }
    }

    #[test]
    fn targets_find_the_same_cases_hard() {
        let cases: Vec<Case> = (0..1_500).map(|i| case(&format!("c{i}"))).collect();
        for (set, low, high) in [(0.0, -0.1, 0.1), (0.7, 0.6, 0.8), (1.0, 0.999, 1.001)] {
            let settings = SimulatedTarget {
                shared_difficulty: set,
                difficulty_spread: 0.1,
                skill: 0.5,
                ..SimulatedTarget::default()
            };
            let found =
                correlation(&probabilities("a", &settings, &cases), &probabilities("b", &settings, &cases));
            assert!((low..high).contains(&found), "{found} of {set}");
        }
    }

    #[test]
    fn outcomes_come_at_their_rates() {
        let name = TargetName::from("a");
        let settings = SimulatedTarget {
            refusal_rate: 0.2,
            filter_rate: 0.1,
            truncation_rate: 0.3,
            ..SimulatedTarget::default()
        };
        let model = SimulatedModel { seed: 3, name: &name, settings: &settings };
        let case = case("one");
        let answers: Vec<SimulatedAnswer> =
            (1..=4_000).map(|k| model.answer(&case, Repeat(k), Some(500))).collect();
        let share =
            |outcome| answers.iter().filter(|answer| answer.outcome == outcome).count() as f64 / 4_000.0;
        for (outcome, rate) in [(Outcome::Refused, 0.2), (Outcome::Filtered, 0.1), (Outcome::Truncated, 0.3)]
        {
            assert!((share(outcome) - rate).abs() < 0.03, "{outcome:?}: {}", share(outcome));
        }
        let cut = answers.iter().find(|answer| answer.outcome == Outcome::Truncated).unwrap();
        assert_eq!(cut.output_tokens, 500);
    }

    #[test]
    fn an_answer_that_is_too_long_is_truncated() {
        let name = TargetName::from("a");
        let settings = SimulatedTarget { skill: 1.0, ..SimulatedTarget::default() };
        let model = SimulatedModel { seed: 3, name: &name, settings: &settings };
        let mut case = case("one");
        case.examples.pass = vec!["0123456789".to_owned()];
        let cut = model.answer(&case, Repeat::FIRST, Some(2));
        assert_eq!((cut.outcome, cut.text.as_str(), cut.output_tokens), (Outcome::Truncated, "01234567", 2));
        assert_eq!(model.answer(&case, Repeat::FIRST, Some(3)).outcome, Outcome::Answered);
    }

    #[test]
    fn tokens_and_latencies_have_the_means_that_were_set() {
        let name = TargetName::from("a");
        let settings = SimulatedTarget {
            tokens: Tokens { output_mean: Some(90.0), output_sd: 20.0, ..Tokens::default() },
            latency_ms: Latency { mean: 200.0, p95: Some(500.0), jitter: None },
            ..SimulatedTarget::default()
        };
        let model = SimulatedModel { seed: 3, name: &name, settings: &settings };
        let case = case("one");
        let n = 4_000;
        let tokens: u64 = (1..=n).map(|k| model.answer(&case, Repeat(k), None).output_tokens).sum();
        assert!((tokens as f64 / f64::from(n) - 90.0).abs() < 1.5);
        let mut latencies: Vec<f64> =
            (1..=n).map(|k| model.latency(&case, Repeat(k), 0).as_secs_f64() * 1e3).collect();
        latencies.sort_by(f64::total_cmp);
        let mean = latencies.iter().sum::<f64>() / f64::from(n);
        assert!((mean - 200.0).abs() < 10.0, "{mean}");
        assert!((latencies[3_800] - 500.0).abs() < 50.0, "{}", latencies[3_800]);
    }

    #[test]
    fn a_rejected_request_is_rejected_in_every_attempt_and_others_are_not() {
        let name = TargetName::from("a");
        let errors = ErrorRates { bad_request: 0.5, server: 0.5, ..ErrorRates::default() };
        let settings = SimulatedTarget { errors, ..SimulatedTarget::default() };
        let model = SimulatedModel { seed: 3, name: &name, settings: &settings };
        for repeat in 1..50 {
            let kinds: Vec<Option<FailureKind>> = (0..40)
                .map(|attempt| {
                    model.failure(&case("one"), Repeat(repeat), attempt).map(|failure| failure.kind)
                })
                .collect();
            if kinds[0] == Some(FailureKind::BadRequest) {
                assert!(kinds.iter().all(|kind| *kind == kinds[0]));
            } else {
                assert!(kinds.contains(&None) && kinds.contains(&Some(FailureKind::Server)));
            }
        }
    }
}
