//! The mock server as this project's own providers read it: what one writes, the other understands.

use std::{sync::Arc, time::Duration};

use super::{FaultRates, MockServer, MockSettings};
use crate::{
    domain::{
        Asked, Case, ErrorClass, Failure, FailureKind, LimitDimension, Message, Outcome, Parameters, Prompt,
        Question, Repeat, Reply, Role,
    },
    providers::{
        Facts, HttpModel, HttpSettings, Rejection, anthropic, openai,
        simulator::{CacheSettings, SimulatedTarget, test_cases::case},
        test_question::ask as asked,
    },
};

const KEY: &str = "mock-key-0001";

/// Both dialects, set up for `server`.
fn providers(server: &MockServer) -> [HttpModel; 2] {
    let model = |facts: &'static Facts, url: String| {
        HttpModel::new(facts, &HttpSettings::new(url), Some(&KEY.into()), None).unwrap()
    };
    [model(&anthropic::FACTS, server.url()), model(&openai::FACTS, server.url() + "/v1")]
}

fn question() -> Question {
    let case = case("one");
    let content = case.input.last_user_message().to_owned();
    Question {
        model: "m".into(),
        prompt: Prompt {
            system: Some("Be brief.".into()),
            messages: vec![Message { role: Role::User, content: content.into() }],
        },
        parameters: Arc::new(Parameters { max_tokens: Some(50), ..Parameters::default() }),
        asked: Asked { by: "t".into(), case: Arc::new(case), repeat: Repeat::FIRST },
        seed: 0,
    }
}

/// What each dialect makes of one request to a fresh server.
async fn ask(settings: MockSettings) -> Vec<Result<Reply, Rejection>> {
    let mut results = vec![];
    for dialect in 0..2 {
        let cases: Vec<Arc<Case>> = vec![Arc::new(case("one"))];
        let server = MockServer::start(settings.clone(), cases).await.unwrap();
        results.push(asked(&providers(&server)[dialect], &question()).await);
    }
    results
}

async fn replies(model: SimulatedTarget) -> Vec<Reply> {
    let settings = MockSettings { model, api_key: Some(KEY.into()), ..MockSettings::default() };
    ask(settings).await.into_iter().map(Result::unwrap).collect()
}

async fn failures(settings: MockSettings) -> Vec<Failure> {
    ask(settings).await.into_iter().map(|result| result.unwrap_err().failure).collect()
}

#[tokio::test]
async fn an_answer_arrives_whole() {
    for reply in replies(SimulatedTarget { skill: 1.0, ..SimulatedTarget::default() }).await {
        assert_eq!(reply.outcome, Outcome::Answered);
        assert!(reply.text.ends_with("right one"), "{reply:?}");
        assert_eq!(reply.model.as_deref(), Some("m"));
        assert_eq!(reply.request_id.as_deref(), Some("req_mock0000000001"));
        let usage = reply.metered.usage.unwrap();
        // `Be brief.` and `question one` have 21 characters.
        assert_eq!((usage.input_uncached, usage.input_total()), (6, 6));
        assert!(usage.output > 0 && reply.metered.flag.is_none());
    }
}

#[tokio::test]
async fn each_outcome_is_told_apart_where_the_dialect_can() {
    let none = SimulatedTarget::default();
    for (model, outcomes) in [
        (SimulatedTarget { refusal_rate: 1.0, ..none.clone() }, [Outcome::Refused, Outcome::Refused]),
        (SimulatedTarget { truncation_rate: 1.0, ..none.clone() }, [Outcome::Truncated, Outcome::Truncated]),
        (SimulatedTarget { filter_rate: 1.0, ..none.clone() }, [Outcome::Refused, Outcome::Filtered]),
    ] {
        let found: Vec<Outcome> = replies(model).await.iter().map(|reply| reply.outcome).collect();
        assert_eq!(found, outcomes);
    }
}

#[tokio::test]
async fn what_is_written_to_the_cache_is_counted_in_both_dialects() {
    let model = SimulatedTarget {
        cache: Some(CacheSettings { min_tokens: 1, ..CacheSettings::default() }),
        ..SimulatedTarget::default()
    };
    let [anthropic, openai] = &replies(model).await[..] else { panic!("two dialects") };
    // Without a mark the one writes nothing; the other writes all of a prompt by itself.
    let usage = |reply: &Reply| reply.metered.usage.unwrap();
    assert_eq!((usage(anthropic).cache_writes(), usage(anthropic).input_uncached), (0, 6));
    assert_eq!((usage(openai).cache_writes(), usage(openai).input_uncached), (6, 0));
}

#[tokio::test]
async fn every_fault_means_what_it_should() {
    let none = FaultRates::default();
    for (faults, class, kinds) in [
        (FaultRates { server_error: 1.0, ..none }, ErrorClass::Retry, [FailureKind::Server; 2]),
        (FaultRates { rate_limited: 1.0, ..none }, ErrorClass::RetrySlow, [FailureKind::RateLimit; 2]),
        (FaultRates { dropped: 1.0, ..none }, ErrorClass::Retry, [FailureKind::Dropped; 2]),
        (FaultRates { malformed: 1.0, ..none }, ErrorClass::Retry, [FailureKind::Malformed; 2]),
    ] {
        for (failure, kind) in
            failures(MockSettings { faults, ..MockSettings::default() }).await.iter().zip(kinds)
        {
            assert_eq!((failure.class, failure.kind), (class, kind), "{failure}");
        }
    }
    let settings = MockSettings { faults: FaultRates { overloaded: 1.0, ..none }, ..MockSettings::default() };
    for failure in failures(settings).await {
        assert!(failure.kind == FailureKind::Overloaded && failure.class.is_retryable(), "{failure}");
    }
    for failure in failures(MockSettings { api_key: Some("another".into()), ..MockSettings::default() }).await
    {
        assert_eq!((failure.class, failure.kind), (ErrorClass::StopQueue, FailureKind::Authentication));
    }
}

#[tokio::test]
async fn the_limit_and_the_wait_are_read_from_the_headers() {
    let settings = MockSettings { requests_per_minute: Some(6.0), burst_s: 1.0, ..MockSettings::default() };
    for dialect in 0..2 {
        let server = MockServer::start(settings.clone(), vec![Arc::new(case("one"))]).await.unwrap();
        let provider = &providers(&server)[dialect];
        let reading = asked(provider, &question()).await.unwrap().limits.readings[0];
        assert_eq!((reading.dimension, reading.limit), (LimitDimension::Requests, Some(6)));
        assert_eq!(reading.remaining, Some(5));
        let refused = asked(provider, &question()).await.unwrap_err().failure;
        assert_eq!((refused.class, refused.status), (ErrorClass::RetrySlow, Some(429)));
        let wait = refused.retry_after.unwrap();
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(10), "{wait:?}");
    }
}
