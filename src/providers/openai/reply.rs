//! A response, read.

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{
    completion::{outcome, plain_reply},
    errors::meaning,
    limits::limits,
    usage,
};
use crate::{
    domain::{Metered, Outcome, Reply},
    providers::{
        Rejection,
        wire::{
            error_body::ErrorBody,
            response::{error_reply, header, with_headers, with_usage},
            retry_after::retry_after,
            transport::HttpResponse,
        },
    },
};

/// Reads a complete response: by its typed form where it has that, else as whatever it is.
pub(super) fn read_reply(response: &HttpResponse) -> Result<Reply, Rejection> {
    let plain = (200..300).contains(&response.status).then(|| plain_reply(&response.body)).flatten();
    if let Some((reply, id)) = plain {
        let request_id = request_id(&response.headers, || id);
        return with_headers(Ok(reply), request_id, limits(&response.headers));
    }
    let body = serde_json::from_slice::<Value>(&response.body).ok();
    let request_id = request_id(&response.headers, || id(body.as_ref()?));
    let read = if (200..300).contains(&response.status) {
        match &body {
            Some(body) => match error_within(body) {
                Some(error) => with_usage(error_answer(response, &error), usage(body)),
                None => read_completion(body),
            },
            None => Err(Rejection::malformed("the answer is not JSON")),
        }
    } else {
        error_answer(response, &ErrorBody::read(&response.body))
    };
    with_headers(read, request_id, limits(&response.headers))
}

/// The id of a request: the server's, a gateway's, else that of the answer.
pub(super) fn request_id(headers: &HeaderMap, of_answer: impl FnOnce() -> Option<String>) -> Option<String> {
    ["x-request-id", "apim-request-id"].iter().find_map(|name| header(headers, name)).or_else(of_answer)
}

/// The id that an answer gives itself.
pub(super) fn id(body: &Value) -> Option<String> {
    Some(body.get("id")?.as_str()?.to_owned())
}

/// What an error says, be it the whole body or a chunk of a stream.
pub(super) fn error_answer(response: &HttpResponse, error: &ErrorBody) -> Result<Reply, Rejection> {
    let status = if response.status < 400 { error.status().unwrap_or(500) } else { response.status };
    let asks_to_wait = retry_after(&response.headers, response.received_at).is_some();
    error_reply(response, error, meaning(status, error, asks_to_wait))
}

/// The error in a body of status 200: OpenRouter reports upstream errors there, at the top or in the
/// choice, since it has begun to answer by then.
pub(super) fn error_within(body: &Value) -> Option<ErrorBody> {
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
pub(super) fn read_completion(completion: &Value) -> Result<Reply, Rejection> {
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
    let outcome = outcome(refusal, stop_reason);
    let text = match refusal {
        Some(refusal) if outcome == Outcome::Refused => refusal.to_owned(),
        _ => content_text(message),
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
    completion.get("usage").map_or_else(Metered::default, |told| usage::usage(told, model))
}

/// The answer's text: `content` is a string, nothing, or (Mistral's reasoning models) a list of
/// chunks, of which those of type `text` are the answer. Reasoning stands in fields of its own.
pub(super) fn content_text(message: Option<&Value>) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{ErrorClass, FailureKind, LimitDimension, Usage},
        providers::wire::response::tests::response,
    };

    fn read(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Reply, Rejection> {
        read_reply(&response(status, headers, body))
    }

    /// A completion of one choice, without usage.
    fn choice(finish_reason: Value, message: Value) -> String {
        json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "m",
               "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}]})
        .to_string()
    }

    #[test]
    fn an_answer_is_read_with_all_that_came_beside_it() {
        let body = r#"{"id":"chatcmpl-2","object":"chat.completion","model":"gpt-5.6-sol-2026-07-01",
            "system_fingerprint":"fp_12",
            "choices":[{"index":0,"message":{"role":"assistant","content":"Oslo.","refusal":null},
                        "logprobs":null,"finish_reason":"stop"}],
            "usage":{"prompt_tokens":1500,"completion_tokens":42,"total_tokens":1542,
                     "prompt_tokens_details":{"cached_tokens":1024,"cache_write_tokens":300},
                     "completion_tokens_details":{"reasoning_tokens":30}}}"#;
        let headers =
            [("x-request-id", "req_0cc3"), ("x-ratelimit-limit-tokens", "9000"), ("retry-after", "2")];
        let reply = read(200, &headers, body).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "Oslo."));
        assert_eq!(reply.model.as_deref(), Some("gpt-5.6-sol-2026-07-01"));
        assert_eq!(reply.system_fingerprint.as_deref(), Some("fp_12"));
        assert_eq!(reply.request_id.as_deref(), Some("req_0cc3"));
        assert_eq!(reply.limits.readings[0].dimension, LimitDimension::Tokens);
        let usage = Usage {
            input_uncached: 176,
            cache_read: 1_024,
            cache_write_30m: 300,
            output: 42,
            reasoning: Some(30),
            ..Usage::default()
        };
        assert_eq!(reply.metered, usage.into());
    }

    #[test]
    fn every_way_to_end_has_its_outcome_and_text() {
        let says = |content: &str| json!({"role": "assistant", "content": content, "refusal": null});
        for (finish, message, outcome, text) in [
            (json!("stop"), says("yes"), Outcome::Answered, "yes"),
            (json!("stop"), json!({"content": null, "tool_calls": []}), Outcome::Answered, ""),
            (json!("tool_calls"), json!({"content": null}), Outcome::Answered, ""),
            (json!(null), says("yes"), Outcome::Answered, "yes"),
            (json!("length"), says(""), Outcome::Truncated, ""),
            (json!("length"), says("half"), Outcome::Truncated, "half"),
            (json!("model_length"), says("half"), Outcome::Truncated, "half"),
            (json!("content_filter"), says("The"), Outcome::Filtered, "The"),
            (json!("content_filter"), json!(null), Outcome::Filtered, ""),
            (
                json!("stop"),
                json!({"content": null, "refusal": "I will not."}),
                Outcome::Refused,
                "I will not.",
            ),
            (json!("stop"), json!({"content": "fine", "refusal": ""}), Outcome::Answered, "fine"),
            (
                json!("stop"),
                json!({"content": "Oslo.", "reasoning_content": "Norway", "reasoning": "Norway"}),
                Outcome::Answered,
                "Oslo.",
            ),
            (
                json!("stop"),
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                                   {"type": "text", "text": "Os"}, {"type": "text", "text": "lo."}]}),
                Outcome::Answered,
                "Oslo.",
            ),
        ] {
            let body = choice(finish, message);
            let reply = read(200, &[], &body).unwrap();
            assert_eq!((reply.outcome, reply.text.as_str()), (outcome, text), "{body}");
            assert_eq!(reply.metered, Metered::default());
            assert_eq!(reply.request_id.as_deref(), Some("chatcmpl-1"));
        }
    }

    #[test]
    fn a_policys_400_is_a_filtered_answer() {
        for (status, body, word) in [
            (400, r#"{"error":{"message":"flagged","code":"invalid_prompt"}}"#, "invalid_prompt"),
            (
                400,
                r#"{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
                "content_filter",
            ),
            (
                200,
                r#"{"error":{"message":"filtered","code":"content_filter","status":400}}"#,
                "content_filter",
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["hate"]}}}"#,
                "moderation",
            ),
        ] {
            let reply = read(status, &[], body).unwrap();
            assert_eq!(reply.outcome, Outcome::Filtered, "{body}");
            assert_eq!(reply.stop_reason.as_deref(), Some(word));
            assert_eq!(reply.metered.usage, None);
        }
    }

    #[test]
    fn an_error_inside_a_200_is_an_error() {
        for (body, class, kind, usage) in [
            (
                r#"{"error":{"code":429,"message":"Upstream is busy"}}"#,
                ErrorClass::RetrySlow,
                FailureKind::RateLimit,
                false,
            ),
            (
                r#"{"choices":[{"index":0,"message":{"content":"Os"},"finish_reason":"error","error":{"code":502,"message":"gone"}}],
                    "usage":{"prompt_tokens":7,"completion_tokens":1}}"#,
                ErrorClass::Retry,
                FailureKind::Server,
                true,
            ),
            (
                r#"{"choices":[{"message":{"content":"Os"},"finish_reason":"error"}]}"#,
                ErrorClass::Retry,
                FailureKind::Server,
                false,
            ),
            (r#"{"error":"out of memory"}"#, ErrorClass::Retry, FailureKind::Server, false),
            (r#"{"choices":[]}"#, ErrorClass::Retry, FailureKind::Malformed, false),
            (r#"{"choices":[{"finish_reason":"stop"}]}"#, ErrorClass::Retry, FailureKind::Malformed, false),
            ("<html>log in</html>", ErrorClass::Retry, FailureKind::Malformed, false),
            ("", ErrorClass::Retry, FailureKind::Malformed, false),
        ] {
            let rejection = read(200, &[], body).unwrap_err();
            assert_eq!((rejection.failure.class, rejection.failure.kind), (class, kind), "{body}");
            assert_eq!(rejection.metered.usage.is_some(), usage, "{body}");
            assert!(rejection.failure.may_be_billed);
        }
    }

    #[test]
    fn an_error_is_read_with_its_wait() {
        let body = r#"{"error":{"message":"Tokens a minute","type":"tokens","code":"rate_limit_exceeded"}}"#;
        let headers =
            [("retry-after", "20"), ("retry-after-ms", "19400"), ("x-ratelimit-reset-tokens", "6m0s")];
        let rejection = read(429, &headers, body).unwrap_err();
        assert_eq!(rejection.failure.retry_after.unwrap().as_millis(), 19_400);
        assert_eq!(rejection.limits.readings[0].full_in.unwrap().as_secs(), 360);

        let in_flight = read(402, &[("retry-after", "8")], r#"{"error":{"code":402,"message":"reserved"}}"#);
        assert_eq!(in_flight.unwrap_err().failure.class, ErrorClass::RetrySlow);
        let no_money = read(402, &[], r#"{"error":{"code":402,"message":"Insufficient credits"}}"#);
        assert_eq!(no_money.unwrap_err().failure.class, ErrorClass::StopQueue);
    }

    #[test]
    fn blank_lines_before_the_answer_are_no_fault() {
        let body = format!("\n\n\r\n{}", choice(json!("stop"), json!({"content": "late"})));
        assert_eq!(read(200, &[], &body).unwrap().text, "late");
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
