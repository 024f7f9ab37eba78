//! A streamed chat completion, put together chunk by chunk.
//!
//! Source: OpenAI API reference, "Chat completion chunk"; the servers' own documentation where they
//! differ (OpenRouter, Groq, vLLM, Azure, Mistral). What comes out is read by the same function as a
//! completion that came in one piece.

use serde_json::{Map, Value, json};

use super::{
    limits::limits,
    reply::{content_text, error_answer, error_within, id, read_completion, request_id},
    usage::usage,
};
use crate::{
    domain::{Failure, Metered, Reply, UsageFlag},
    providers::{
        Rejection,
        dialect::Assembler,
        wire::{
            error_body::ErrorBody,
            response::with_headers,
            sse::SseEvent,
            streamed::{Step, Streamed, ended_early, incomplete},
        },
    },
};

/// One completion as far as it has come.
#[derive(Debug, Default)]
pub struct CompletionStream {
    /// `id`, `model` and `system_fingerprint`, the first word on each.
    names: Map<String, Value>,
    text: String,
    refusal: String,
    finish_reason: Option<String>,
    usage: Option<Value>,
    end: Option<End>,
}

#[derive(Debug)]
enum End {
    /// `[DONE]` came.
    Done,
    Error(ErrorBody),
    Unreadable,
}

impl Assembler for CompletionStream {
    fn take(&mut self, event: &SseEvent) -> Step {
        if self.end.is_some() {
            return Step::Ended;
        }
        if event.data.trim() == "[DONE]" {
            self.end = Some(End::Done);
            return Step::Ended;
        }
        let Ok(chunk) = serde_json::from_str::<Value>(&event.data) else {
            self.end = Some(End::Unreadable);
            return Step::Ended;
        };
        for name in ["id", "model", "system_fingerprint"] {
            if let Some(word @ Value::String(_)) = chunk.get(name)
                && !self.names.contains_key(name)
            {
                self.names.insert(name.to_owned(), word.clone());
            }
        }
        // Groq keeps the usage in a field of its own. Some servers repeat it in every chunk: the last holds.
        let usage = [chunk.get("usage"), chunk.pointer("/x_groq/usage")];
        if let Some(usage) = usage.into_iter().flatten().find(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        if let Some(error) = error_within(&chunk) {
            self.end = Some(End::Error(error));
            return Step::Ended;
        }
        self.take_choice(&chunk)
    }

    /// The answer is complete once its finish reason has come, even where the end of the stream is
    /// missing; what follows is then the usage at most.
    fn finish(self: Box<Self>, streamed: &Streamed) -> Result<Reply, Rejection> {
        let head = &streamed.head;
        let names = Value::Object(self.names.clone());
        let read = match &self.end {
            Some(End::Error(error)) => error_answer(head, error)
                .map(|reply| Reply { metered: self.metered(), ..reply })
                .map_err(|rejection| self.rejected(rejection.failure)),
            Some(End::Unreadable) => {
                Err(self.rejected(Rejection::malformed("a chunk of the stream is not JSON").failure))
            }
            None | Some(End::Done) if self.finish_reason.is_none() => {
                Err(ended_early(streamed, self.shown(), self.metered_so_far()))
            }
            end => self.read_whole(streamed, end.is_some()),
        };
        with_headers(read, request_id(&head.headers, || id(&names)), limits(&head.headers))
    }
}

impl CompletionStream {
    /// The first choice of a chunk; usage and Azure's prompt filter come in chunks without any.
    fn take_choice(&mut self, chunk: &Value) -> Step {
        let choices = chunk.get("choices").and_then(Value::as_array);
        let is_first = |choice: &&Value| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
        let Some(choice) = choices.and_then(|choices| choices.iter().find(is_first)) else {
            return Step::Waiting;
        };
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish_reason = Some(reason.to_owned());
        }
        let delta = choice.get("delta");
        let text = content_text(delta);
        let refusal =
            delta.and_then(|delta| delta.get("refusal")).and_then(Value::as_str).unwrap_or_default();
        self.text.push_str(&text);
        self.refusal.push_str(refusal);
        if text.is_empty() && refusal.is_empty() { Step::Begun } else { Step::Text }
    }

    fn read_whole(&self, streamed: &Streamed, is_done: bool) -> Result<Reply, Rejection> {
        let mut completion = self.names.clone();
        let message = json!({"content": self.text, "refusal": self.refusal});
        let choice = json!({"message": message, "finish_reason": self.finish_reason});
        completion.insert("choices".into(), json!([choice]));
        let reply = read_completion(&Value::Object(completion))?;
        let mut metered = self.metered();
        if !is_done {
            tracing::info!(
                "a stream ended behind its finish reason, without `[DONE]`: the answer is complete"
            );
            if metered.usage.is_none() && metered.flag.is_none() {
                metered.flag = Some(UsageFlag::Incomplete);
            }
        }
        Ok(Reply { metered, first_token_ms: streamed.first_token_ms, ..reply })
    }

    fn rejected(&self, failure: Failure) -> Rejection {
        let text = self.shown().to_owned();
        Rejection { metered: self.metered_so_far(), text, ..Rejection::from(failure) }
    }

    /// The text for the eye.
    fn shown(&self) -> &str {
        if self.text.is_empty() { &self.refusal } else { &self.text }
    }

    fn metered(&self) -> Metered {
        let model = self.names.get("model").and_then(Value::as_str);
        self.usage.as_ref().map_or_else(Metered::default, |told| usage(told, model))
    }

    fn metered_so_far(&self) -> Metered {
        self.usage.as_ref().map_or_else(Metered::default, |usage| incomplete(self.metered(), usage))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        domain::{ErrorClass, FailureKind, LimitDimension, Outcome, Usage},
        providers::{Secrets, wire::response::tests::response},
    };

    /// What the sender makes of an assembled answer.
    fn finish(stream: CompletionStream, streamed: &Streamed) -> Result<Reply, Rejection> {
        Secrets::default().conceal_all(Box::new(stream).finish(streamed))
    }

    fn streamed(headers: &[(&str, &str)]) -> Streamed {
        Streamed { head: response(200, headers, ""), broken: None, first_token_ms: Some(8.0) }
    }

    fn data(data: impl ToString) -> SseEvent {
        SseEvent { name: String::new(), data: data.to_string() }
    }

    /// What a stream of these data lines comes to.
    fn read(lines: &[&str]) -> Result<Reply, Rejection> {
        let mut stream = CompletionStream::default();
        for line in lines {
            stream.take(&data(line));
        }
        finish(stream, &streamed(&[]))
    }

    const ROLE: &str = r#"{"id":"c-1","model":"m-2","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
    const TEXT: &str = r#"{"id":"c-1","model":"m-2","choices":[{"index":0,"delta":{"content":"Riga"},"finish_reason":null}],"usage":null}"#;
    const STOP: &str =
        r#"{"id":"c-1","model":"m-2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    const USAGE: &str = r#"{"id":"c-1","model":"m-2","choices":[],"usage":{"prompt_tokens":1300,"completion_tokens":4,"total_tokens":1304,"prompt_tokens_details":{"cached_tokens":1152,"cache_write_tokens":100}}}"#;

    #[test]
    fn a_completion_is_put_together_with_its_last_usage() {
        let mut stream = CompletionStream::default();
        let filter = r#"{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#;
        let lines = [filter, ROLE, TEXT, STOP, USAGE, "[DONE]"];
        let steps: Vec<Step> = lines.iter().map(|line| stream.take(&data(line))).collect();
        use Step::{Begun, Ended, Text, Waiting};
        assert_eq!(steps, [Waiting, Begun, Text, Begun, Waiting, Ended]);
        let headers = [("x-request-id", "req_0ee5"), ("x-ratelimit-remaining-requests", "9")];
        let reply = finish(stream, &streamed(&headers)).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "Riga"));
        assert_eq!((reply.model.as_deref(), reply.stop_reason.as_deref()), (Some("m-2"), Some("stop")));
        assert_eq!(reply.request_id.as_deref(), Some("req_0ee5"));
        assert_eq!(reply.limits.readings[0].dimension, LimitDimension::Requests);
        assert_eq!(reply.first_token_ms, Some(8.0));
        let usage = Usage {
            input_uncached: 48,
            cache_read: 1_152,
            cache_write_30m: 100,
            output: 4,
            ..Usage::default()
        };
        assert_eq!(reply.metered, usage.into());
    }

    #[test]
    fn every_server_keeps_its_own_habits() {
        let groq = r#"{"id":"c-3","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"queue_time":0.1}}}"#;
        let reply = read(&[TEXT, groq, "[DONE]"]).unwrap();
        assert_eq!(reply.metered.usage.unwrap().input_uncached, 9);

        let chunks = r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Riga"}]},"finish_reason":"stop"}]}"#;
        assert_eq!(read(&[chunks, "[DONE]"]).unwrap().text, "Riga");

        let reasoning = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"Hm","content":null}}]}"#;
        assert_eq!(read(&[reasoning, TEXT, STOP, "[DONE]"]).unwrap().text, "Riga");

        let other = r#"{"choices":[{"index":1,"delta":{"content":"Oslo"},"finish_reason":"stop"}]}"#;
        assert_eq!(read(&[other, TEXT, STOP, "[DONE]"]).unwrap().text, "Riga");
    }

    #[test]
    fn every_way_to_end_has_its_outcome() {
        let ending = |reason: &str| {
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
        };
        for (reason, outcome) in [
            ("stop", Outcome::Answered),
            ("tool_calls", Outcome::Answered),
            ("length", Outcome::Truncated),
            ("content_filter", Outcome::Filtered),
        ] {
            let reply = read(&[TEXT, &ending(reason), "[DONE]"]).unwrap();
            assert_eq!((reply.outcome, reply.text.as_str()), (outcome, "Riga"), "{reason}");
        }
        assert_eq!(read(&[ROLE, &ending("length"), "[DONE]"]).unwrap().text, "");
        let refusal = r#"{"choices":[{"index":0,"delta":{"refusal":"I will not."}}]}"#;
        let reply = read(&[ROLE, refusal, STOP, "[DONE]"]).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Refused, "I will not."));
    }

    #[test]
    fn a_given_reason_makes_it_complete_even_without_the_end() {
        let reply = read(&[TEXT, STOP]).unwrap();
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "Riga"));
        assert_eq!(reply.metered.flag, Some(UsageFlag::Incomplete));
        assert_eq!(read(&[TEXT, STOP, USAGE]).unwrap().metered.flag, None);
        // Nobody asked for the usage: it is unknown, not lost.
        assert_eq!(read(&[TEXT, STOP, "[DONE]"]).unwrap().metered, Metered::default());
    }

    #[test]
    fn without_a_reason_it_was_cut_however_much_came() {
        for lines in [vec![ROLE, TEXT], vec![TEXT, "[DONE]"], vec![], vec![USAGE]] {
            let rejection = read(&lines).unwrap_err();
            let failure = &rejection.failure;
            assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Dropped), "{lines:?}");
            assert!(failure.may_be_billed && failure.message.starts_with("the stream ended early"));
            assert_eq!(failure.message.contains("`Riga`"), lines.contains(&TEXT));
            let flag = lines.contains(&USAGE).then_some(UsageFlag::Incomplete);
            assert_eq!(rejection.metered.flag, flag);
        }
    }

    #[test]
    fn an_error_within_the_stream_is_what_it_says() {
        for (line, class, kind) in [
            (
                r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#,
                ErrorClass::Retry,
                FailureKind::Server,
            ),
            // vLLM: an error, and `[DONE]` all the same.
            (
                r#"{"error":{"message":"EngineCore died","type":"InternalServerError","param":null,"code":500}}"#,
                ErrorClass::Retry,
                FailureKind::Server,
            ),
            // OpenRouter: beside a choice that looks finished.
            (
                r#"{"id":"g","error":{"code":429,"message":"slow down"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
                ErrorClass::RetrySlow,
                FailureKind::RateLimit,
            ),
            (
                r#"{"error":{"message":"quota","code":"insufficient_quota"}}"#,
                ErrorClass::StopQueue,
                FailureKind::Quota,
            ),
        ] {
            let rejection = read(&[ROLE, TEXT, line, "[DONE]"]).unwrap_err();
            assert_eq!((rejection.failure.class, rejection.failure.kind), (class, kind), "{line}");
            assert!(rejection.failure.message.ends_with("; the text before it: `Riga`"), "{line}");
            assert!(rejection.failure.may_be_billed, "{line}");
        }
    }

    #[test]
    fn a_garbled_chunk_fails_the_attempt_rather_than_shortening_the_answer() {
        let failure = read(&[TEXT, "{\"choices\":[{\"del", STOP, "[DONE]"]).unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Malformed));
    }

    proptest! {
        #[test]
        fn no_events_panic(bodies in prop::collection::vec(any::<Vec<u8>>(), 0..6)) {
            let mut stream = CompletionStream::default();
            for body in &bodies {
                stream.take(&data(String::from_utf8_lossy(body)));
            }
            let _ = finish(stream, &streamed(&[]));
        }
    }
}
