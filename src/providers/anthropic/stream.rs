//! A streamed message of Anthropic's, put together event by event.
//!
//! Source: Anthropic API reference, "Streaming messages". What comes out is read by the same
//! function as a message that came in one piece.

use serde_json::{Map, Value, json};

use super::{errors, limits::limits, reply::read_message, usage::usage};
use crate::{
    domain::{Failure, Metered, Reply},
    providers::{
        Rejection,
        dialect::Assembler,
        wire::{
            error_body::ErrorBody,
            response::{error_reply, header, with_headers},
            sse::SseEvent,
            streamed::{Step, Streamed, ended_early, incomplete},
        },
    },
};

/// One message as far as it has come.
#[derive(Debug, Default)]
pub struct MessageStream {
    model: Option<Value>,
    text: String,
    stop_reason: Option<Value>,
    /// The newest word on each count: later events tell totals, not additions.
    usage: Map<String, Value>,
    /// Whether its last word came: the first says what was read, and of what was written next to nothing.
    usage_is_final: bool,
    request_id: Option<String>,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    Complete,
    Error(ErrorBody),
    Unreadable,
}

impl Assembler for MessageStream {
    /// Takes the next event. Events of unknown names are read over, as the documentation asks.
    fn take(&mut self, event: &SseEvent) -> Step {
        if self.end.is_some() {
            return Step::Ended;
        }
        let Ok(data) = serde_json::from_str::<Value>(&event.data) else {
            if !is_known(&event.name) {
                return Step::Waiting;
            }
            self.end = Some(End::Unreadable);
            return Step::Ended;
        };
        let text = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
        match text("/type").unwrap_or(&event.name) {
            "message_start" => {
                self.model = data.pointer("/message/model").cloned();
                self.count(data.pointer("/message/usage"));
                Step::Begun
            }
            "content_block_start" => self.add(text("/content_block/text").unwrap_or_default()),
            // Thinking, signatures, tool input and citations come in deltas of their own kinds.
            "content_block_delta" if text("/delta/type") == Some("text_delta") => {
                self.add(text("/delta/text").unwrap_or_default())
            }
            "message_delta" => {
                if let Some(reason) = data.pointer("/delta/stop_reason").filter(|reason| !reason.is_null()) {
                    self.stop_reason = Some(reason.clone());
                }
                self.count(data.get("usage"));
                self.usage_is_final |=
                    data.pointer("/usage/output_tokens").is_some_and(|count| !count.is_null());
                Step::Begun
            }
            "message_stop" => {
                self.end = Some(End::Complete);
                Step::Ended
            }
            "error" => {
                self.request_id = text("/request_id").map(str::to_owned);
                self.end = Some(End::Error(ErrorBody::of(&data).unwrap_or_default()));
                Step::Ended
            }
            "content_block_delta" | "content_block_stop" => Step::Begun,
            _ => Step::Waiting,
        }
    }

    fn finish(self: Box<Self>, streamed: &Streamed) -> Result<Reply, Rejection> {
        let head = &streamed.head;
        let request_id = header(&head.headers, "request-id").or_else(|| self.request_id.clone());
        let read = match &self.end {
            Some(End::Complete) => self.read_whole(streamed),
            Some(End::Error(error)) => {
                let read = error_reply(head, error, errors::meaning(head.status, error));
                read.map_err(|rejection| self.rejected(rejection.failure))
            }
            Some(End::Unreadable) => {
                Err(self.rejected(Rejection::malformed("an event of the stream is not JSON").failure))
            }
            None => Err(ended_early(streamed, &self.text, self.metered_so_far())),
        };
        with_headers(read, request_id, limits(&head.headers, head.received_at))
    }
}

impl MessageStream {
    fn add(&mut self, text: &str) -> Step {
        self.text.push_str(text);
        if text.is_empty() { Step::Begun } else { Step::Text }
    }

    fn count(&mut self, told: Option<&Value>) {
        for (name, count) in told.and_then(Value::as_object).into_iter().flatten() {
            if count.is_null() {
                continue;
            }
            // The split by lifetime comes with the first usage only; it no longer fits another sum.
            if name == "cache_creation_input_tokens" && self.usage.get(name) != Some(count) {
                self.usage.shift_remove("cache_creation");
            }
            self.usage.insert(name.clone(), count.clone());
        }
    }

    fn read_whole(&self, streamed: &Streamed) -> Result<Reply, Rejection> {
        let Some(model) = &self.model else {
            return Err(Rejection::malformed("the stream has no `message_start`"));
        };
        let reply = read_message(&json!({
            "model": model,
            "content": [{"type": "text", "text": self.text}],
            "stop_reason": self.stop_reason,
            "usage": self.usage,
        }))?;
        let metered = if self.usage_is_final { reply.metered } else { self.metered_so_far() };
        Ok(Reply { metered, first_token_ms: streamed.first_token_ms, ..reply })
    }

    fn rejected(&self, failure: Failure) -> Rejection {
        let text = self.text.clone();
        Rejection { metered: self.metered_so_far(), text, ..Rejection::from(failure) }
    }

    fn metered_so_far(&self) -> Metered {
        if self.usage.is_empty() {
            return Metered::default();
        }
        let raw = Value::Object(self.usage.clone());
        incomplete(usage(&raw), &raw)
    }
}

fn is_known(name: &str) -> bool {
    matches!(
        name,
        "" | "message_start"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
            | "error"
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        domain::{ErrorClass, FailureKind, Outcome, Usage, UsageFlag},
        providers::{
            Secrets,
            wire::{response::tests::response, sse::SseReader},
        },
    };

    /// What the sender makes of an assembled answer.
    fn finish(stream: MessageStream, streamed: &Streamed) -> Result<Reply, Rejection> {
        Secrets::default().conceal_all(Box::new(stream).finish(streamed))
    }

    fn streamed(headers: &[(&str, &str)]) -> Streamed {
        Streamed { head: response(200, headers, ""), broken: None, first_token_ms: Some(12.5) }
    }

    /// What a stream of these data lines comes to.
    fn read(events: &[Value]) -> Result<Reply, Rejection> {
        let mut stream = MessageStream::default();
        for data in events {
            let name = data["type"].as_str().unwrap_or_default().to_owned();
            stream.take(&SseEvent { name, data: data.to_string() });
        }
        finish(stream, &streamed(&[]))
    }

    fn start(usage: Value) -> Value {
        json!({"type": "message_start",
               "message": {"type": "message", "model": "claude-x", "content": [], "usage": usage}})
    }

    fn text(text: &str) -> Value {
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
    }

    fn delta(stop: &str, usage: Value) -> Value {
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage})
    }

    fn stop() -> Value {
        json!({"type": "message_stop"})
    }

    #[test]
    fn a_message_is_put_together_from_its_text_alone() {
        let body = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\
            \"usage\":{\"input_tokens\":7,\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":60,\
            \"cache_creation\":{\"ephemeral_5m_input_tokens\":0,\"ephemeral_1h_input_tokens\":60},\
            \"output_tokens\":1}}}\r\n\r\n\
            event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n\
            event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm.\"}}\n\n\
            event: ping\ndata: {\"type\": \"ping\"}\n\n: still here\n\n\
            event: rumour\ndata: not even JSON\n\n\
            event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"So\"}}\n\n\
            event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\", deux cafés.\"}}\n\n\
            event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":33,\"cache_creation_input_tokens\":60,\"output_tokens_details\":{\"thinking_tokens\":20}}}\n\n\
            event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
        let mut reader = SseReader::default();
        let mut stream = MessageStream::default();
        let events: Vec<SseEvent> = body.as_bytes().chunks(3).flat_map(|bytes| reader.push(bytes)).collect();
        let steps: Vec<Step> = events.iter().map(|event| stream.take(event)).collect();
        use Step::{Begun, Ended, Text, Waiting};
        assert_eq!(steps, [Begun, Begun, Begun, Waiting, Waiting, Text, Text, Begun, Ended]);
        let headers = [("request-id", "req_0dd4"), ("anthropic-ratelimit-requests-limit", "50")];
        let reply = finish(stream, &streamed(&headers)).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "So, deux cafés."));
        assert_eq!(
            (reply.model.as_deref(), reply.stop_reason.as_deref()),
            (Some("claude-x"), Some("end_turn"))
        );
        assert_eq!((reply.request_id.as_deref(), reply.limits.readings.len()), (Some("req_0dd4"), 1));
        assert_eq!(reply.first_token_ms, Some(12.5));
        let usage = Usage {
            input_uncached: 7,
            cache_read: 900,
            cache_write_1h: 60,
            output: 33,
            reasoning: Some(20),
            ..Usage::default()
        };
        assert_eq!(reply.metered, usage.into());
    }

    #[test]
    fn tool_input_and_thinking_are_no_text() {
        let block = |index: u8, kind: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": kind, "data": "c2ln"}});
        let part = |kind: &str, field: &str, value: &str| json!({"type": "content_block_delta", "index": 1, "delta": {"type": kind, field: value}});
        let events = [
            start(json!({"input_tokens": 380, "output_tokens": 4})),
            block(0, "redacted_thinking"),
            json!({"type": "content_block_stop", "index": 0}),
            text("I will look it up."),
            block(2, "tool_use"),
            part("input_json_delta", "partial_json", "{\"city\":"),
            part("input_json_delta", "partial_json", "\"Riga\"}"),
            part("signature_delta", "signature", "c2ln"),
            part("citations_delta", "citation", "[1]"),
            delta("tool_use", json!({"output_tokens": 61})),
            stop(),
        ];
        let reply = read(&events).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "I will look it up."));
        assert_eq!(reply.stop_reason.as_deref(), Some("tool_use"));
        assert_eq!(reply.metered.usage.unwrap().output, 61);
    }

    #[test]
    fn a_split_by_lifetime_holds_as_long_as_its_sum_does() {
        let first = json!({"input_tokens": 8, "output_tokens": 1, "cache_creation_input_tokens": 70,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 70}});
        let same = delta("end_turn", json!({"output_tokens": 2, "cache_creation_input_tokens": 70}));
        let metered = read(&[start(first.clone()), same, stop()]).unwrap().metered;
        assert_eq!((metered.usage.unwrap().cache_write_1h, metered.flag), (70, None));
        let grown = delta("end_turn", json!({"output_tokens": 2, "cache_creation_input_tokens": 90}));
        let metered = read(&[start(first), grown, stop()]).unwrap().metered;
        assert_eq!(metered.usage.unwrap().cache_write_5m, 90);
        assert_eq!(metered.flag, Some(UsageFlag::LifetimeAssumed));
    }

    /// tensorzero issue 5481, agent-framework issue 7143 and ccusage issue 938 added the two up.
    #[test]
    fn a_later_usage_replaces_the_earlier_one() {
        for (first, later, input, cache_read, output) in [
            (json!({"input_tokens": 25, "output_tokens": 1}), vec![json!({"output_tokens": 15})], 25, 0, 15),
            (
                json!({"input_tokens": 27, "cache_read_input_tokens": 0, "output_tokens": 1}),
                vec![json!({"input_tokens": 27, "cache_read_input_tokens": 0, "output_tokens": 47})],
                27,
                0,
                47,
            ),
            (
                json!({"input_tokens": 9, "cache_read_input_tokens": 1, "output_tokens": 1}),
                vec![json!({"output_tokens": 8}), json!({"output_tokens": 16, "input_tokens": null})],
                9,
                1,
                16,
            ),
            (
                json!({"input_tokens": 2_050, "output_tokens": 1}),
                vec![json!({"input_tokens": 31_772, "output_tokens": 510})],
                31_772,
                0,
                510,
            ),
        ] {
            let mut events = vec![start(first), text("x")];
            events.extend(later.into_iter().map(|usage| delta("end_turn", usage)));
            events.push(stop());
            let usage = read(&events).unwrap().metered.usage.unwrap();
            assert_eq!((usage.input_uncached, usage.cache_read, usage.output), (input, cache_read, output));
        }
    }

    #[test]
    fn a_stream_that_was_cut_is_no_answer_however_much_came() {
        let usage = json!({"input_tokens": 25, "output_tokens": 1});
        for events in [
            vec![start(usage.clone()), text("There are")],
            vec![start(usage.clone()), text("There are"), delta("end_turn", json!({"output_tokens": 1}))],
        ] {
            let rejection = read(&events).unwrap_err();
            let failure = &rejection.failure;
            assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Dropped));
            assert!(failure.may_be_billed);
            assert_eq!(failure.message, "the stream ended early; the text before it: `There are`");
            assert_eq!(rejection.metered.flag, Some(UsageFlag::Incomplete));
            assert_eq!(rejection.metered.raw, Some(usage.to_string()));
            assert_eq!(rejection.metered.usage.unwrap().input_uncached, 25);
        }
        let nothing = read(&[]).unwrap_err();
        assert_eq!(
            (nothing.metered, nothing.failure.message.as_str()),
            (Metered::default(), "the stream ended early")
        );
    }

    #[test]
    fn an_answer_whose_last_usage_never_came_has_an_incomplete_one() {
        let begun = || vec![start(json!({"input_tokens": 25, "output_tokens": 1})), text("Yes")];
        let bare = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
        for last in [
            vec![stop()],
            vec![bare, stop()],
            vec![delta("end_turn", json!({"output_tokens": null})), stop()],
        ] {
            let reply = read(&[begun(), last].concat()).unwrap();
            assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "Yes"));
            assert_eq!(reply.metered.flag, Some(UsageFlag::Incomplete));
            assert_eq!(reply.metered.usage.unwrap().input_uncached, 25);
        }
    }

    #[test]
    fn an_error_within_the_stream_is_what_it_says() {
        for (kind, class, failure) in [
            ("overloaded_error", ErrorClass::Retry, FailureKind::Overloaded),
            ("api_error", ErrorClass::Retry, FailureKind::Server),
            ("rate_limit_error", ErrorClass::RetrySlow, FailureKind::RateLimit),
            ("authentication_error", ErrorClass::StopQueue, FailureKind::Authentication),
        ] {
            let error = json!({"type": "error", "error": {"type": kind, "message": "Not now"}, "request_id": "req_9"});
            let events =
                [start(json!({"input_tokens": 25, "output_tokens": 1})), text("Ther"), error, stop()];
            let rejection = read(&events).unwrap_err();
            assert_eq!((rejection.failure.class, rejection.failure.kind), (class, failure));
            assert_eq!(rejection.failure.message, "Not now; the text before it: `Ther`");
            assert_eq!(rejection.failure.status, Some(200));
            assert_eq!(rejection.metered.flag, Some(UsageFlag::Incomplete));
            assert_eq!(rejection.request_id.as_deref(), Some("req_9"));
        }
    }

    #[test]
    fn a_refusal_in_mid_stream_is_a_result_with_the_whole_usage() {
        let events = [
            start(json!({"input_tokens": 44, "output_tokens": 1})),
            text("First, "),
            json!({"type": "message_delta", "usage": {"output_tokens": 5},
                   "delta": {"stop_reason": "refusal", "stop_details": {"type": "refusal", "category": null}}}),
            stop(),
        ];
        let reply = read(&events).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Refused, "First, "));
        assert_eq!(reply.metered.flag, None);
        assert_eq!(reply.metered.usage.unwrap().output, 5);
    }

    #[test]
    fn a_connection_that_fell_silent_says_so() {
        let mut stream = MessageStream::default();
        stream.take(&SseEvent { name: String::new(), data: text("Hello").to_string() });
        let silent = Failure::new(ErrorClass::Retry, FailureKind::Timeout, "operation timed out");
        let streamed = Streamed { broken: Some(silent), ..streamed(&[]) };
        let failure = finish(stream, &streamed).unwrap_err().failure;
        assert_eq!((failure.kind, failure.may_be_billed), (FailureKind::Timeout, true));
        assert_eq!(
            failure.message,
            "the stream ended early: operation timed out; the text before it: `Hello`"
        );
    }

    #[test]
    fn a_garbled_event_fails_the_attempt_rather_than_shortening_the_answer() {
        let mut stream = MessageStream::default();
        stream.take(&SseEvent { name: String::new(), data: start(json!({})).to_string() });
        assert_eq!(
            stream.take(&SseEvent { name: String::new(), data: "{\"type\":\"conte".into() }),
            Step::Ended
        );
        let failure = finish(stream, &streamed(&[])).unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Malformed));
    }

    proptest! {
        #[test]
        fn no_events_panic(bodies in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
            let mut stream = MessageStream::default();
            for body in &bodies {
                stream.take(&SseEvent { name: String::new(), data: String::from_utf8_lossy(body).into_owned() });
            }
            let _ = finish(stream, &streamed(&[]));
        }
    }
}
