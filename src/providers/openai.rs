//! Chat Completions: OpenAI's, and that of every server which speaks it.
//!
//! Source: OpenAI API reference, "Chat"; the servers' own documentation where they differ (vLLM,
//! Ollama, OpenRouter, Groq, Together, DeepSeek, Mistral, xAI, Azure). Every detail that only some of
//! them send is optional.

use std::time::SystemTime;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    HttpError, HttpSettings, Rejection, Secrets,
    classify::{self, Meaning},
    error_body::ErrorBody,
    http::{HttpResponse, Transport},
    limit_headers::openai_limits,
    parameters::merge,
    response::{error_reply, header, with_headers, with_usage},
    retry_after::retry_after,
    usage::openai_usage,
};
use crate::domain::{Message, Metered, Outcome, Reply, Request, Role};

/// The field in which a server takes the limit of output tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// The older name, which most compatible servers know alone.
    MaxTokens,
    /// OpenAI's name: its reasoning models reject the older one.
    MaxCompletionTokens,
}

impl MaxTokensField {
    fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    /// The field that the server at `base_url` takes: OpenAI's own its new one, others the old one.
    fn of_server(base_url: &str) -> Self {
        let host =
            reqwest::Url::parse(base_url.trim()).ok().and_then(|url| url.host_str().map(str::to_owned));
        // `eu.api.openai.com` and the like are OpenAI's regional doors.
        match host {
            Some(host) if host == "api.openai.com" || host.ends_with(".api.openai.com") => {
                Self::MaxCompletionTokens
            }
            _ => Self::MaxTokens,
        }
    }
}

/// One account with OpenAI or a compatible server.
#[derive(Debug)]
pub struct OpenAiSettings {
    /// How the server is reached.
    pub http: HttpSettings,
    /// The API key; a server of one's own often needs none.
    pub key: Option<SecretString>,
    /// The field for the limit of output tokens; `None`: by the server.
    pub max_tokens_field: Option<MaxTokensField>,
}

impl OpenAiSettings {
    /// Where OpenAI's API stands.
    pub const BASE_URL: &'static str = "https://api.openai.com/v1";
}

/// A server that speaks Chat Completions.
#[derive(Debug)]
pub struct OpenAi {
    http: Transport,
    max_tokens_field: MaxTokensField,
}

impl OpenAi {
    /// Sets up the connections; sends nothing.
    ///
    /// # Errors
    /// When the base URL, a header or the key cannot be used.
    pub fn new(settings: &OpenAiSettings) -> Result<Self, HttpError> {
        let key = settings
            .key
            .as_ref()
            .map(|key| ("authorization", format!("Bearer {}", key.expose_secret().trim()), key));
        Ok(Self {
            http: Transport::new(&settings.http, "/chat/completions", &[], key)?,
            max_tokens_field: settings
                .max_tokens_field
                .unwrap_or_else(|| MaxTokensField::of_server(&settings.http.base_url)),
        })
    }

    /// Asks once.
    ///
    /// # Errors
    /// A [`Rejection`] when no answer came back.
    pub async fn send(&self, request: &Request) -> Result<Reply, Rejection> {
        let response = self.http.post(&to_wire(request, self.max_tokens_field)).await?;
        read_reply(&response, self.http.secrets(), SystemTime::now())
    }
}

/// The request body.
pub fn to_wire(request: &Request, max_tokens_field: MaxTokensField) -> Value {
    let parameters = &request.parameters;
    let mut body = Map::new();
    body.insert("model".into(), request.model.as_str().into());
    let system = request.prompt.system.iter().map(|text| json!({"role": "system", "content": text.as_ref()}));
    body.insert("messages".into(), system.chain(request.prompt.messages.iter().map(turn)).collect());
    if let Some(max_tokens) = parameters.max_tokens {
        body.insert(max_tokens_field.as_str().into(), max_tokens.into());
    }
    if let Some(temperature) = parameters.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(top_p) = parameters.top_p {
        body.insert("top_p".into(), top_p.into());
    }
    if !parameters.stop.is_empty() {
        body.insert("stop".into(), parameters.stop.clone().into());
    }
    merge(&mut body, &parameters.extra);
    Value::Object(body)
}

fn turn(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({"role": role, "content": message.content})
}

/// Reads a complete response.
///
/// # Errors
/// A [`Rejection`] when it holds no answer. `now` stands in for the server's clock where it tells
/// none.
pub fn read_reply(response: &HttpResponse, secrets: &Secrets, now: SystemTime) -> Result<Reply, Rejection> {
    let body = serde_json::from_slice::<Value>(&response.body).ok();
    let request_id = ["x-request-id", "apim-request-id"]
        .iter()
        .find_map(|name| header(&response.headers, name))
        .or_else(|| Some(body.as_ref()?.get("id")?.as_str()?.to_owned()));
    let read = if (200..300).contains(&response.status) {
        match &body {
            Some(body) => match error_within(body) {
                Some(error) => with_usage(error_answer(response, &error, secrets, now), usage(body)),
                None => read_completion(body),
            },
            None => Err(Rejection::malformed("the answer is not JSON")),
        }
    } else {
        error_answer(response, &ErrorBody::read(&response.body), secrets, now)
    };
    with_headers(read, request_id, openai_limits(&response.headers))
}

fn error_answer(
    response: &HttpResponse,
    error: &ErrorBody,
    secrets: &Secrets,
    now: SystemTime,
) -> Result<Reply, Rejection> {
    let status = if response.status < 400 { error.status().unwrap_or(500) } else { response.status };
    let asks_to_wait = retry_after(&response.headers, now).is_some();
    let meaning: Meaning = classify::openai(status, error, asks_to_wait);
    error_reply(response, error, meaning, secrets, now)
}

/// The error in a body of status 200: OpenRouter reports upstream errors there, at the top or in the
/// choice, since it has begun to answer by then.
fn error_within(body: &Value) -> Option<ErrorBody> {
    let choice = body.pointer("/choices/0");
    let holder = [Some(body), choice]
        .into_iter()
        .flatten()
        .find(|holder| holder.get("error").is_some_and(|error| !error.is_null()));
    if let Some(holder) = holder {
        return ErrorBody::of(holder).or_else(|| Some(ErrorBody::default()));
    }
    if choice?.get("finish_reason")?.as_str()? == "error" {
        return Some(ErrorBody {
            message: "the generation ended in an error".into(),
            ..ErrorBody::default()
        });
    }
    None
}

/// Reads one completion object: the body of an answer, or of one result of a batch.
///
/// # Errors
/// A [`Rejection`] when it is no completion.
pub fn read_completion(completion: &Value) -> Result<Reply, Rejection> {
    let Some(choice) = completion.pointer("/choices/0") else {
        return Err(Rejection {
            metered: usage(completion),
            ..Rejection::malformed("the answer has no choice")
        });
    };
    let stop_reason = choice.get("finish_reason").and_then(Value::as_str);
    let message = choice.get("message").filter(|message| message.is_object());
    // Azure leaves the message out where its filter withheld it.
    if message.is_none() && stop_reason != Some("content_filter") {
        let malformed = Rejection::malformed("the answer's choice has no message");
        return Err(Rejection { metered: usage(completion), ..malformed });
    }
    let refusal = message
        .and_then(|message| message.get("refusal"))
        .and_then(Value::as_str)
        .filter(|refusal| !refusal.is_empty());
    let (outcome, text) = match (refusal, stop_reason) {
        (_, Some("content_filter")) => (Outcome::Filtered, text(message)),
        // The finish reason of a refusal is an ordinary `stop`.
        (Some(refusal), _) => (Outcome::Refused, refusal.to_owned()),
        (None, Some("length" | "model_length")) => (Outcome::Truncated, text(message)),
        // `stop`, `tool_calls`, `function_call`, and what servers have invented beside.
        (None, _) => (Outcome::Answered, text(message)),
    };
    let word = |name: &str| completion.get(name).and_then(Value::as_str).map(str::to_owned);
    Ok(Reply {
        outcome,
        text,
        stop_reason: stop_reason.map(str::to_owned),
        metered: usage(completion),
        model: word("model"),
        system_fingerprint: word("system_fingerprint"),
        ..Reply::answered("")
    })
}

fn usage(completion: &Value) -> Metered {
    let model = completion.get("model").and_then(Value::as_str);
    completion.get("usage").map_or_else(Metered::default, |usage| openai_usage(usage, model))
}

/// The answer's text: `content` is a string, nothing, or (Mistral's reasoning models) a list of
/// chunks, of which those of type `text` are the answer. Reasoning stands in fields of its own.
fn text(message: Option<&Value>) -> String {
    match message.and_then(|message| message.get("content")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(chunks)) => chunks
            .iter()
            .filter(|chunk| chunk.get("type").and_then(Value::as_str) == Some("text"))
            .filter_map(|chunk| chunk.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}
