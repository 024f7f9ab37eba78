//! Streams, silences and limits of tokens as a client sees them.

use std::{sync::Arc, time::Duration};

use reqwest::Response;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{FaultRates, MockLatency, MockServer, MockSettings, StreamPace};
use crate::{
    domain::Case,
    providers::{
        simulator::{SimulatedTarget, Tokens, test_cases::case},
        wire::client_builder,
    },
};

const MESSAGES: &str = "/v1/messages";
const COMPLETIONS: &str = "/v1/chat/completions";

async fn start(settings: MockSettings) -> MockServer {
    let cases: Vec<Arc<Case>> = (0..50).map(|i| Arc::new(case(&format!("c{i:04}")))).collect();
    MockServer::start(settings, cases).await.unwrap()
}

async fn ask(server: &MockServer, route: &str, number: usize, stream: bool) -> Response {
    let body = json!({
        "model": "m", "max_tokens": 100, "stream": stream, "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": format!("question c{number:04}")}],
    });
    let client = client_builder().no_proxy().build().unwrap();
    client.post(server.url() + route).json(&body).send().await.unwrap()
}

/// The text in a stream's events.
fn text_of(stream: &str) -> String {
    let data = stream.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
    data.filter_map(|event: Value| {
        let delta = event.get("delta").or_else(|| Some(&event["choices"].get(0)?["delta"]))?;
        delta.get("text").or(delta.get("content"))?.as_str().map(str::to_owned)
    })
    .collect()
}

#[tokio::test]
async fn a_stream_says_what_the_whole_answer_says_at_its_pace() {
    let model = SimulatedTarget { skill: 1.0, ..SimulatedTarget::default() };
    let stream = StreamPace { first_token_ms: Some(80.0), event_ms: 15.0 };
    for (route, end) in [(MESSAGES, "event: message_stop"), (COMPLETIONS, "data: [DONE]")] {
        let server = start(MockSettings { model: model.clone(), stream, ..MockSettings::default() }).await;
        let begun = Instant::now();
        let mut response = ask(&server, route, 3, true).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let first = response.chunk().await.unwrap().unwrap();
        let to_first = begun.elapsed();
        let rest = response.text().await.unwrap();
        let whole = String::from_utf8(first.to_vec()).unwrap() + &rest;
        assert!(text_of(&whole).ends_with("right c0003"), "{whole}");
        assert!(whole.contains(end) && whole.contains("tokens"), "{whole}");
        assert!(
            to_first >= Duration::from_millis(80) && begun.elapsed() >= to_first + Duration::from_millis(60)
        );
        let stats = server.stats();
        assert_eq!((stats.streamed, stats.answered, stats.in_flight), (1, 1, 0));
    }
}

#[tokio::test]
async fn faults_strike_in_the_middle_of_a_stream_too() {
    let one =
        |rates: FaultRates| MockSettings { faults: rates, stall_s: Some(0.05), ..MockSettings::default() };
    let none = FaultRates::default();
    for route in [MESSAGES, COMPLETIONS] {
        let server = start(one(FaultRates { overloaded: 1.0, ..none })).await;
        let mut in_the_middle = 0;
        for number in 0..16 {
            let response = ask(&server, route, number, true).await;
            if response.status() == 200 {
                in_the_middle += 1;
                let text = response.text().await.unwrap();
                assert!(text.contains("overloaded") && !text.contains("message_stop"), "{text}");
            }
        }
        assert!((1..16).contains(&in_the_middle), "{in_the_middle}");
        assert_eq!(server.stats().broken, in_the_middle);

        let server = start(one(FaultRates { dropped: 1.0, ..none })).await;
        let mut broken = 0;
        let client = client_builder().no_proxy().build().unwrap();
        for number in 0..16 {
            let body = json!({
                "model": "m", "max_tokens": 100, "stream": true,
                "messages": [{"role": "user", "content": format!("question c{number:04}")}],
            });
            let sent = client.post(server.url() + route).json(&body).send().await;
            broken += usize::from(match sent {
                Ok(response) => response.text().await.is_err(),
                Err(_) => true,
            });
        }
        assert_eq!(broken, 16);

        let server = start(one(FaultRates { stalled: 1.0, ..none })).await;
        for stream in [false, true] {
            let begun = Instant::now();
            let text = ask(&server, route, 1, stream).await.text().await.unwrap();
            assert!(!text.is_empty() && begun.elapsed() >= Duration::from_millis(50));
        }
        assert_eq!((server.stats().stalled, server.stats().answered), (2, 2));
    }
}

#[tokio::test]
async fn a_stall_without_end_lasts_until_the_client_goes() {
    let faults = FaultRates { stalled: 1.0, ..FaultRates::default() };
    let server = start(MockSettings { faults, ..MockSettings::default() }).await;
    for number in 0..4 {
        let asked = async { ask(&server, MESSAGES, number, number % 2 == 0).await.text().await };
        assert!(tokio::time::timeout(Duration::from_millis(150), asked).await.is_err());
    }
    for _ in 0..100 {
        if server.stats().in_flight == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let stats = server.stats();
    assert_eq!((stats.stalled, stats.abandoned, stats.answered, stats.in_flight), (4, 4, 0, 0));
}

#[tokio::test]
async fn a_slow_answer_begins_late_and_is_whole() {
    let faults = FaultRates { slow: 1.0, ..FaultRates::default() };
    let latency = MockLatency { mean_ms: 10.0, jitter_ms: 0.0 };
    let server = start(MockSettings { faults, latency, slow_s: 0.1, ..MockSettings::default() }).await;
    let begun = Instant::now();
    assert_eq!(ask(&server, COMPLETIONS, 1, false).await.status(), 200);
    assert!(begun.elapsed() >= Duration::from_millis(110));
    assert_eq!(server.stats().answered, 1);
}

#[tokio::test]
async fn limits_of_tokens_are_told_and_kept_in_the_words_of_the_dialect() {
    let model = SimulatedTarget {
        tokens: Tokens { input: Some(400), output_mean: Some(50.0), ..Tokens::default() },
        ..SimulatedTarget::default()
    };
    let settings = MockSettings {
        model,
        input_tokens_per_minute: Some(1_000.0),
        output_tokens_per_minute: Some(6_000.0),
        tokens_per_minute: Some(7_000.0),
        burst_s: 60.0,
        ..MockSettings::default()
    };
    let server = start(settings.clone()).await;
    let first = ask(&server, MESSAGES, 1, false).await;
    assert_eq!(first.status(), 200);
    let told = |response: &Response, name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(told(&first, "anthropic-ratelimit-input-tokens-limit"), "1000");
    assert_eq!(told(&first, "anthropic-ratelimit-input-tokens-remaining"), "600");
    assert_eq!(told(&first, "anthropic-ratelimit-output-tokens-limit"), "6000");
    assert!(told(&first, "anthropic-ratelimit-tokens-reset").ends_with('Z'));
    assert_eq!(ask(&server, MESSAGES, 2, false).await.status(), 200);
    let third = ask(&server, MESSAGES, 3, false).await;
    assert_eq!(third.status(), 429);
    // 200 tokens are left, and 200 more take twelve seconds.
    assert!((11..=12).contains(&told(&third, "retry-after").parse::<u32>().unwrap()), "{third:?}");
    assert!(third.text().await.unwrap().contains("input tokens per minute"));

    let openai = start(MockSettings { input_tokens_per_minute: None, ..settings }).await;
    let first = ask(&openai, COMPLETIONS, 1, false).await;
    assert_eq!(told(&first, "x-ratelimit-limit-tokens"), "7000");
    // 400 of the prompt and room for one of the answer, some of it filled up again already.
    let remaining: u64 = told(&first, "x-ratelimit-remaining-tokens").parse().unwrap();
    assert!((6_599..6_700).contains(&remaining), "{remaining}");
    assert!(!first.headers().contains_key("x-ratelimit-limit-requests"));
}
