//! Streaming, prompt caching and warm-up from end to end: a server whose cache can be read once the
//! answer that wrote it has begun.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::support::Project;

/// Tokens of every system prompt.
const PREFIX_TOKENS: u64 = 10_000;

/// How long an answer takes to begin, and then to end.
const PAUSE: Duration = Duration::from_millis(120);

/// What the server has seen.
#[derive(Default)]
struct Seen {
    /// Whether a prefix can be read.
    readable: HashMap<String, bool>,
    requests: Vec<Value>,
    reads: usize,
    writes: usize,
    /// Answers that have ended.
    ended: usize,
    /// Answers that had ended when the second request came.
    ended_before_second: Option<usize>,
    /// Requests that are still to be refused.
    refusals: usize,
}

type Shared = Arc<Mutex<Seen>>;

/// A server that speaks Messages, keeps prefixes, and streams where it is asked to.
struct CachingServer {
    url: String,
    seen: Shared,
    _stop: oneshot::Sender<()>,
}

impl CachingServer {
    fn start(refusals: usize) -> Self {
        let seen: Shared = Arc::new(Mutex::new(Seen { refusals, ..Seen::default() }));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&seen));
        let (stop, stopped) = oneshot::channel();
        let (tell, address) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    served = axum::serve(listener, router).into_future() => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { url: format!("http://{}", address.recv().unwrap()), seen, _stop: stop }
    }
}

async fn answer(State(seen): State<Shared>, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let prefix = body["system"][0]["text"].as_str().unwrap_or_default().to_owned();
    let is_marked = body["system"][0]["cache_control"]["type"] == "ephemeral";
    let is_read = {
        let mut seen = seen.lock().unwrap();
        seen.requests.push(body.clone());
        if seen.requests.len() == 2 {
            seen.ended_before_second = Some(seen.ended);
        }
        if seen.refusals > 0 {
            seen.refusals -= 1;
            let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
            return (axum::http::StatusCode::BAD_REQUEST, Json(error)).into_response();
        }
        let is_read = is_marked && seen.readable.contains_key(&prefix);
        if is_read {
            seen.reads += 1;
        } else {
            seen.writes += 1;
        }
        is_read
    };
    let (read, written) = if is_read { (PREFIX_TOKENS, 0) } else { (0, PREFIX_TOKENS) };
    let usage = json!({
        "input_tokens": 20, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1,
    });
    let question = body["messages"][0]["content"].as_str().unwrap();
    let text = format!("It is right {}.", question.rsplit(' ').next().unwrap());
    if body["stream"] == true {
        streamed(seen, prefix, usage, &text)
    } else {
        whole(seen, prefix, usage, &text).await
    }
}

async fn whole(seen: Shared, prefix: String, mut usage: Value, text: &str) -> Response {
    tokio::time::sleep(PAUSE).await;
    seen.lock().unwrap().readable.insert(prefix, true);
    tokio::time::sleep(PAUSE).await;
    seen.lock().unwrap().ended += 1;
    usage["output_tokens"] = 5.into();
    Json(json!({"type": "message", "model": "m", "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn", "usage": usage}))
    .into_response()
}

fn streamed(seen: Shared, prefix: String, usage: Value, text: &str) -> Response {
    let start = json!({"type": "message_start", "message": {"model": "m", "usage": usage}});
    let delta = json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}});
    let stop =
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}});
    let events = [start, json!({"type": "ping"}), delta, stop, json!({"type": "message_stop"})];
    let pieces = stream::iter(events.into_iter().enumerate()).then(move |(at, event)| {
        let (seen, prefix) = (Arc::clone(&seen), prefix.clone());
        async move {
            match at {
                0 => {
                    tokio::time::sleep(PAUSE).await;
                    seen.lock().unwrap().readable.insert(prefix, true);
                }
                // Long enough for all the others to arrive while the first answer goes on.
                3 => tokio::time::sleep(10 * PAUSE).await,
                4 => seen.lock().unwrap().ended += 1,
                _ => {}
            }
            let name = event["type"].as_str().unwrap();
            Ok::<_, Infallible>(Bytes::from(format!("event: {name}\r\ndata: {event}\r\n\r\n")))
        }
    });
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(pieces)).unwrap()
}

/// Fifty cases on a target with these lines, at the prices of the examples in the documentation.
fn project(server: &CachingServer, target: &str) -> Project {
    let text = format!(
        "name = \"test\"\ngolden = \"golden.jsonl\"\n\
         [prompt]\nsystem = \"Answer from these articles.\"\n\
         [[target]]\nname = \"a\"\nprovider = \"anthropic\"\nmodel = \"m\"\nmax_tokens = 100\n{target}\n\
         [provider.anthropic]\nbase_url = \"{}/v1/\"\napi_key_env = \"TEST_KEY\"\n\
         [[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
         usd_per_mtok = {{ input = 3.00, cache_read = 0.30, cache_write_5m = 3.75, output = 15.00 }}\n",
        server.url
    );
    Project::new().with_cases(50).with("e.toml", &text)
}

/// anthropic-sdk-python issue 1451: parallel requests over one prefix each paid for writing it.
#[test]
fn fifty_cases_write_their_prefix_once_and_read_it_from_the_first_answers_beginning() {
    let server = CachingServer::start(0);
    let project = project(&server, "stream = true\ncache = \"system\"");
    let card = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let seen = server.seen.lock().unwrap();
    assert_eq!((seen.writes, seen.reads), (1, 49));
    assert_eq!(seen.ended_before_second, Some(0), "the others waited for the end of the first answer");
    let target = &card["targets"][0];
    assert_eq!((&target["graded"], &target["pass_rate"]["point"]), (&json!(50), &json!(1.0)));
    assert_eq!(target["cache"]["hit_rate"], 0.98);
    assert_eq!(target["cache"]["tokens_read"], 490_000);
    assert_eq!(target["cache"]["tokens_written"], 10_000);
    // $1.50 for the prefix without a cache, less the $0.1845 that it cost.
    assert_eq!(target["cache"]["saved_usd"], "1.3155");
    // $0.1845 + 50 × (20 × $3 + 5 × $15) a million.
    assert_eq!(target["cost_usd"], "0.19125");
    assert_eq!(target["first_token_ms"]["n"], 50);
    let first_token = target["first_token_ms"]["p50"].as_f64().unwrap();
    let latency = target["latency_ms"]["p50"].as_f64().unwrap();
    assert!(first_token >= 120.0 && first_token + 1_000.0 < latency, "{first_token} of {latency} ms");
    assert!(project.sql::<i64>("SELECT count(*) FROM trial WHERE first_token_ms IS NOT NULL") == 50);
    project
        .caseload(&["show"])
        .exits(0)
        .stdout_has("hit rate 98.0 % (490,000 tokens read, 10,000 written); saved $1.3155 against no caching")
        .stdout_has("first token p50");
}

#[test]
fn without_streaming_the_others_wait_for_the_end_of_the_first_answer() {
    let server = CachingServer::start(0);
    let card = project(&server, "cache = { at = \"system\", ttl = \"5m\" }")
        .caseload(&["run", "e.toml", "--json"])
        .exits(0)
        .json();
    let seen = server.seen.lock().unwrap();
    assert_eq!((seen.writes, seen.reads, seen.ended_before_second), (1, 49, Some(1)));
    assert_eq!(card["targets"][0]["first_token_ms"]["n"], 0);
    assert_eq!(seen.requests[0].get("stream"), None);
}

#[test]
fn when_the_first_request_is_refused_another_one_warms_the_cache() {
    let server = CachingServer::start(2);
    let target = "stream = true\ncache = \"system\"";
    let card = project(&server, target).caseload(&["run", "e.toml", "--json"]).exits(3).json();
    let seen = server.seen.lock().unwrap();
    assert_eq!((seen.requests.len(), seen.writes, seen.reads), (50, 1, 47));
    assert_eq!(card["targets"][0]["not_measured"], json!({"failed": 2}));
}

#[test]
fn a_target_that_asks_for_no_cache_starts_at_once() {
    let server = CachingServer::start(0);
    let card = project(&server, "").caseload(&["run", "e.toml", "--json"]).exits(0).json();
    let seen = server.seen.lock().unwrap();
    assert_eq!(seen.ended_before_second, Some(0));
    assert_eq!(seen.requests[0]["system"], "Answer from these articles.");
    // The server counts a write for each of them all the same, and the card shows it.
    assert_eq!(card["targets"][0]["cache"]["hit_rate"], 0.0);
    assert_eq!(card["targets"][0]["cache"]["saved_usd"], "-0.375");
}

#[test]
fn a_cache_that_cannot_be_is_told_before_anything_is_sent() {
    let server = CachingServer::start(0);
    for (line, part) in [
        ("cache = \"sytem\"", "did you mean `system`?"),
        ("cache = { at = \"system\", ttl = \"2h\" }", "`ttl` is `2h`, expected `5m` or `1h`"),
        ("stream = \"yes\"", "stream"),
        ("extra = { stream = true }", "write `stream = true` there instead"),
    ] {
        project(&server, line).caseload(&["run", "e.toml"]).exits(2).stderr_has(part);
    }
    assert!(server.seen.lock().unwrap().requests.is_empty());
}

#[test]
fn check_tells_what_will_be_cached_and_what_is_too_small() {
    let server = CachingServer::start(0);
    let project = project(&server, "cache = \"system\"");
    project
        .caseload(&["check", "e.toml"])
        .exits(0)
        .stdout_has("cache       system for 5m · 1 different, about");
    let text = std::fs::read_to_string(project.path("e.toml")).unwrap().replace("\"m\"", "\"claude-opus-5\"");
    project.write("e.toml", &text);
    project
        .caseload(&["check", "e.toml"])
        .exits(0)
        .stdout_has("1 of them seem to be below the model's 512 tokens");
}
