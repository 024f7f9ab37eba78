//! What the server answered that the stores' live runs asked.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{Answer, Stub};

/// The number of the question that a request asks.
fn number(body: &Value) -> usize {
    let messages = body["messages"].as_array().expect("a request has messages");
    let content = &messages.last().expect("one at least")["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str()).expect("a text");
    let digits = text.strip_prefix("Question ").and_then(|rest| rest.split(':').next());
    digits.and_then(|digits| digits.parse().ok()).expect("every question has its number")
}

fn right(number: usize) -> String {
    match number {
        3 => "fourteen days, that is 14".to_owned(),
        4 => "billing".to_owned(),
        5 => "right 5".to_owned(),
        7 => r#"{"answer": "right 7"}"#.to_owned(),
        8 => "right 8: 14 days [refunds#2]".to_owned(),
        _ => format!("It is right {number}."),
    }
}

fn message(text: &str, stop_reason: &str) -> Answer {
    Answer::json(&json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-served",
        "content": [{"type": "text", "text": text}], "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {
            "input_tokens": 100, "cache_creation_input_tokens": 700, "cache_read_input_tokens": 200,
            "cache_creation": {"ephemeral_5m_input_tokens": 700, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 50,
        },
    }))
    .header("request-id", "req-a")
}

fn completion(text: &str, refusal: Option<&str>, finish_reason: &str, usage: &Value) -> Answer {
    Answer::json(&json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served-model",
        "system_fingerprint": "fp-1",
        "choices": [{
            "index": 0, "finish_reason": finish_reason,
            "message": {"role": "assistant", "content": text, "refusal": refusal},
        }],
        "usage": usage,
    }))
    .header("x-request-id", "req-o")
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 1000, "completion_tokens": 60, "total_tokens": 1060,
        "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 20},
    })
}

/// A server under which every outcome occurs: `claude` is Anthropic's, `gone` is refused after its
/// fifth question, the others meet their weather by the question's number.
pub(super) fn weather() -> Stub {
    let asked: Mutex<HashMap<String, usize>> = Mutex::default();
    Stub::new(move |_, body| {
        let model = body["model"].as_str().expect("a model").to_owned();
        let n = number(body);
        let mut asked = asked.lock().expect("no thread panics");
        let tried = asked.entry(format!("{model} {n}")).or_default();
        *tried += 1;
        match (model.as_str(), n) {
            ("claude", 2) => message("I would rather not.", "refusal"),
            ("claude", 6) => message("right ", "max_tokens"),
            ("claude", n) if n % 4 == 1 => message("It is wrong.", "end_turn"),
            ("claude", n) => message(&right(n), "end_turn"),
            ("gone", n) if n >= 5 => Answer::error(404, "model_not_found", "The model `gone` does not exist"),
            (_, n) => weather_of(n, *tried),
        }
    })
}

fn weather_of(n: usize, tried: usize) -> Answer {
    match n {
        1 => completion("It is wrong.", None, "stop", &usage()),
        2 => completion("", Some("I cannot help with that."), "stop", &usage()),
        4 => completion("bill", None, "length", &usage()),
        6 => completion("", None, "content_filter", &usage()),
        10 => completion("", None, "length", &usage()),
        12 => Answer::error(400, "context_length_exceeded", "maximum context length is 5 tokens"),
        13 if tried < 3 => Answer::error(503, "server_error", "try again"),
        14 => Answer::error(500, "server_error", "no luck"),
        15 => completion(&right(n), None, "stop", &Value::Null),
        16 => completion(
            &right(n),
            None,
            "stop",
            &json!({"prompt_tokens": 10, "completion_tokens": 5,
            "total_tokens": 15, "prompt_tokens_details": {"cached_tokens": 90}}),
        ),
        17 => completion(&"A long answer that is packed. ".repeat(200), None, "stop", &usage()),
        18 => Answer { body: "<html>".to_owned(), ..Answer::chat("") },
        _ => completion(&right(n), None, "stop", &usage()),
    }
}

/// A server under which all is well.
pub(super) fn fair() -> Stub {
    Stub::new(|_, body| match body["model"].as_str() {
        Some("claude") => message(&right(number(body)), "end_turn"),
        _ => completion(&right(number(body)), None, "stop", &usage()),
    })
}

/// A server that answers the first `prompt` requests at once and the others after ten seconds.
pub(super) fn slow_after(prompt: usize) -> Stub {
    let seen = AtomicUsize::new(0);
    Stub::new(move |_, body| {
        let at_once = seen.fetch_add(1, Ordering::SeqCst) < prompt;
        let answer = completion(&right(number(body)), None, "stop", &usage());
        if at_once { answer } else { answer.after(Duration::from_secs(10)) }
    })
}
