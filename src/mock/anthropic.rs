//! Anthropic's Messages: `POST /v1/messages`.

use std::borrow::Cow;

use serde::Deserialize;

use super::{
    exchange::{
        Answer, Dialect, Piece, Problem, Question, StreamOptions, prefixes, quoted, request_id, words,
    },
    limits::rfc3339_in,
};
use crate::domain::{LimitDimension, Outcome, Usage};

/// Anthropic's Messages.
pub(super) static DIALECT: Dialect = Dialect {
    paths: &["/v1/messages"],
    parse,
    success,
    events: |answer, _| events(answer),
    failure,
    error_event: |body| format!("event: error\ndata: {body}\n\n"),
    request_id_header: "request-id",
    limit_headers,
    full_in: rfc3339_in,
};

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    max_tokens: Option<u32>,
    #[serde(borrow)]
    system: Option<Content<'a>>,
    #[serde(borrow)]
    messages: Option<Vec<Turn<'a>>>,
    #[serde(default)]
    stream: bool,
    /// At the top level: a breakpoint at the end of the prompt.
    #[serde(borrow)]
    cache_control: Option<CacheControl<'a>>,
}

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Blocks(#[serde(borrow)] Vec<Block<'a>>),
}

/// A block; those that are no text have none.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    cache_control: Option<CacheControl<'a>>,
}

#[derive(Deserialize)]
struct CacheControl<'a> {
    #[serde(borrow)]
    ttl: Option<Cow<'a, str>>,
}

impl Content<'_> {
    fn blocks(&self) -> Vec<(&str, Option<&CacheControl<'_>>)> {
        match self {
            Self::Text(text) => vec![(text, None)],
            Self::Blocks(blocks) => blocks
                .iter()
                .map(|block| (block.text.as_deref().unwrap_or_default(), block.cache_control.as_ref()))
                .collect(),
        }
    }

    fn text(&self) -> String {
        let texts: Vec<&str> = self.blocks().into_iter().map(|(text, _)| text).collect();
        texts.join("\n")
    }

    fn chars(&self) -> usize {
        self.blocks().iter().map(|(text, _)| text.chars().count()).sum()
    }
}

fn parse(body: &[u8], with_prefixes: bool) -> Result<Question, Problem> {
    let body: Body<'_> = serde_json::from_slice(body)
        .map_err(|error| Problem::Request(format!("The request body is not valid JSON: {error}")))?;
    let required = |name: &str| Problem::Request(format!("{name}: Field required"));
    let model = body.model.ok_or_else(|| required("model"))?.into_owned();
    let max_tokens = body.max_tokens.ok_or_else(|| required("max_tokens"))?;
    let messages = body.messages.ok_or_else(|| required("messages"))?;
    if messages.is_empty() {
        return Err(Problem::Request("messages: at least one message is required".to_owned()));
    }
    let last = messages.iter().rev().find(|turn| turn.role == "user");

    let mut prompt: Vec<(&str, &str, Option<&CacheControl<'_>>)> = vec![];
    if with_prefixes {
        let system = body.system.iter().map(|content| ("system", content));
        let turns = messages.iter().map(|turn| (&*turn.role, &turn.content));
        for (role, content) in system.chain(turns) {
            prompt.extend(content.blocks().into_iter().map(|(text, control)| (role, text, control)));
        }
        if let (Some(control), Some((_, _, at_end))) = (&body.cache_control, prompt.last_mut()) {
            at_end.get_or_insert(control);
        }
    }
    let for_one_hour = prompt
        .iter()
        .rev()
        .find_map(|(_, _, control)| *control)
        .is_some_and(|control| control.ttl.as_deref() == Some("1h"));
    let pieces =
        prompt.iter().map(|&(role, text, control)| Piece { role, text, is_breakpoint: control.is_some() });
    Ok(Question {
        prefixes: prefixes(&model, pieces),
        text: last.map(|turn| turn.content.text()).unwrap_or_default(),
        max_tokens: Some(max_tokens),
        prompt_chars: body.system.iter().map(Content::chars).sum::<usize>()
            + messages.iter().map(|turn| turn.content.chars()).sum::<usize>(),
        for_one_hour,
        stream: body.stream.then_some(StreamOptions { with_usage: true }),
        model,
    })
}

/// The stop reason and its details, as JSON.
fn stop(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Truncated => ("max_tokens", "null"),
        // This API has no filter of its own: what is withheld is a refusal without text.
        Outcome::Refused | Outcome::Filtered => (
            "refusal",
            r#"{"type":"refusal","category":"general_harms","explanation":"The request was declined by policy."}"#,
        ),
        Outcome::Answered | Outcome::Failed | Outcome::Cancelled => ("end_turn", "null"),
    }
}

/// The tokens, as JSON; `output` of them so far.
fn usage(usage: &Usage, output: u64) -> String {
    format!(
        concat!(
            r#"{{"input_tokens":{input},"cache_creation_input_tokens":{written},"#,
            r#""cache_read_input_tokens":{read},"cache_creation":{{"ephemeral_5m_input_tokens":{written_5m},"#,
            r#""ephemeral_1h_input_tokens":{written_1h}}},"output_tokens":{output},"service_tier":"standard"}}"#,
        ),
        input = usage.input_uncached,
        written = usage.cache_writes(),
        read = usage.cache_read,
        written_5m = usage.cache_write_5m,
        written_1h = usage.cache_write_1h,
        output = output,
    )
}

fn success(answer: &Answer<'_>) -> Vec<u8> {
    let (stop_reason, details) = stop(answer.outcome);
    let content = if answer.text.is_empty() {
        "[]".to_owned()
    } else {
        format!(r#"[{{"type":"text","text":{}}}]"#, quoted(answer.text))
    };
    format!(
        concat!(
            r#"{{"id":"msg_mock{number:010}","type":"message","role":"assistant","model":{model},"#,
            r#""content":{content},"stop_reason":"{stop_reason}","stop_sequence":null,"stop_details":{details},"#,
            r#""usage":{usage}}}"#,
        ),
        number = answer.number,
        model = quoted(answer.model),
        content = content,
        stop_reason = stop_reason,
        details = details,
        usage = usage(&answer.usage, answer.usage.output),
    )
    .into_bytes()
}

fn failure(problem: &Problem, number: u64) -> (u16, Vec<u8>) {
    let (status, kind, message) = match problem {
        Problem::Key => (401, "authentication_error", "invalid x-api-key"),
        Problem::Request(message) => (400, "invalid_request_error", message.as_str()),
        Problem::TooLarge => (413, "request_too_large", "Request exceeds the maximum size"),
        Problem::RateLimit(dimension) => (429, "rate_limit_error", limit_message(*dimension)),
        Problem::Server => (500, "api_error", "Internal server error"),
        Problem::Overloaded => (529, "overloaded_error", "Overloaded"),
    };
    let body = format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":{}}},"request_id":"{}"}}"#,
        quoted(message),
        request_id(number),
    );
    (status, body.into_bytes())
}

/// `message_start`, the text in a block's deltas, `message_delta` with the final numbers,
/// `message_stop`; a `ping` may stand anywhere.
fn events(answer: &Answer<'_>) -> Vec<String> {
    let event = |kind: &str, rest: &str| {
        let comma = if rest.is_empty() { "" } else { "," };
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{comma}{rest}}}\n\n")
    };
    let mut events = vec![event(
        "message_start",
        &format!(
            concat!(
                r#""message":{{"id":"msg_mock{number:010}","type":"message","role":"assistant","#,
                r#""model":{model},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}"#,
            ),
            number = answer.number,
            model = quoted(answer.model),
            usage = usage(&answer.usage, 1.min(answer.usage.output)),
        ),
    )];
    if !answer.text.is_empty() {
        events.push(event("content_block_start", r#""index":0,"content_block":{"type":"text","text":""}"#));
        events.push(event("ping", ""));
        for word in words(answer.text) {
            let delta = format!(r#""index":0,"delta":{{"type":"text_delta","text":{}}}"#, quoted(word));
            events.push(event("content_block_delta", &delta));
        }
        events.push(event("content_block_stop", r#""index":0"#));
    }
    let (stop_reason, details) = stop(answer.outcome);
    events.push(event(
        "message_delta",
        &format!(
            concat!(
                r#""delta":{{"stop_reason":"{stop_reason}","stop_sequence":null,"stop_details":{details}}},"#,
                r#""usage":{usage}"#,
            ),
            stop_reason = stop_reason,
            details = details,
            usage = usage(&answer.usage, answer.usage.output),
        ),
    ));
    events.push(event("message_stop", ""));
    events
}

fn limit_headers(dimension: LimitDimension) -> Option<[&'static str; 3]> {
    Some(match dimension {
        LimitDimension::Requests => [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ],
        LimitDimension::InputTokens => [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ],
        LimitDimension::OutputTokens => [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ],
        LimitDimension::Tokens => [
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
        ],
    })
}

fn limit_message(dimension: LimitDimension) -> &'static str {
    match dimension {
        LimitDimension::Requests => {
            "This request would exceed the rate limit of your organization: requests per minute."
        }
        LimitDimension::InputTokens => {
            "This request would exceed the rate limit of your organization: input tokens per minute."
        }
        LimitDimension::OutputTokens => {
            "This request would exceed the rate limit of your organization: output tokens per minute."
        }
        LimitDimension::Tokens => {
            "This request would exceed the rate limit of your organization: tokens per minute."
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::Usage;
    use crate::mock::exchange::tests::{answer as streamed, data};

    fn read(body: Value) -> Result<Question, Problem> {
        parse(&serde_json::to_vec(&body).unwrap(), true)
    }

    #[test]
    fn a_body_is_read_with_its_breakpoints() {
        let control = json!({"type": "ephemeral", "ttl": "1h"});
        let question = read(json!({
            "model": "m", "max_tokens": 9,
            "system": [{"type": "text", "text": "Be \"brief\".", "cache_control": control}],
            "messages": [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "yes"},
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            ],
        }))
        .unwrap();
        assert_eq!(
            (question.text.as_str(), question.max_tokens, question.prompt_chars),
            ("a\nb", Some(9), 21)
        );
        assert_eq!(
            (question.prefixes.len(), question.prefixes[0].chars, question.for_one_hour),
            (1, 11, true)
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let turn = json!([{"role": "user", "content": "a"}]);
        for (body, message) in [
            (json!({"model": "m", "messages": turn}), "max_tokens: Field required"),
            (json!({"max_tokens": 1, "messages": turn}), "model: Field required"),
            (json!({"model": "m", "max_tokens": 1}), "messages: Field required"),
            (
                json!({"model": "m", "max_tokens": 1, "messages": []}),
                "messages: at least one message is required",
            ),
        ] {
            assert_eq!(read(body), Err(Problem::Request(message.to_owned())));
        }
    }

    #[test]
    fn an_answer_has_the_documented_shape() {
        let usage =
            Usage { input_uncached: 5, cache_read: 7, cache_write_1h: 11, output: 3, ..Usage::default() };
        let answer = Answer { number: 4, model: "m", outcome: Outcome::Truncated, text: "a \"b\"\n", usage };
        let body: Value = serde_json::from_slice(&success(&answer)).unwrap();
        assert_eq!(
            body,
            json!({
                "id": "msg_mock0000000004", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": "a \"b\"\n"}],
                "stop_reason": "max_tokens", "stop_sequence": null, "stop_details": null,
                "usage": {
                    "input_tokens": 5, "cache_creation_input_tokens": 11, "cache_read_input_tokens": 7,
                    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 11},
                    "output_tokens": 3, "service_tier": "standard",
                },
            })
        );
    }

    #[test]
    fn the_stream_tells_the_text_in_deltas_and_the_numbers_last() {
        let told = events(&streamed("two \"words\""));
        let names: Vec<&str> = told.iter().map(|event| event.split(['\n', ' ']).nth(1).unwrap()).collect();
        assert_eq!(
            names,
            [
                "message_start",
                "content_block_start",
                "ping",
                "content_block_delta",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(data(&told[0])["message"]["usage"]["cache_read_input_tokens"], 7);
        assert_eq!(data(&told[4])["delta"]["text"], "\"words\"");
        let last = data(&told[6]);
        assert_eq!(
            (&last["delta"]["stop_reason"], &last["usage"]["output_tokens"]),
            (&"max_tokens".into(), &3.into())
        );
        assert_eq!(events(&streamed("")).len(), 3);
    }
}
