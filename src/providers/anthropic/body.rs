//! The body of a request, and how it is posted.

use serde_json::{Map, Value, json};

use crate::{
    domain::{CacheLifetime, Message, PromptCache, Question, Role, USUAL_OUTPUT_TOKENS, Wire},
    providers::{dialect::DialectSettings, parameters::merge, wire::body::posted},
};

/// With more output than this an answer may take longer than the ten minutes that an unstreamed
/// request is given (the official clients reckon 128,000 tokens an hour), so it is streamed.
const MAX_UNSTREAMED_TOKENS: u64 = 21_333;

/// The field that limits the output.
const OUTPUT_FIELDS: [&str; 1] = ["max_tokens"];

/// The version of the protocol.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// What stands before each path: the documentation gives the URL without `/v1`; many have it in their
/// settings.
pub(super) fn version_prefix(settings: &DialectSettings<'_>) -> &'static str {
    if settings.base_url.trim().trim_end_matches('/').ends_with("/v1") { "" } else { "/v1" }
}

/// The request that posts `body`, with the protocol's version.
pub(super) fn posted_with_version(
    path: String,
    body: &Map<String, Value>,
    largest_output: Option<u64>,
) -> Wire {
    let (name, version) = VERSION;
    Wire {
        headers: vec![(name.to_owned(), version.to_owned())],
        ..posted(path, body, &OUTPUT_FIELDS, largest_output)
    }
}

/// The request body.
pub(super) fn body(question: &Question) -> Map<String, Value> {
    let parameters = &question.parameters;
    let mut body = Map::new();
    body.insert("model".into(), question.model.as_str().into());
    // The API requires one.
    body.insert("max_tokens".into(), parameters.max_tokens.map_or(USUAL_OUTPUT_TOKENS, u64::from).into());
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        domain::{CachePoint, Parameters},
        providers::test_question::question,
    };

    /// The body as it is sent.
    fn sent(question: &Question) -> Value {
        Value::Object(body(question))
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
}
