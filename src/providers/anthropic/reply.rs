//! A response, read.

use serde_json::Value;

use super::{errors, limits, usage};
use crate::{
    domain::{Metered, Outcome, Reply},
    providers::{
        Rejection,
        wire::{
            error_body::ErrorBody,
            response::{error_reply, header, with_headers},
            transport::HttpResponse,
        },
    },
};

/// Reads a complete response.
pub(super) fn read_reply(response: &HttpResponse) -> Result<Reply, Rejection> {
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
pub(super) fn read_message(message: &Value) -> Result<Reply, Rejection> {
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{ErrorClass, FailureKind, LimitDimension, Usage, UsageFlag},
        providers::wire::response::tests::response,
    };

    fn read(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Reply, Rejection> {
        read_reply(&response(status, headers, body))
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
