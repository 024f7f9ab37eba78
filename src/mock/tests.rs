//! The mock server as a client sees it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::{FaultRates, MockLatency, MockServer, MockSettings};
use crate::{
    domain::Case,
    providers::{
        simulator::{CacheSettings, SimulatedTarget, test_cases::case},
        wire::client_builder,
    },
};

const MESSAGES: &str = "/v1/messages";
const COMPLETIONS: &str = "/v1/chat/completions";

fn cases(n: usize) -> Vec<Arc<Case>> {
    (0..n).map(|i| Arc::new(case(&format!("c{i:04}")))).collect()
}

async fn start(settings: MockSettings) -> MockServer {
    MockServer::start(settings, cases(200)).await.unwrap()
}

fn client() -> Client {
    client_builder().no_proxy().build().unwrap()
}

fn body(text: &str) -> Value {
    json!({"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": text}]})
}

fn question(i: usize) -> Value {
    body(&format!("question c{i:04}"))
}

async fn ask(client: &Client, server: &MockServer, route: &str, body: &Value) -> reqwest::Result<Response> {
    client.post(server.url() + route).json(body).send().await
}

fn text_of(route: &str, answer: &Value) -> String {
    let text = if route == MESSAGES {
        &answer["content"][0]["text"]
    } else {
        &answer["choices"][0]["message"]["content"]
    };
    text.as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn both_dialects_answer_from_the_case_that_is_asked() {
    let model = SimulatedTarget { skill: 1.0, ..SimulatedTarget::default() };
    let server = start(MockSettings { model, ..MockSettings::default() }).await;
    for route in [MESSAGES, COMPLETIONS, "/chat/completions"] {
        for asked in [question(7), body("Answer briefly.\n\nquestion c0007\n")] {
            let response = ask(&client(), &server, route, &asked).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-type"], "application/json");
            let id = if route == MESSAGES { "request-id" } else { "x-request-id" };
            assert!(response.headers().contains_key(id));
            let answer: Value = response.json().await.unwrap();
            assert!(text_of(route, &answer).ends_with("right c0007"), "{answer}");
            assert_eq!(answer["model"], "m");
        }
    }
    let stats = server.stats();
    assert_eq!((stats.requests, stats.answered, stats.distinct_bodies), (6, 6, 2));
    assert!(stats.input_tokens > 0 && stats.output_tokens > 0);
}

#[tokio::test]
async fn a_question_of_no_case_is_echoed() {
    let server = start(MockSettings::default()).await;
    let answer: Value =
        ask(&client(), &server, MESSAGES, &body("hello")).await.unwrap().json().await.unwrap();
    assert_eq!(text_of(MESSAGES, &answer), "hello");
    assert_eq!(server.stats().without_case, 1);
}

/// Each dialect takes the key in its own header and complains of a wrong one in its own words.
#[tokio::test]
async fn a_wrong_key_is_told_in_the_words_of_the_dialect() {
    let settings = MockSettings { api_key: Some("k1".into()), ..MockSettings::default() };
    let server = start(settings).await;
    for (route, header, key, status, kind) in [
        (MESSAGES, "x-api-key", "k1", 200, Value::Null),
        (MESSAGES, "x-api-key", "k2", 401, json!("authentication_error")),
        (COMPLETIONS, "authorization", "Bearer k1", 200, Value::Null),
        (COMPLETIONS, "authorization", "Bearer k2", 401, json!("invalid_request_error")),
        (COMPLETIONS, "x-nothing", "k1", 401, json!("invalid_request_error")),
    ] {
        let request = client().post(server.url() + route).header(header, key).json(&question(1));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{route} {header}: {key}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"]["type"], kind);
    }
    assert_eq!(server.stats().by_status, BTreeMap::from([(200, 2), (401, 3)]));
}

#[tokio::test]
async fn beyond_the_limit_a_request_is_refused_with_its_wait() {
    for (route, limit, remaining, reset) in [
        (
            MESSAGES,
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ),
        (
            COMPLETIONS,
            "x-ratelimit-limit-requests",
            "x-ratelimit-remaining-requests",
            "x-ratelimit-reset-requests",
        ),
    ] {
        // The bucket holds two requests and takes ten seconds for the next.
        for (bucket_headers, left) in [(false, "4"), (true, "0")] {
            let settings = MockSettings {
                requests_per_minute: Some(6.0),
                burst_s: 20.0,
                bucket_headers,
                ..MockSettings::default()
            };
            let server = start(settings).await;
            let client = client();
            let first = ask(&client, &server, route, &question(1)).await.unwrap();
            assert_eq!((first.status().as_u16(), &first.headers()[limit]), (200, &"6".parse().unwrap()));
            let second = ask(&client, &server, route, &question(2)).await.unwrap();
            assert_eq!(
                (second.status().as_u16(), &second.headers()[remaining]),
                (200, &left.parse().unwrap())
            );
            let third = ask(&client, &server, route, &question(3)).await.unwrap();
            assert_eq!(third.status(), 429);
            let number = |name: &str| third.headers()[name].to_str().unwrap().parse::<u64>().unwrap();
            assert!((1..=10).contains(&number("retry-after")), "{third:?}");
            assert!((1..=10_000).contains(&number("retry-after-ms")), "{third:?}");
            assert!(!third.headers()[reset].is_empty());
            assert_eq!(server.stats().max_requests_per_minute, 3);
        }
    }
}

#[tokio::test]
async fn who_waits_as_long_as_told_is_let_in() {
    let settings = MockSettings { requests_per_minute: Some(300.0), burst_s: 0.1, ..MockSettings::default() };
    let server = start(settings).await;
    let client = client();
    let mut refused = 0;
    for i in 0..5 {
        let response = ask(&client, &server, MESSAGES, &question(i)).await.unwrap();
        if response.status() == 429 {
            refused += 1;
            let wait = response.headers()["retry-after-ms"].to_str().unwrap().parse().unwrap();
            tokio::time::sleep(Duration::from_millis(wait)).await;
            assert_eq!(ask(&client, &server, MESSAGES, &question(i)).await.unwrap().status(), 200);
        }
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn a_dropped_connection_is_an_error_of_the_connection() {
    let faults = FaultRates { dropped: 1.0, ..FaultRates::default() };
    let server = start(MockSettings { faults, ..MockSettings::default() }).await;
    let client = client();
    for i in 0..20 {
        let broken = match ask(&client, &server, MESSAGES, &question(i)).await {
            Ok(response) => response.bytes().await.is_err(),
            Err(_) => true,
        };
        assert!(broken, "question {i}");
    }
    // A client may ask once more by itself when a kept connection breaks before any answer.
    let stats = server.stats();
    assert!(stats.dropped >= 20 && stats.dropped == stats.requests, "{stats:?}");
    assert_eq!(stats.in_flight, 0);
}

#[tokio::test]
async fn a_malformed_answer_is_no_json() {
    let faults = FaultRates { malformed: 1.0, ..FaultRates::default() };
    let server = start(MockSettings { faults, ..MockSettings::default() }).await;
    for i in 0..10 {
        let response = ask(&client(), &server, COMPLETIONS, &question(i)).await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.json::<Value>().await.is_err());
    }
    assert_eq!((server.stats().malformed, server.stats().answered), (10, 0));
}

/// Statuses until success, question by question; the same on a fresh server.
#[tokio::test]
async fn a_retry_may_succeed_and_a_rerun_meets_the_same_faults() {
    let faults =
        FaultRates { server_error: 0.3, overloaded: 0.2, rate_limited: 0.1, ..FaultRates::default() };
    let mut runs = vec![];
    for _ in 0..2 {
        let server = start(MockSettings { faults, ..MockSettings::default() }).await;
        let client = client();
        let mut seen = vec![];
        for i in 0..30 {
            loop {
                let response = ask(&client, &server, MESSAGES, &question(i)).await.unwrap();
                let status = response.status().as_u16();
                seen.push((status, response.text().await.unwrap().replace(char::is_numeric, "")));
                if status == 200 {
                    break;
                }
            }
        }
        let stats = server.stats();
        assert_eq!((stats.answered, stats.requests), (30, seen.len() as u64));
        assert!([429, 500, 529].iter().all(|status| stats.by_status.contains_key(status)), "{stats:?}");
        runs.push(seen);
    }
    assert_eq!(runs[0], runs[1]);
}

#[tokio::test]
async fn the_repeats_of_a_case_differ() {
    let model = SimulatedTarget { skill: 0.5, difficulty_spread: 0.0, ..SimulatedTarget::default() };
    let server = start(MockSettings { model, ..MockSettings::default() }).await;
    let client = client();
    let mut texts = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let answer: Value =
            ask(&client, &server, MESSAGES, &question(3)).await.unwrap().json().await.unwrap();
        texts.insert(text_of(MESSAGES, &answer));
    }
    assert_eq!(texts.len(), 4, "two right and two wrong examples: {texts:?}");
}

#[tokio::test]
async fn statistics_tell_how_many_were_in_flight() {
    let latency = MockLatency { mean_ms: 150.0, jitter_ms: 0.0 };
    let server = start(MockSettings { latency, ..MockSettings::default() }).await;
    let client = client();
    let questions: Vec<Value> = (0..12).map(question).collect();
    let all = questions.iter().map(|question| ask(&client, &server, COMPLETIONS, question));
    for response in futures_util::future::join_all(all).await {
        assert_eq!(response.unwrap().status(), 200);
    }
    let url = server.url();
    let stats: Value = client.get(format!("{url}/stats")).send().await.unwrap().json().await.unwrap();
    assert_eq!(
        (&stats["requests"], &stats["max_in_flight"], &stats["in_flight"]),
        (&json!(12), &json!(12), &json!(0))
    );
    assert!(stats["sending_s"].as_f64().unwrap() >= 0.15);
    client.post(format!("{url}/stats/reset")).send().await.unwrap();
    assert_eq!(server.stats().requests, 0);
    server.stop().await.unwrap();
}

/// A client that gives up is counted, and leaves nothing in flight.
#[tokio::test]
async fn a_client_that_goes_away_is_counted_as_abandoned() {
    let latency = MockLatency { mean_ms: 60_000.0, jitter_ms: 0.0 };
    let server = start(MockSettings { latency, ..MockSettings::default() }).await;
    let client = client_builder().no_proxy().timeout(Duration::from_millis(100)).build().unwrap();
    assert!(ask(&client, &server, MESSAGES, &question(1)).await.unwrap_err().is_timeout());
    for _ in 0..100 {
        if server.stats().abandoned == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!((server.stats().abandoned, server.stats().in_flight), (1, 0));
}

#[tokio::test]
async fn a_marked_prefix_is_written_once_and_then_read() {
    let model = SimulatedTarget { cache: Some(CacheSettings::default()), ..SimulatedTarget::default() };
    let server = start(MockSettings { model, ..MockSettings::default() }).await;
    let client = client();
    let mut usages = vec![];
    for i in 0..3 {
        let mut body = question(i);
        body["system"] = json!([{
            "type": "text", "text": "x".repeat(40_000), "cache_control": {"type": "ephemeral"},
        }]);
        let answer: Value = ask(&client, &server, MESSAGES, &body).await.unwrap().json().await.unwrap();
        let count = |name: &str| answer["usage"][name].as_u64().unwrap();
        usages.push((
            count("cache_creation_input_tokens"),
            count("cache_read_input_tokens"),
            count("input_tokens"),
        ));
    }
    // `question c0001` has fourteen characters.
    assert_eq!(usages, [(10_000, 0, 4), (0, 10_000, 4), (0, 10_000, 4)]);
    let unmarked = json!({"model": "m", "max_tokens": 9, "system": "x".repeat(40_000),
        "messages": [{"role": "user", "content": "question c0001"}]});
    let answer: Value = ask(&client, &server, MESSAGES, &unmarked).await.unwrap().json().await.unwrap();
    assert_eq!(answer["usage"]["cache_read_input_tokens"], 0);
}
