//! The Messages API of Anthropic.
//!
//! Source: Anthropic API reference, "Messages" and "Errors"; header `anthropic-version: 2023-06-01`.

use std::time::SystemTime;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{
    HttpError, HttpSettings, Rejection, Secrets, classify,
    error_body::ErrorBody,
    http::{HttpResponse, Transport},
    limit_headers::anthropic_limits,
    parameters::merge,
    response::{error_reply, header, with_headers},
    usage::anthropic_usage,
};
use crate::domain::{Message, Metered, Outcome, Reply, Request, Role};

/// Sent when a target sets no `max_tokens`: the API requires one.
const DEFAULT_MAX_TOKENS: u32 = 1_024;

/// One account with Anthropic.
#[derive(Debug)]
pub struct AnthropicSettings {
    /// How the server is reached.
    pub http: HttpSettings,
    /// The API key.
    pub key: SecretString,
}

impl AnthropicSettings {
    /// Where the API stands.
    pub const BASE_URL: &'static str = "https://api.anthropic.com";
}

/// Anthropic's Messages API.
#[derive(Debug)]
pub struct Anthropic {
    http: Transport,
}

impl Anthropic {
    /// Sets up the connections; sends nothing.
    ///
    /// # Errors
    /// When the base URL, a header or the key cannot be used.
    pub fn new(settings: &AnthropicSettings) -> Result<Self, HttpError> {
        // The documentation gives the URL without `/v1`; many have it in their settings.
        let base = settings.http.base_url.trim().trim_end_matches('/');
        let path = if base.ends_with("/v1") { "/messages" } else { "/v1/messages" };
        let fixed = [("anthropic-version", "2023-06-01")];
        let key = ("x-api-key", settings.key.expose_secret().to_owned(), &settings.key);
        Ok(Self { http: Transport::new(&settings.http, path, &fixed, Some(key))? })
    }

    /// Asks once.
    ///
    /// # Errors
    /// A [`Rejection`] when no answer came back.
    pub async fn send(&self, request: &Request) -> Result<Reply, Rejection> {
        let response = self.http.post(&to_wire(request)).await?;
        read_reply(&response, self.http.secrets(), SystemTime::now())
    }
}

/// The request body.
pub fn to_wire(request: &Request) -> Value {
    let parameters = &request.parameters;
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    body.insert("max_tokens".into(), parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS).into());
    if let Some(system) = system(request) {
        body.insert("system".into(), system.into());
    }
    let turns = request.prompt.messages.iter().filter(|message| message.role != Role::System);
    body.insert("messages".into(), turns.map(turn).collect());
    if let Some(temperature) = parameters.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(top_p) = parameters.top_p {
        body.insert("top_p".into(), top_p.into());
    }
    if !parameters.stop.is_empty() {
        body.insert("stop_sequences".into(), parameters.stop.clone().into());
    }
    merge(&mut body, &parameters.extra);
    Value::Object(body)
}

/// All instructions above the conversation in one: this API has no messages of that role.
fn system(request: &Request) -> Option<String> {
    let within = request.prompt.messages.iter().filter(|message| message.role == Role::System);
    let all: Vec<&str> = request
        .prompt
        .system
        .as_deref()
        .into_iter()
        .chain(within.map(|message| message.content.as_str()))
        .filter(|text| !text.is_empty())
        .collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

fn turn(message: &Message) -> Value {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    json!({"role": role, "content": message.content})
}

/// Reads a complete response.
///
/// # Errors
/// A [`Rejection`] when it holds no answer. `now` stands in for the server's clock where it tells
/// none.
pub fn read_reply(response: &HttpResponse, secrets: &Secrets, now: SystemTime) -> Result<Reply, Rejection> {
    let body = serde_json::from_slice::<Value>(&response.body).ok();
    let request_id = header(&response.headers, "request-id")
        .or_else(|| Some(body.as_ref()?.get("request_id")?.as_str()?.to_owned()));
    let is_error = !(200..300).contains(&response.status);
    let error = if is_error {
        Some(ErrorBody::read(&response.body))
    } else {
        body.as_ref()
            .filter(|body| body.get("error").is_some_and(|error| !error.is_null()))
            .and_then(ErrorBody::of)
    };
    let read = match (error, body) {
        (Some(error), _) => {
            let meaning = classify::anthropic(response.status, &error);
            error_reply(response, &error, meaning, secrets, now)
        }
        (None, Some(body)) => read_message(&body),
        (None, None) => Err(Rejection::malformed("the answer is not JSON")),
    };
    with_headers(read, request_id, anthropic_limits(&response.headers, now))
}

/// Reads one message object: the body of an answer, or of one result of a batch.
///
/// # Errors
/// A [`Rejection`] when it is no message.
pub fn read_message(message: &Value) -> Result<Reply, Rejection> {
    let Some(blocks) = message.get("content").and_then(Value::as_array) else {
        return Err(Rejection::malformed("the answer has no list `content`"));
    };
    let stop_reason = message.get("stop_reason").and_then(Value::as_str);
    let outcome = match stop_reason {
        Some("max_tokens" | "model_context_window_exceeded") => Outcome::Truncated,
        Some("refusal") => Outcome::Refused,
        // `end_turn`, `stop_sequence`, `tool_use`, `pause_turn`, and what is yet to be invented.
        _ => Outcome::Answered,
    };
    // Thinking comes in blocks of its own, often the first, and is not the answer.
    let text = blocks
        .iter()
        .filter(|block| block.get("type").and_then(Value::as_str) == Some("text"))
        .filter_map(|block| block.get("text")?.as_str())
        .collect();
    Ok(Reply {
        outcome,
        text,
        stop_reason: stop_reason.map(str::to_owned),
        metered: message.get("usage").map_or_else(Metered::default, anthropic_usage),
        model: message.get("model").and_then(Value::as_str).map(str::to_owned),
        ..Reply::answered("")
    })
}
