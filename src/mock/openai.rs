//! OpenAI's Chat Completions: `POST /v1/chat/completions`.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, de::IgnoredAny};

use super::{
    exchange::{Answer, Dialect, Piece, Problem, Question, StreamOptions, prefixes, quoted, words},
    limits::go_duration,
};
use crate::domain::{LimitDimension, Outcome, Usage};

/// OpenAI's Chat Completions.
pub(super) static DIALECT: Dialect = Dialect {
    paths: &["/v1/chat/completions", "/chat/completions"],
    parse,
    success,
    events: |answer, options| events(answer, options.with_usage),
    failure: |problem, _| failure(problem),
    error_event: |body| format!("data: {body}\n\n"),
    request_id_header: "x-request-id",
    limit_headers,
    full_in: go_duration,
};

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    max_completion_tokens: Option<u32>,
    max_tokens: Option<u32>,
    #[serde(borrow)]
    messages: Option<Vec<Turn<'a>>>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<WrittenStreamOptions>,
    #[serde(borrow)]
    prompt_cache_options: Option<CacheOptions<'a>>,
}

#[derive(Deserialize)]
struct WrittenStreamOptions {
    #[serde(default)]
    include_usage: bool,
}

#[derive(Deserialize)]
struct CacheOptions<'a> {
    #[serde(borrow)]
    mode: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<Content<'a>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Parts(#[serde(borrow)] Vec<Part<'a>>),
}

/// A part; those that are no text have none.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    prompt_cache_breakpoint: Option<IgnoredAny>,
}

impl Turn<'_> {
    /// The texts of its parts, each with whether the cache is cut after it by the request's word.
    fn parts(&self) -> Vec<(&str, bool)> {
        match &self.content {
            None => vec![],
            Some(Content::Text(text)) => vec![(text, false)],
            Some(Content::Parts(parts)) => parts
                .iter()
                .map(|part| {
                    (part.text.as_deref().unwrap_or_default(), part.prompt_cache_breakpoint.is_some())
                })
                .collect(),
        }
    }
}

fn parse(body: &[u8], with_prefixes: bool) -> Result<Question, Problem> {
    let body: Body<'_> = serde_json::from_slice(body).map_err(|error| {
        Problem::Request(format!("We could not parse the JSON body of your request: {error}"))
    })?;
    let missing = |name: &str| Problem::Request(format!("Missing required parameter: '{name}'."));
    let model = body.model.ok_or_else(|| missing("model"))?.into_owned();
    let messages = body.messages.filter(|turns| !turns.is_empty()).ok_or_else(|| missing("messages"))?;
    let last = messages.iter().rev().find(|turn| turn.role == "user");
    let texts: Vec<&str> =
        last.map(Turn::parts).unwrap_or_default().into_iter().map(|(text, _)| text).collect();

    let explicit =
        body.prompt_cache_options.is_some_and(|options| options.mode.as_deref() == Some("explicit"));
    let mut pieces = vec![];
    if with_prefixes {
        for turn in &messages {
            let parts = turn.parts();
            let count = parts.len();
            pieces.extend(parts.into_iter().enumerate().map(|(at, (text, marked))| Piece {
                role: &turn.role,
                text,
                // Unless the request marks its own, the cache is cut where a message ends.
                is_breakpoint: if explicit { marked } else { at + 1 == count },
            }));
        }
    }
    Ok(Question {
        prefixes: prefixes(&model, pieces),
        text: texts.join("\n"),
        max_tokens: body.max_completion_tokens.or(body.max_tokens),
        prompt_chars: messages.iter().flat_map(Turn::parts).map(|(text, _)| text.chars().count()).sum(),
        for_one_hour: false,
        stream: body.stream.then(|| StreamOptions {
            with_usage: body.stream_options.is_some_and(|options| options.include_usage),
        }),
        model,
    })
}

fn success(answer: &Answer<'_>) -> Vec<u8> {
    let text = quoted(answer.text);
    let (content, refusal, finish_reason) = match answer.outcome {
        Outcome::Truncated => (text.as_str(), "null", "length"),
        Outcome::Refused => ("null", text.as_str(), "stop"),
        Outcome::Filtered => (text.as_str(), "null", "content_filter"),
        Outcome::Answered | Outcome::Failed | Outcome::Cancelled => (text.as_str(), "null", "stop"),
    };
    format!(
        concat!(
            r#"{{"id":"chatcmpl-mock{number:010}","object":"chat.completion","created":{created},"model":{model},"#,
            r#""choices":[{{"index":0,"message":{{"role":"assistant","content":{content},"refusal":{refusal},"#,
            r#""annotations":[]}},"logprobs":null,"finish_reason":"{finish_reason}"}}],"#,
            r#""usage":{usage},"service_tier":"default","system_fingerprint":"fp_mock"}}"#,
        ),
        number = answer.number,
        created = Timestamp::now().as_second(),
        model = quoted(answer.model),
        content = content,
        refusal = refusal,
        finish_reason = finish_reason,
        usage = usage(&answer.usage),
    )
    .into_bytes()
}

/// The tokens, as JSON.
fn usage(usage: &Usage) -> String {
    let prompt = usage.input_total();
    format!(
        concat!(
            r#"{{"prompt_tokens":{prompt},"completion_tokens":{output},"total_tokens":{total},"#,
            r#""prompt_tokens_details":{{"cached_tokens":{read},"audio_tokens":0,"cache_write_tokens":{written}}},"#,
            r#""completion_tokens_details":{{"reasoning_tokens":0,"audio_tokens":0,"#,
            r#""accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}}"#,
        ),
        prompt = prompt,
        output = usage.output,
        total = prompt + usage.output,
        read = usage.cache_read,
        written = usage.cache_writes(),
    )
}

fn failure(problem: &Problem) -> (u16, Vec<u8>) {
    let (status, kind, code, message) = match problem {
        Problem::Key => {
            (401, "invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided.")
        }
        Problem::Request(message) => (400, "invalid_request_error", None, message.as_str()),
        Problem::TooLarge => (413, "invalid_request_error", None, "Request body too large."),
        Problem::RateLimit(LimitDimension::Requests) => {
            (429, "requests", Some("rate_limit_exceeded"), "Rate limit reached on requests per min (RPM).")
        }
        Problem::RateLimit(_) => {
            (429, "tokens", Some("rate_limit_exceeded"), "Rate limit reached on tokens per min (TPM).")
        }
        Problem::Server => {
            (500, "server_error", None, "The server had an error while processing your request.")
        }
        Problem::Overloaded => (
            503,
            "service_unavailable_error",
            Some("server_is_overloaded"),
            "The engine is currently overloaded, please try again later.",
        ),
    };
    let code = code.map_or_else(|| "null".to_owned(), quoted);
    let body = format!(
        r#"{{"error":{{"message":{},"type":"{kind}","param":null,"code":{code}}}}}"#,
        quoted(message)
    );
    (status, body.into_bytes())
}

/// Chunks of the answer, the last with its finish reason, one without choices for the tokens
/// where they are asked for, `[DONE]`.
fn events(answer: &Answer<'_>, with_usage: bool) -> Vec<String> {
    let head = format!(
        concat!(
            r#""id":"chatcmpl-mock{number:010}","object":"chat.completion.chunk","created":{created},"#,
            r#""model":{model},"service_tier":"default","system_fingerprint":"fp_mock""#,
        ),
        number = answer.number,
        created = Timestamp::now().as_second(),
        model = quoted(answer.model),
    );
    // Other chunks say that they have none where one is going to tell them.
    let no_usage = if with_usage { r#","usage":null"# } else { "" };
    let chunk = |delta: &str, finish_reason: &str| {
        format!(
            concat!(
                r#"data: {{{head},"choices":[{{"index":0,"delta":{{{delta}}},"logprobs":null,"#,
                r#""finish_reason":{finish_reason}}}]{no_usage}}}"#,
                "\n\n"
            ),
            head = head,
            delta = delta,
            finish_reason = finish_reason,
            no_usage = no_usage,
        )
    };
    let (field, finish_reason) = match answer.outcome {
        Outcome::Truncated => ("content", r#""length""#),
        Outcome::Refused => ("refusal", r#""stop""#),
        Outcome::Filtered => ("content", r#""content_filter""#),
        Outcome::Answered | Outcome::Failed | Outcome::Cancelled => ("content", r#""stop""#),
    };
    let mut events = vec![chunk(r#""role":"assistant","content":"","refusal":null"#, "null")];
    for word in words(answer.text) {
        events.push(chunk(&format!(r#""{field}":{}"#, quoted(word)), "null"));
    }
    events.push(chunk("", finish_reason));
    if with_usage {
        let usage = usage(&answer.usage);
        events.push(format!("data: {{{head},\"choices\":[],\"usage\":{usage}}}\n\n"));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn limit_headers(dimension: LimitDimension) -> Option<[&'static str; 3]> {
    match dimension {
        LimitDimension::Requests => Some([
            "x-ratelimit-limit-requests",
            "x-ratelimit-remaining-requests",
            "x-ratelimit-reset-requests",
        ]),
        LimitDimension::Tokens => {
            Some(["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"])
        }
        // This protocol knows tokens only together.
        LimitDimension::InputTokens | LimitDimension::OutputTokens => None,
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
    fn a_body_is_read_and_cut_where_messages_end() {
        let question = read(json!({
            "model": "m", "max_completion_tokens": 9, "max_tokens": 1,
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            ],
        }))
        .unwrap();
        assert_eq!(
            (question.text.as_str(), question.max_tokens, question.prompt_chars),
            ("a\nb", Some(9), 11)
        );
        let chars: Vec<usize> = question.prefixes.iter().map(|prefix| prefix.chars).collect();
        assert_eq!(chars, [9, 11]);
    }

    #[test]
    fn explicit_breakpoints_replace_those_at_the_ends_of_messages() {
        let question = read(json!({
            "model": "m", "prompt_cache_options": {"mode": "explicit"},
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [
                    {"type": "text", "text": "doc", "prompt_cache_breakpoint": {"mode": "explicit"}},
                    {"type": "text", "text": "b"},
                ]},
            ],
        }))
        .unwrap();
        let chars: Vec<usize> = question.prefixes.iter().map(|prefix| prefix.chars).collect();
        assert_eq!(chars, [12]);
    }

    #[test]
    fn an_answer_has_the_documented_shape() {
        let usage =
            Usage { input_uncached: 5, cache_read: 7, cache_write_5m: 11, output: 3, ..Usage::default() };
        let answer = Answer { number: 4, model: "m", outcome: Outcome::Refused, text: "No.", usage };
        let mut body: Value = serde_json::from_slice(&success(&answer)).unwrap();
        assert!(body["created"].take().is_i64());
        assert_eq!(
            body,
            json!({
                "id": "chatcmpl-mock0000000004", "object": "chat.completion", "created": null, "model": "m",
                "choices": [{
                    "index": 0,
                    "message": {"role": "assistant", "content": null, "refusal": "No.", "annotations": []},
                    "logprobs": null,
                    "finish_reason": "stop",
                }],
                "usage": {
                    "prompt_tokens": 23, "completion_tokens": 3, "total_tokens": 26,
                    "prompt_tokens_details": {"cached_tokens": 7, "audio_tokens": 0, "cache_write_tokens": 11},
                    "completion_tokens_details": {
                        "reasoning_tokens": 0, "audio_tokens": 0,
                        "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
                    },
                },
                "service_tier": "default", "system_fingerprint": "fp_mock",
            })
        );
    }

    #[test]
    fn the_stream_comes_in_chunks_and_tells_tokens_when_asked() {
        let told = events(&streamed("two words"), true);
        assert_eq!(told.last().unwrap(), "data: [DONE]\n\n");
        let text: String = told
            .iter()
            .filter_map(|event| Some(data(event)["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect();
        assert_eq!(text, "two words");
        assert_eq!(data(&told[3])["choices"][0]["finish_reason"], "length");
        let usage = data(&told[4]);
        assert_eq!((&usage["choices"], &usage["usage"]["total_tokens"]), (&Value::Array(vec![]), &15.into()));
        assert_eq!(events(&streamed("two words"), false).len(), told.len() - 1);
    }
}
