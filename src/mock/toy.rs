//! The protocol that nobody speaks, as the mock answers it (see `providers::toy`).

use serde_json::{Value, json};

use super::exchange::{Answer, Dialect, Problem, Question, StreamOptions, words};
use crate::domain::Outcome;

pub(super) static DIALECT: Dialect = Dialect {
    paths: &["/toy"],
    parse,
    success: |answer| {
        let mut body = end(answer);
        body["said"] = answer.text.into();
        body.to_string().into_bytes()
    },
    events: |answer, _| {
        let bits = words(answer.text).map(|bit| json!({"bit": bit})).chain([end(answer)]);
        bits.map(|data| format!("data: {data}\n\n")).collect()
    },
    failure,
    error_event: |body| format!("data: {body}\n\n"),
    request_id_header: "toy-id",
    limit_headers: |_| None,
    full_in: |_| String::new(),
};

fn parse(body: &[u8], _: bool) -> Result<Question, Problem> {
    let body: Value = serde_json::from_slice(body).map_err(|error| Problem::Request(error.to_string()))?;
    let said: Vec<&str> =
        body["say"].as_array().into_iter().flatten().filter_map(|turn| turn[1].as_str()).collect();
    Ok(Question {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        text: said.last().map(|text| (*text).to_owned()).unwrap_or_default(),
        max_tokens: body["most"].as_u64().and_then(|most| u32::try_from(most).ok()),
        prompt_chars: said.iter().map(|text| text.chars().count()).sum(),
        stream: (body["stream"] == true).then_some(StreamOptions { with_usage: true }),
        ..Question::default()
    })
}

fn end(answer: &Answer<'_>) -> Value {
    let why = if answer.outcome == Outcome::Truncated { "most" } else { "done" };
    json!({"why": why, "tokens": [answer.usage.input_total(), answer.usage.output]})
}

fn failure(problem: &Problem, _: u64) -> (u16, Vec<u8>) {
    let (status, wrong) = match problem {
        Problem::Key => (401, "that is not the key"),
        Problem::Request(message) => (400, message.as_str()),
        Problem::TooLarge => (413, "too large"),
        Problem::RateLimit(_) => (429, "too fast"),
        Problem::Server => (500, "out of order"),
        Problem::Overloaded => (503, "busy"),
    };
    (status, json!({"wrong": wrong}).to_string().into_bytes())
}
