//! The simulator: a provider whose truth is known.
//!
//! It draws each answer from the case's own examples, right ones with the case's true probability, and
//! has latency, token counts, a prompt cache, a rate limit and errors where they are asked for. Every
//! draw is a function of (seed, target, case, repeat), whatever the order and the concurrency;
//! without settings it answers at once.

mod answers;
mod bucket;
mod cache;
mod draws;
mod model;
mod settings;
#[cfg(test)]
pub(crate) mod test_cases;

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use rand::RngExt;
use tokio::time::{Instant, sleep};

pub(crate) use self::draws::generator;
pub use self::{
    bucket::{Admission, Bucket},
    cache::{Breakpoint, CacheUse, PrefixCache},
    model::{SimulatedAnswer, SimulatedModel},
    settings::{CacheSettings, ErrorRates, Latency, SimulatedTarget, SimulatorSettings, Tokens},
};
use super::{
    Provider, Rejection,
    provider::{handed_over, question_of},
};
use crate::domain::{
    Begun, Bounds, Case, CaseId, ErrorClass, Failure, FailureKind, LimitDimension, LimitReading, LimitReport,
    Outcome, Outgoing, Question, Repeat, Reply, ReplyLatency, TargetName, Usage,
};

/// A provider that answers from the cases themselves.
///
/// Beside its settings it remembers three things, all of them small: which trials failed and how
/// often (until they succeed), so that the next attempt draws anew; the cached prefixes; and the level
/// of each target's rate limit.
#[derive(Debug)]
pub struct Simulator {
    settings: SimulatorSettings,
    // Boxed since a simulator is moved about as one of several kinds of provider, all of them small.
    unnamed: Box<SimulatedTarget>,
    memory: Box<Mutex<Memory>>,
}

#[derive(Debug, Default)]
struct Memory {
    failures: HashMap<Trial, u32>,
    cache: PrefixCache,
    buckets: HashMap<TargetName, Bucket>,
}

type Trial = (TargetName, CaseId, Repeat);

impl Provider for Simulator {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        let bounds = self.settings_of(&question.asked.by).bounds(&question);
        handed_over(question, bounds)
    }

    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        _begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(self.answer(question_of(outgoing)))
    }
}

impl Simulator {
    /// A simulator; its settings should have no [faults](SimulatedTarget::faults).
    pub fn new(settings: SimulatorSettings) -> Self {
        Self { settings, unnamed: Box::default(), memory: Box::default() }
    }

    /// Answers `question` after its latency (tokio's clock).
    ///
    /// Draws use the simulator's own seed, not the question's, so that a run that is repeated under
    /// another name meets the same answers.
    ///
    /// # Errors
    /// Where the settings ask for a failure, or the rate limit is met.
    pub async fn answer(&self, question: &Question) -> Result<Reply, Rejection> {
        let model = self.model(&question.asked.by);
        let case = &*question.asked.case;
        let trial = (question.asked.by.clone(), case.id.clone(), question.asked.repeat);

        let (limits, wait) = self.admit(&question.asked.by, model.settings);
        if let Some(wait) = wait {
            let failure = Failure {
                status: Some(429),
                retry_after: Some(wait),
                ..Failure::new(
                    ErrorClass::RetrySlow,
                    FailureKind::RateLimit,
                    "simulated limit of requests a minute",
                )
            };
            return Err(Rejection { limits, ..Rejection::from(failure) });
        }
        let attempt = self.memory().failures.get(&trial).copied().unwrap_or(0);
        let latency = model.latency(case, question.asked.repeat, attempt);
        let request_id = Some(request_id(&model, case, question.asked.repeat, attempt));

        if let Some(failure) = model.failure(case, question.asked.repeat, attempt) {
            if failure.class != ErrorClass::ThisTrial {
                *self.memory().failures.entry(trial).or_default() += 1;
            }
            // A refusal at the door takes no time.
            if !matches!(failure.kind, FailureKind::RateLimit | FailureKind::BadRequest) {
                pause(latency).await;
            }
            return Err(Rejection { request_id, limits, ..Rejection::from(failure) });
        }
        let answer = model.answer(case, question.asked.repeat, question.parameters.max_tokens);
        let usage = self.usage(question, model.settings, latency, answer.output_tokens);
        pause(latency).await;
        if attempt > 0 {
            self.memory().failures.remove(&trial);
        }
        Ok(Reply {
            outcome: answer.outcome,
            text: answer.text,
            stop_reason: Some(stop_reason(answer.outcome).to_owned()),
            metered: usage.into(),
            model: Some(model.settings.model.clone().unwrap_or_else(|| question.model.to_string())),
            request_id,
            limits,
            latency: ReplyLatency::Known(latency.as_secs_f64() * 1e3),
            ..Reply::answered("")
        })
    }

    fn model<'a>(&'a self, target: &'a TargetName) -> SimulatedModel<'a> {
        SimulatedModel { seed: self.settings.seed, name: target, settings: self.settings_of(target) }
    }

    fn settings_of(&self, target: &TargetName) -> &SimulatedTarget {
        self.settings.targets.get(target).unwrap_or(&self.unnamed)
    }

    /// What the rate limit says, and how long to wait if it says no.
    fn admit(&self, target: &TargetName, settings: &SimulatedTarget) -> (LimitReport, Option<Duration>) {
        let Some(per_minute) = settings.requests_per_minute else {
            return (LimitReport::default(), None);
        };
        let admission = self
            .memory()
            .buckets
            .entry(target.clone())
            .or_insert_with(|| Bucket::new(per_minute, settings.burst_s))
            .ask(Instant::now());
        let reading = LimitReading {
            dimension: LimitDimension::Requests,
            limit: Some(settings::whole(per_minute)),
            remaining: Some(admission.remaining),
            full_in: Some(admission.full_in),
        };
        (LimitReport { readings: vec![reading] }, admission.wait)
    }

    /// Tokens of a request that succeeds. The cacheable prefix is the system prompt: what comes after
    /// it is taken to be the case's own.
    fn usage(
        &self,
        question: &Question,
        settings: &SimulatedTarget,
        latency: Duration,
        output: u64,
    ) -> Usage {
        let system = question.prompt.system.as_deref().unwrap_or_default();
        let tokens = &settings.tokens;
        let input = tokens.of_prompt(&question.prompt);
        let prefix = Breakpoint {
            key: draws::generator(0, &[question.model.as_str().as_bytes(), system.as_bytes()]).random(),
            tokens: tokens.of_chars(system.chars().count()).min(input),
        };
        let used = match settings.cache {
            Some(cache) if prefix.tokens >= cache.min_tokens => {
                let now = Instant::now();
                let lifetime = Duration::try_from_secs_f64(cache.ttl_s).unwrap_or(Duration::MAX);
                self.memory().cache.visit(&[prefix], now, now + latency, lifetime)
            }
            _ => CacheUse::default(),
        };
        Usage {
            input_uncached: input - used.read - used.written,
            cache_read: used.read,
            cache_write_5m: used.written,
            output,
            ..Usage::default()
        }
    }

    /// No panic can leave the memory half changed, so a poisoned lock is as good as a whole one.
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn pause(latency: Duration) {
    if !latency.is_zero() {
        sleep(latency).await;
    }
}

fn request_id(model: &SimulatedModel<'_>, case: &Case, repeat: Repeat, attempt: u32) -> String {
    let parts: [&[u8]; 5] = [
        b"request",
        model.name.as_str().as_bytes(),
        case.id.as_str().as_bytes(),
        &repeat.0.to_le_bytes(),
        &attempt.to_le_bytes(),
    ];
    format!("sim_{:016x}", draws::generator(model.seed, &parts).random::<u64>())
}

fn stop_reason(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Truncated => "max_tokens",
        Outcome::Refused => "refusal",
        Outcome::Filtered => "content_filter",
        Outcome::Answered | Outcome::Failed | Outcome::Cancelled => "end_turn",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{test_cases::case, *};
    use crate::domain::{Asked, Message, ModelId, Parameters, Prompt, Role};

    fn simulator(settings: SimulatedTarget) -> Simulator {
        Simulator::new(SimulatorSettings { seed: 1, targets: HashMap::from([("a".into(), settings)]) })
    }

    fn request(id: &str, repeat: u32) -> Question {
        let case = case(id);
        let content = case.input.last_user_message().to_owned();
        Question {
            model: ModelId::from("model-a"),
            prompt: Prompt {
                system: None,
                messages: vec![Message { role: Role::User, content: content.into() }],
            },
            parameters: Arc::new(Parameters::default()),
            asked: Asked { by: TargetName::from("a"), case: Arc::new(case), repeat: Repeat(repeat) },
            seed: 99,
        }
    }

    #[tokio::test]
    async fn the_same_seed_gives_the_same_answers_in_any_order() {
        let settings = SimulatedTarget {
            skill: 0.5,
            tokens: Tokens { output_mean: Some(50.0), output_sd: 9.0, ..Tokens::default() },
            ..SimulatedTarget::default()
        };
        let all: Vec<(String, u32)> =
            (0..40).flat_map(|i| (1..=3).map(move |repeat| (format!("c{i}"), repeat))).collect();
        let (first, second) = (simulator(settings.clone()), simulator(settings));
        let mut forwards = HashMap::new();
        for (id, repeat) in &all {
            forwards.insert((id, *repeat), first.answer(&request(id, *repeat)).await.unwrap());
        }
        for (id, repeat) in all.iter().rev() {
            let again = second.answer(&request(id, *repeat)).await.unwrap();
            assert_eq!(forwards[&(id, *repeat)], again);
        }
        let texts: std::collections::HashSet<&str> = forwards
            .iter()
            .filter(|((id, _), _)| *id == "c1")
            .map(|(_, reply)| reply.text.as_str())
            .collect();
        assert!(texts.len() > 1, "repeats may differ: {texts:?}");
    }

    #[tokio::test]
    async fn without_settings_it_answers_at_once_and_counts_tokens_by_length() {
        let simulator = Simulator::new(SimulatorSettings::default());
        let reply = simulator.answer(&request("c1", 1)).await.unwrap();
        assert_eq!(reply.outcome, Outcome::Answered);
        assert_eq!(reply.model.as_deref(), Some("model-a"));
        assert_eq!(reply.latency, ReplyLatency::Known(0.0));
        let usage = reply.metered.usage.unwrap();
        // `question c1` has eleven characters.
        assert_eq!((usage.input_uncached, usage.output > 0), (3, true));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_takes_its_latency() {
        let settings = SimulatedTarget {
            latency_ms: Latency { mean: 250.0, ..Latency::default() },
            ..SimulatedTarget::default()
        };
        let start = Instant::now();
        let reply = simulator(settings).answer(&request("c1", 1)).await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_millis(250));
        assert_eq!(reply.latency, ReplyLatency::Known(250.0));
    }

    #[tokio::test]
    async fn an_attempt_that_failed_may_succeed_when_it_is_repeated() {
        let errors = ErrorRates { server: 0.3, rate_limit: 0.2, ..ErrorRates::default() };
        let simulator = simulator(SimulatedTarget { errors, ..SimulatedTarget::default() });
        let mut failed = 0;
        for i in 0..200 {
            let question = request(&format!("c{i}"), 1);
            let mut attempts = 1;
            while let Err(rejection) = simulator.answer(&question).await {
                assert!(rejection.failure.class.is_retryable());
                attempts += 1;
                assert!(attempts < 30, "c{i} never succeeds");
            }
            failed += attempts - 1;
        }
        // Each attempt fails with probability 0.5: one failure before each success on average.
        assert!((140..260).contains(&failed), "{failed}");
        assert!(simulator.memory().failures.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_limit_says_how_long_to_wait() {
        let settings = SimulatedTarget { requests_per_minute: Some(60.0), ..SimulatedTarget::default() };
        let simulator = simulator(settings);
        assert!(simulator.answer(&request("c1", 1)).await.is_ok());
        let refused = simulator.answer(&request("c2", 1)).await.unwrap_err();
        assert_eq!(refused.failure.class, ErrorClass::RetrySlow);
        assert_eq!(refused.failure.retry_after, Some(Duration::from_secs(1)));
        assert_eq!(refused.limits.readings[0].limit, Some(60));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(simulator.answer(&request("c2", 1)).await.is_ok());
    }

    fn long_prompt(id: &str) -> Question {
        let mut question = request(id, 1);
        question.prompt.system = Some("x".repeat(40_000).into());
        question
    }

    /// Fifty cases with a common prefix of 10,000 tokens: all at once each pays for the write; after a
    /// first one has been answered, all others read.
    #[tokio::test(start_paused = true)]
    async fn a_prefix_is_written_once_by_those_who_wait_for_the_first_answer() {
        let settings = SimulatedTarget {
            latency_ms: Latency { mean: 100.0, ..Latency::default() },
            cache: Some(CacheSettings::default()),
            ..SimulatedTarget::default()
        };
        for (warm_up, written, read) in [(true, 10_000, 490_000), (false, 500_000, 0)] {
            let simulator = simulator(settings.clone());
            let requests: Vec<Question> = (0..50).map(|i| long_prompt(&format!("c{i}"))).collect();
            let mut total = Usage::default();
            let (first, rest) = requests.split_at(usize::from(warm_up));
            for question in first {
                total += simulator.answer(question).await.unwrap().metered.usage.unwrap();
            }
            let others =
                futures_util::future::join_all(rest.iter().map(|question| simulator.answer(question)));
            for reply in others.await {
                total += reply.unwrap().metered.usage.unwrap();
            }
            assert_eq!((total.cache_write_5m, total.cache_read), (written, read), "warm-up: {warm_up}");
        }
    }
}
