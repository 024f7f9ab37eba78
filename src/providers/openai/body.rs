//! The body of a request.

use serde_json::{Map, Value, json};

use crate::{
    domain::{Message, Question, Role},
    providers::{dialect::MaxTokensField, parameters::merge},
};

/// The field that the server at `base_url` takes: OpenAI's own its new one, others the old one.
pub(super) fn output_field_of(base_url: &str) -> MaxTokensField {
    let host = reqwest::Url::parse(base_url.trim()).ok().and_then(|url| url.host_str().map(str::to_owned));
    // `eu.api.openai.com` and the like are OpenAI's regional doors.
    match host {
        Some(host) if host == "api.openai.com" || host.ends_with(".api.openai.com") => {
            MaxTokensField::MaxCompletionTokens
        }
        _ => MaxTokensField::MaxTokens,
    }
}

/// The request body.
pub(super) fn body(question: &Question, max_tokens_field: MaxTokensField) -> Map<String, Value> {
    let parameters = &question.parameters;
    let mut body = Map::new();
    body.insert("model".into(), question.model.as_str().into());
    let system =
        question.prompt.system.iter().map(|text| json!({"role": "system", "content": text.as_ref()}));
    body.insert("messages".into(), system.chain(question.prompt.messages.iter().map(turn)).collect());
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
    if parameters.stream {
        body.insert("stream".into(), true.into());
        // Without it a stream tells no usage.
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if let Some(key) = prompt_cache_key(question) {
        body.insert("prompt_cache_key".into(), key.into());
    }
    merge(&mut body, &parameters.extra);
    body
}

/// The routing hint: requests with the same key meet the same cache. It says nothing but that their
/// cached parts are the same.
///
/// Source: OpenAI's guide on prompt caching.
fn prompt_cache_key(question: &Question) -> Option<String> {
    let cache = question.parameters.cache?;
    let prefix = question.prompt.cached_prefix(&question.model, cache.at)?;
    Some(format!("caseload-{prefix:.32}"))
}

fn turn(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    json!({"role": role, "content": message.content})
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        domain::{CacheLifetime, CachePoint, Parameters, PromptCache},
        providers::test_question::question,
    };

    /// The body as it is sent.
    fn sent(question: &Question, max_tokens_field: MaxTokensField) -> Value {
        Value::Object(body(question, max_tokens_field))
    }

    #[test]
    fn a_bare_request_sends_no_setting() {
        assert_eq!(
            sent(&question(), MaxTokensField::MaxTokens),
            json!({"model": "m-1", "messages": [{"role": "user", "content": "hello"}]})
        );
    }

    #[test]
    fn every_setting_goes_into_its_field_and_extra_wins() {
        let mut question = question();
        question.prompt.system = Some("Be brief.".into());
        question.parameters = Arc::new(Parameters {
            max_tokens: Some(50),
            temperature: Some(0.5),
            top_p: Some(0.9),
            stop: vec!["END".to_owned()],
            stream: true,
            cache: Some(PromptCache { at: CachePoint::System, lifetime: CacheLifetime::FiveMinutes }),
            extra: json!({"seed": 3, "temperature": 1}).as_object().unwrap().clone(),
        });
        assert_eq!(
            sent(&question, MaxTokensField::MaxCompletionTokens),
            json!({
                "model": "m-1",
                "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}],
                "max_completion_tokens": 50, "temperature": 1, "top_p": 0.9, "stop": ["END"],
                "stream": true, "stream_options": {"include_usage": true},
                "prompt_cache_key": prompt_cache_key(&question), "seed": 3,
            })
        );
        assert_eq!(sent(&question, MaxTokensField::MaxTokens)["max_tokens"], 50);
    }

    #[test]
    fn the_cache_key_is_the_same_for_all_requests_with_the_same_cached_part() {
        let key = |system: Option<&str>, message: &str| {
            let mut question = question();
            question.prompt.system = system.map(Into::into);
            question.prompt.messages[0].content = message.into();
            let cache = PromptCache { at: CachePoint::System, lifetime: CacheLifetime::FiveMinutes };
            question.parameters = Arc::new(Parameters { cache: Some(cache), ..Parameters::default() });
            prompt_cache_key(&question)
        };
        assert_eq!(key(Some("Rules."), "one"), key(Some("Rules."), "two"));
        assert_ne!(key(Some("Rules."), "one"), key(Some("Others."), "one"));
        assert_eq!(key(Some("Rules."), "one").unwrap().len(), "caseload-".len() + 32);
        assert_eq!(key(None, "one"), None);
    }

    #[test]
    fn only_openai_itself_takes_the_newer_field() {
        for (url, field) in [
            ("https://api.openai.com/v1", MaxTokensField::MaxCompletionTokens),
            ("https://eu.api.openai.com/v1/", MaxTokensField::MaxCompletionTokens),
            ("https://api.openai.com.example.org/v1", MaxTokensField::MaxTokens),
            ("http://localhost:8000/v1", MaxTokensField::MaxTokens),
            ("https://openrouter.ai/api/v1", MaxTokensField::MaxTokens),
        ] {
            assert_eq!(output_field_of(url), field, "{url}");
        }
    }
}
