//! The Messages API of Anthropic.
//!
//! Source: Anthropic API reference, "Messages" and "Errors"; header `anthropic-version: 2023-06-01`.

mod count_tokens;
mod errors;
mod limits;
pub mod stream;
mod usage;

use serde_json::{Map, Value, json};

use self::stream::MessageStream;
use super::{
    Rejection,
    dialect::{Assembler, Dialect, DialectSettings, Facts},
    families::family,
    parameters::merge,
    tokens::Tokenizer,
    wire::{
        body::posted,
        error_body::ErrorBody,
        response::{error_reply, header, with_headers},
        transport::{HttpResponse, KeyHeader},
    },
};
use crate::domain::{CacheLifetime, Message, Metered, Outcome, PromptCache, Question, Reply, Role, Wire};

/// Anthropic.
pub static FACTS: Facts = Facts {
    name: "anthropic",
    base_url: "https://api.anthropic.com",
    key_variable: "ANTHROPIC_API_KEY",
    key_header: KeyHeader { name: "x-api-key", prefix: "" },
    is_spoken_elsewhere: false,
    default_output: Some(DEFAULT_MAX_TOKENS),
    cache_fields: &["cache_control"],
    tokenizer: Tokenizer::ClaudeCharacters,
    counting: Some(count_tokens::COUNTING),
    make: |facts, settings| Box::new(Anthropic { facts, prefix: version_prefix(settings) }),
};

/// Sent when a target sets no `max_tokens`: the API requires one.
const DEFAULT_MAX_TOKENS: u64 = 1_024;

/// With more output than this an answer may take longer than the ten minutes that an unstreamed
/// request is given (the official clients reckon 128,000 tokens an hour), so it is streamed.
pub const MAX_UNSTREAMED_TOKENS: u64 = 21_333;

/// The field that limits the output.
const OUTPUT_FIELDS: [&str; 1] = ["max_tokens"];

/// The version of the protocol.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// Anthropic's Messages API.
#[derive(Debug)]
pub struct Anthropic {
    facts: &'static Facts,
    prefix: &'static str,
}

/// What stands before each path: the documentation gives the URL without `/v1`; many have it in their
/// settings.
fn version_prefix(settings: &DialectSettings<'_>) -> &'static str {
    if settings.base_url.trim().trim_end_matches('/').ends_with("/v1") { "" } else { "/v1" }
}

impl Dialect for Anthropic {
    fn facts(&self) -> &'static Facts {
        self.facts
    }

    fn wire(&self, question: &Question) -> Wire {
        let largest = family(question.model.as_str()).and_then(|family| family.max_output);
        posted_with_version(format!("{}/messages", self.prefix), &body(question), largest)
    }

    fn read(&self, response: &HttpResponse) -> Result<Reply, Rejection> {
        read_reply(response)
    }

    fn assembler(&self) -> Box<dyn Assembler> {
        Box::new(MessageStream::default())
    }
}

fn posted_with_version(path: String, body: &Map<String, Value>, largest_output: Option<u64>) -> Wire {
    let (name, version) = VERSION;
    Wire {
        headers: vec![(name.to_owned(), version.to_owned())],
        ..posted(path, body, &OUTPUT_FIELDS, largest_output)
    }
}

/// The request body.
fn body(question: &Question) -> Map<String, Value> {
    let parameters = &question.parameters;
    let mut body = Map::new();
    body.insert("model".into(), question.model.as_str().into());
    body.insert("max_tokens".into(), parameters.max_tokens.map_or(DEFAULT_MAX_TOKENS, u64::from).into());
    let turns = question.prompt.messages.iter().filter(|message| message.role != Role::System);
    let mut turns: Vec<Value> = turns.map(turn).collect();
    let mut system = system(question).map(Value::String);
    if let Some(cache) = parameters.cache {
        // The marker stands on the last block that requests share.
        let before = question.prompt.messages.iter().take(question.prompt.cached_messages(cache.at));
        let within = before.filter(|message| message.role != Role::System).count();
        if let Some(block) = within.checked_sub(1).map(|last| &mut turns[last]["content"]).or(system.as_mut())
        {
            *block = json!([{"type": "text", "text": block, "cache_control": cache_control(cache)}]);
        }
    }
    if let Some(system) = system {
        body.insert("system".into(), system);
    }
    body.insert("messages".into(), turns.into());
    if let Some(temperature) = parameters.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(top_p) = parameters.top_p {
        body.insert("top_p".into(), top_p.into());
    }
    if !parameters.stop.is_empty() {
        body.insert("stop_sequences".into(), parameters.stop.clone().into());
    }
    if parameters.stream {
        body.insert("stream".into(), true.into());
    }
    merge(&mut body, &parameters.extra);
    if body.get("max_tokens").and_then(Value::as_u64).is_some_and(|tokens| tokens > MAX_UNSTREAMED_TOKENS) {
        body.insert("stream".into(), true.into());
    }
    body
}

/// The marker up to which everything is cached.
///
/// Source: Anthropic's guide on prompt caching.
fn cache_control(cache: PromptCache) -> Value {
    match cache.lifetime {
        CacheLifetime::FiveMinutes => json!({"type": "ephemeral"}),
        CacheLifetime::OneHour => json!({"type": "ephemeral", "ttl": CacheLifetime::OneHour.as_str()}),
    }
}

/// All instructions above the conversation in one: this API has no messages of that role.
fn system(question: &Question) -> Option<String> {
    let within = question.prompt.messages.iter().filter(|message| message.role == Role::System);
    let all: Vec<&str> = question
        .prompt
        .system
        .as_deref()
        .into_iter()
        .chain(within.map(|message| message.content.text()))
        .filter(|text| !text.is_empty())
        .collect();
    (!all.is_empty()).then(|| all.join("\n\n"))
}

fn turn(message: &Message) -> Value {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    json!({"role": role, "content": message.content})
}

/// Reads a complete response.
fn read_reply(response: &HttpResponse) -> Result<Reply, Rejection> {
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
        (Some(error), _) => error_reply(response, &error, errors::meaning(response.status, &error)),
        (None, Some(body)) => read_message(&body),
        (None, None) => Err(Rejection::malformed("the answer is not JSON")),
    };
    with_headers(read, request_id, limits::limits(&response.headers, response.received_at))
}

/// Reads one message object: the body of an answer, or of one result of a batch.
///
/// # Errors
/// A [`Rejection`] when it is no message.
fn read_message(message: &Value) -> Result<Reply, Rejection> {
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
        metered: message.get("usage").map_or_else(Metered::default, usage::usage),
        model: message.get("model").and_then(Value::as_str).map(str::to_owned),
        ..Reply::answered("")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        domain::{
            Bounds, CacheLifetime, CachePoint, ErrorClass, FailureKind, LimitDimension, Parameters,
            PromptCache, Usage, UsageFlag,
        },
        providers::{test_question::question, wire::response::tests::response},
    };

    fn read(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Reply, Rejection> {
        read_reply(&response(status, headers, body))
    }

    /// The body as it is sent.
    fn sent(question: &Question) -> Value {
        serde_json::from_slice(&dialect("http://x").wire(question).body).unwrap()
    }

    fn dialect(base_url: &str) -> Box<dyn Dialect> {
        (FACTS.make)(&FACTS, &DialectSettings { base_url, max_tokens_field: None })
    }

    #[test]
    fn the_wire_form_is_the_body_in_its_order_and_the_version() {
        let mut question = question();
        let parameters = Parameters { temperature: Some(0.5), stream: true, ..Parameters::default() };
        question.parameters = Arc::new(parameters);
        question.prompt.system = Some("Be brief.".into());
        let wire = dialect("https://api.anthropic.com/").wire(&question);
        let body = concat!(
            r#"{"model":"m-1","max_tokens":1024,"system":"Be brief.","#,
            r#""messages":[{"role":"user","content":"hello"}],"temperature":0.5,"stream":true}"#
        );
        assert_eq!(wire.body, body);
        assert_eq!((wire.path.as_str(), wire.streamed), ("/v1/messages", true));
        assert_eq!(wire.headers, [("anthropic-version".to_owned(), "2023-06-01".to_owned())]);
        let (input, output) = (Some(body.len() as u64), Some(1_024));
        assert_eq!(wire.bounds, Bounds { input, output, said_output: output });
        assert_eq!(dialect("https://proxy/v1/").wire(&question).path, "/messages");
    }

    #[test]
    fn a_bare_request_sends_only_what_the_api_requires() {
        assert_eq!(
            sent(&question()),
            json!({"model": "m-1", "max_tokens": 1024, "messages": [{"role": "user", "content": "hello"}]})
        );
    }

    #[test]
    fn every_setting_goes_into_its_field_and_extra_wins() {
        let mut question = question();
        question.prompt.system = Some("Be brief.".into());
        let message = |role, content: &str| Message { role, content: content.into() };
        question.prompt.messages = vec![
            message(Role::System, "Answer in French."),
            message(Role::User, "one"),
            message(Role::Assistant, "un"),
            message(Role::User, "two"),
        ];
        question.parameters = Arc::new(Parameters {
            max_tokens: Some(50),
            temperature: Some(0.5),
            top_p: Some(0.9),
            stop: vec!["END".to_owned()],
            stream: true,
            extra: json!({"thinking": {"type": "adaptive"}, "max_tokens": 99}).as_object().unwrap().clone(),
            ..Parameters::default()
        });
        assert_eq!(
            sent(&question),
            json!({
                "model": "m-1", "max_tokens": 99, "system": "Be brief.\n\nAnswer in French.",
                "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "un"},
                             {"role": "user", "content": "two"}],
                "temperature": 0.5, "top_p": 0.9, "stop_sequences": ["END"], "stream": true,
                "thinking": {"type": "adaptive"},
            })
        );
    }

    #[test]
    fn an_answer_that_may_take_long_is_streamed_unasked() {
        let mut question = question();
        for (max_tokens, streams) in [(21_333, Value::Null), (21_334, json!(true))] {
            let parameters = Parameters { max_tokens: Some(max_tokens), ..Parameters::default() };
            question.parameters = Arc::new(parameters);
            assert_eq!(sent(&question)["stream"], streams);
        }
    }

    #[test]
    fn the_marker_stands_on_the_last_block_that_requests_share() {
        let mut question = question();
        let message = |role, content: &str| Message { role, content: content.into() };
        question.prompt.system = Some("Rules.".into());
        question.prompt.messages =
            vec![message(Role::User, "one"), message(Role::Assistant, "un"), message(Role::User, "two")];
        let mut wire = |at, lifetime, system: Option<&str>, messages: usize| {
            question.prompt.system = system.map(Into::into);
            let mut question = question.clone();
            question.prompt.messages.drain(..3 - messages);
            let cache = Some(PromptCache { at, lifetime });
            question.parameters = Arc::new(Parameters { cache, ..Parameters::default() });
            sent(&question)
        };
        let (short, long) = (CacheLifetime::FiveMinutes, CacheLifetime::OneHour);
        let body = wire(CachePoint::System, long, Some("Rules."), 3);
        let control = json!({"type": "ephemeral", "ttl": "1h"});
        assert_eq!(body["system"], json!([{"type": "text", "text": "Rules.", "cache_control": control}]));
        assert_eq!(body["messages"][1]["content"], "un");

        let body = wire(CachePoint::History, short, Some("Rules."), 3);
        let control = json!({"type": "ephemeral"});
        assert_eq!(body["system"], "Rules.");
        assert_eq!(
            body["messages"][1]["content"],
            json!([{"type": "text", "text": "un", "cache_control": control}])
        );
        assert_eq!(body["messages"][2]["content"], "two");

        let body = wire(CachePoint::History, short, Some("Rules."), 1);
        assert_eq!(body["system"][0]["cache_control"], control);
        assert_eq!(wire(CachePoint::System, short, None, 1).get("system"), None);
    }

    #[test]
    fn an_answer_is_read_with_all_that_came_beside_it() {
        let body = r#"{"id":"msg_0aa1","type":"message","role":"assistant","model":"claude-opus-5",
            "content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"It is "},
                       {"type":"text","text":"Oslo."}],
            "stop_reason":"end_turn","stop_sequence":null,"stop_details":null,
            "usage":{"input_tokens":31,"cache_creation_input_tokens":0,"cache_read_input_tokens":1200,
                     "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},
                     "output_tokens":90,"output_tokens_details":{"thinking_tokens":80}}}"#;
        let headers =
            [("request-id", "req_0aa1"), ("anthropic-ratelimit-requests-limit", "50"), ("retry-after", "30")];
        let reply = read(200, &headers, body).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "It is Oslo."));
        assert_eq!(reply.stop_reason.as_deref(), Some("end_turn"));
        assert_eq!(reply.model.as_deref(), Some("claude-opus-5"));
        assert_eq!(reply.request_id.as_deref(), Some("req_0aa1"));
        assert_eq!(reply.limits.readings[0].dimension, LimitDimension::Requests);
        let usage = Usage {
            input_uncached: 31,
            cache_read: 1_200,
            output: 90,
            reasoning: Some(80),
            ..Usage::default()
        };
        assert_eq!(reply.metered, usage.into());
    }

    #[test]
    fn every_way_to_stop_has_its_outcome() {
        for (stop, outcome) in [
            ("end_turn", Outcome::Answered),
            ("stop_sequence", Outcome::Answered),
            ("tool_use", Outcome::Answered),
            ("pause_turn", Outcome::Answered),
            ("max_tokens", Outcome::Truncated),
            ("model_context_window_exceeded", Outcome::Truncated),
            ("refusal", Outcome::Refused),
        ] {
            let body = json!({"type": "message", "content": [], "stop_reason": stop,
                              "usage": {"input_tokens": 5, "output_tokens": 0}});
            let reply = read(200, &[], &body.to_string()).unwrap();
            assert_eq!((reply.outcome, reply.text.as_str()), (outcome, ""), "{stop}");
        }
    }

    #[test]
    fn a_write_of_unknown_lifetime_is_flagged() {
        let body = r#"{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn",
            "usage":{"input_tokens":8,"cache_creation_input_tokens":1100,"output_tokens":2}}"#;
        assert_eq!(read(200, &[], body).unwrap().metered.flag, Some(UsageFlag::LifetimeAssumed));
    }

    #[test]
    fn an_error_is_read_with_its_wait_and_its_id() {
        let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"Input tokens a minute."},
                       "request_id":"req_0bb2"}"#;
        let headers = [
            ("date", "Tue, 03 Mar 2026 08:00:00 GMT"),
            ("retry-after", "Tue, 03 Mar 2026 08:00:12 GMT"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
        ];
        let rejection = read(429, &headers, body).unwrap_err();
        assert_eq!(rejection.failure.class, ErrorClass::RetrySlow);
        assert_eq!(rejection.failure.retry_after.unwrap().as_secs(), 12);
        assert_eq!(rejection.failure.message, "Input tokens a minute.");
        assert_eq!(rejection.request_id.as_deref(), Some("req_0bb2"));
        assert_eq!(rejection.limits.readings[0].remaining, Some(0));
    }

    #[test]
    fn every_documented_error_has_its_class() {
        for (status, body, class, kind) in [
            (
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your API usage limits.","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
                ErrorClass::StopQueue,
                FailureKind::Billing,
            ),
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
                ErrorClass::StopQueue,
                FailureKind::Authentication,
            ),
            (
                404,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-none"}}"#,
                ErrorClass::StopTarget,
                FailureKind::UnknownModel,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
                ErrorClass::ThisTrial,
                FailureKind::ContextTooLong,
            ),
            (502, "<html><h1>502 Bad Gateway</h1></html>", ErrorClass::Retry, FailureKind::Server),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                ErrorClass::Retry,
                FailureKind::Overloaded,
            ),
            (
                200,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                ErrorClass::Retry,
                FailureKind::Overloaded,
            ),
            (200, "<html>sign in</html>", ErrorClass::Retry, FailureKind::Malformed),
            (200, r#"{"type":"message"}"#, ErrorClass::Retry, FailureKind::Malformed),
        ] {
            let failure = read(status, &[], body).unwrap_err().failure;
            assert_eq!((failure.class, failure.kind, failure.status), (class, kind, Some(status)), "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_response_panics(status in 200_u16..600, body in prop::collection::vec(any::<u8>(), 0..200)) {
            let headers = Default::default();
            let received_at = std::time::SystemTime::UNIX_EPOCH;
            let _ = read_reply(&HttpResponse { status, headers, body: body.into(), received_at });
        }
    }
}
