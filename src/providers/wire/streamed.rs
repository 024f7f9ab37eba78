//! What dialects share in reading a streamed answer.

use serde_json::Value;

use super::HttpResponse;
use crate::{
    domain::{ErrorClass, Failure, FailureKind, Metered, UsageFlag},
    providers::Rejection,
};

/// What an event meant for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Nothing of the answer yet.
    Waiting,
    /// The answer has begun.
    Begun,
    /// Some of its text came.
    Text,
    /// It is complete, or it failed: nothing more is to come.
    Ended,
}

/// An event stream that has ended, well or not; its events have been taken already.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// Status and headers; the body is empty.
    pub head: HttpResponse,
    /// Why it broke off, where it did not end by itself.
    pub broken: Option<Failure>,
    /// From the request to the first text, in milliseconds.
    pub first_token_ms: Option<f64>,
}

/// What came back for a request that asked for a stream.
#[derive(Clone, Debug)]
pub enum Arrived {
    /// An event stream.
    Streamed(Streamed),
    /// One body: an error, or the answer of a server that does not stream.
    Whole(HttpResponse),
}

/// The attempt whose stream ended before its answer did. It was probably billed, at a cost nobody
/// told in full; the text so far is kept for the eye.
pub(in crate::providers) fn ended_early(streamed: &Streamed, text: &str, metered: Metered) -> Rejection {
    let broken = streamed.broken.as_ref();
    let mut message = "the stream ended early".to_owned();
    if let Some(broken) = broken {
        message = format!("{message}: {}", broken.message);
    }
    let failure = Failure {
        status: Some(streamed.head.status),
        may_be_billed: true,
        ..Failure::new(
            broken.map_or(ErrorClass::Retry, |broken| broken.class),
            broken.map_or(FailureKind::Dropped, |broken| broken.kind),
            message,
        )
    };
    Rejection { metered, text: text.to_owned(), ..Rejection::from(failure) }
}

/// A usage whose last word never came: its counts are the least there was.
pub(in crate::providers) fn incomplete(metered: Metered, raw: &Value) -> Metered {
    Metered { flag: Some(UsageFlag::Incomplete), raw: Some(raw.to_string()), ..metered }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::{Duration, Instant},
    };

    use serde_json::json;

    use super::*;
    use crate::{
        domain::{Begun, Outcome, Parameters, Question, Reply},
        providers::{
            HttpModel, HttpSettings, anthropic, openai,
            test_question::{ask, ask_telling, question},
            wire::test_server::{TestServer, Then, ok},
        },
    };

    const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\
                         \"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n";
    const TEXT: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":\
                        {\"type\":\"text_delta\",\"text\":\"café\"}}\n\n";
    const STOP: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\
                        \"usage\":{\"output_tokens\":4}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    const CHUNK: &str = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"café\"},\
                         \"finish_reason\":\"stop\"}]}\n\n";

    /// The head of an event stream that ends with its connection.
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

    fn http(server: &TestServer) -> HttpSettings {
        HttpSettings {
            idle_timeout: Duration::from_millis(400),
            max_body_bytes: 4_000,
            ..HttpSettings::new(&server.base_url)
        }
    }

    fn streamed_question() -> Question {
        let parameters = Parameters { stream: true, ..Parameters::default() };
        Question { parameters: Arc::new(parameters), ..question() }
    }

    async fn ask_anthropic(server: &TestServer, question: &Question) -> Result<Reply, Rejection> {
        let model = HttpModel::new(&anthropic::FACTS, &http(server), Some(&"my-key-1".into()), None);
        ask(&model.unwrap(), question).await
    }

    async fn ask_openai(server: &TestServer) -> Result<Reply, Rejection> {
        let model = HttpModel::new(&openai::FACTS, &http(server), None, None);
        ask(&model.unwrap(), &streamed_question()).await
    }

    /// Pieces of a stream, each after a wait in milliseconds.
    fn pieces(pieces: &[(u64, &str)]) -> Vec<(Duration, Vec<u8>)> {
        let mut all = vec![(Duration::ZERO, HEAD.as_bytes().to_vec())];
        all.extend(
            pieces.iter().map(|(wait, text)| (Duration::from_millis(*wait), text.as_bytes().to_vec())),
        );
        all
    }

    #[tokio::test]
    async fn the_first_token_is_timed_from_the_request_and_the_beginning_is_told() {
        let server = TestServer::slowly(pieces(&[(100, START), (100, TEXT), (150, STOP)]), Then::Close);
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        let begun_sign = Begun::new(move || {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let model =
            HttpModel::new(&anthropic::FACTS, &http(&server), Some(&"my-key-1".into()), None).unwrap();
        let started = Instant::now();
        let reply = ask_telling(&model, &streamed_question(), &begun_sign).await.unwrap();
        let took = started.elapsed().as_secs_f64() * 1e3;
        assert_eq!((reply.outcome, reply.text.as_str()), (Outcome::Answered, "café"));
        let first_token = reply.first_token_ms.unwrap();
        assert!((200.0..took - 140.0).contains(&first_token), "{first_token} of {took} ms");
        assert!(begun.load(Ordering::SeqCst) > 0);
        assert!(server.requests()[0].contains("\"stream\":true"));
    }

    #[tokio::test]
    async fn a_key_that_the_pieces_of_a_stream_cut_is_hidden_all_the_same() {
        let piece = |text: &str| TEXT.replace("café", text);
        let (first, second) = (piece("it is my-key"), piece("-1, yes"));
        let server =
            TestServer::slowly(pieces(&[(0, START), (0, &first), (50, &second), (0, STOP)]), Then::Close);
        let reply = ask_anthropic(&server, &streamed_question()).await.unwrap();
        assert_eq!(reply.text, "it is [hidden], yes");
        let server = TestServer::slowly(pieces(&[(0, START), (0, &first), (50, &second)]), Then::Close);
        let failure = ask_anthropic(&server, &streamed_question()).await.unwrap_err().failure;
        assert_eq!(failure.message, "the stream ended early; the text before it: `it is [hidden], yes`");
    }

    #[tokio::test]
    async fn signs_of_life_keep_a_silent_stream_open() {
        let waits =
            [(250, ": keep-alive\n\n"), (250, "event: ping\ndata: {\"type\":\"ping\"}\n\n"), (250, START)];
        let server = TestServer::slowly(
            [pieces(&waits), pieces(&[(250, TEXT), (0, STOP)])[1..].to_vec()].concat(),
            Then::Close,
        );
        assert_eq!(ask_anthropic(&server, &streamed_question()).await.unwrap().text, "café");
    }

    #[tokio::test]
    async fn a_stream_that_falls_silent_is_a_timeout() {
        let server = TestServer::slowly(pieces(&[(0, START), (0, TEXT)]), Then::Stall);
        let rejection = ask_anthropic(&server, &streamed_question()).await.unwrap_err();
        assert_eq!(
            (rejection.failure.class, rejection.failure.kind),
            (ErrorClass::Retry, FailureKind::Timeout)
        );
        assert!(rejection.failure.may_be_billed && rejection.failure.message.contains("`café`"));
        assert_eq!(rejection.metered.flag, Some(UsageFlag::Incomplete));
    }

    #[tokio::test]
    async fn a_stream_that_is_cut_is_dropped_in_both_dialects() {
        let server = TestServer::slowly(pieces(&[(0, START), (0, TEXT), (0, &STOP[..120])]), Then::Close);
        let failure = ask_anthropic(&server, &streamed_question()).await.unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Dropped));

        // Cut within a chunk of the transfer.
        let head = HEAD.replace("connection: close", "transfer-encoding: chunked");
        let server = TestServer::start(format!("{head}fff\r\ndata: {{\"choices\":[{{\"ind"), Then::Close);
        let failure = ask_openai(&server).await.unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Dropped));
        assert!(failure.message.starts_with("the stream ended early: "), "{}", failure.message);
    }

    #[tokio::test]
    async fn what_comes_after_the_end_is_not_waited_for() {
        let server = TestServer::slowly(pieces(&[(0, CHUNK), (0, "data: [DONE]\n\n")]), Then::Stall);
        let started = Instant::now();
        assert_eq!(ask_openai(&server).await.unwrap().text, "café");
        assert!(started.elapsed() < Duration::from_millis(390), "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn an_end_without_its_blank_line_is_an_end() {
        let server = TestServer::slowly(pieces(&[(0, CHUNK), (0, "data: [DONE]")]), Then::Close);
        assert_eq!(ask_openai(&server).await.unwrap().metered, Metered::default());
        let server = TestServer::slowly(pieces(&[(0, CHUNK), (0, "data: {\"usa")]), Then::Close);
        assert_eq!(ask_openai(&server).await.unwrap().metered.flag, Some(UsageFlag::Incomplete));
    }

    #[tokio::test]
    async fn a_stream_that_is_too_large_is_given_up() {
        let server = TestServer::start(format!("{HEAD}{START}{}", TEXT.repeat(60)), Then::Close);
        let failure = ask_anthropic(&server, &streamed_question()).await.unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::ThisTrial, FailureKind::TooLarge));
        assert!(failure.message.contains("larger than 4000 bytes"), "{}", failure.message);
    }

    #[tokio::test]
    async fn a_connection_serves_the_next_stream_too() {
        let body = format!("{CHUNK}data: [DONE]\n\n");
        let server =
            TestServer::start(ok("content-type: text/event-stream\r\n", body.as_bytes()), Then::Keep);
        let provider = HttpModel::new(&openai::FACTS, &http(&server), None, None).unwrap();
        for _ in 0..4 {
            assert_eq!(ask(&provider, &streamed_question()).await.unwrap().text, "café");
        }
        assert_eq!((server.requests().len(), server.connections()), (4, 1));
    }

    #[tokio::test]
    async fn a_server_that_does_not_stream_is_read_all_the_same() {
        let whole =
            json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).to_string();
        let server =
            TestServer::start(ok("content-type: application/json\r\n", whole.as_bytes()), Then::Keep);
        let reply = ask_openai(&server).await.unwrap();
        assert_eq!((reply.text.as_str(), reply.first_token_ms), ("whole", None));

        // Events under a wrong name.
        let body = format!("{CHUNK}data: [DONE]");
        let server = TestServer::start(ok("content-type: text/plain\r\n", body.as_bytes()), Then::Keep);
        assert_eq!(ask_openai(&server).await.unwrap().text, "café");
    }

    #[tokio::test]
    async fn errors_before_the_stream_are_read_as_ever() {
        let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        let answer = format!(
            "HTTP/1.1 529 Busy\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let failure = ask_anthropic(&TestServer::start(answer, Then::Keep), &streamed_question())
            .await
            .unwrap_err()
            .failure;
        assert_eq!((failure.kind, failure.status), (FailureKind::Overloaded, Some(529)));

        // A proxy's page with status 200.
        let page = ok("content-type: text/html\r\n", b"<html><body>Please sign in</body></html>");
        let failure = ask_openai(&TestServer::start(page, Then::Keep)).await.unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Malformed));

        let elsewhere = TestServer::start(ok("", b"{}"), Then::Keep);
        let redirect =
            format!("HTTP/1.1 307 Moved\r\nlocation: {}/v1\r\ncontent-length: 0\r\n\r\n", elsewhere.base_url);
        let failure = ask_openai(&TestServer::start(redirect, Then::Keep)).await.unwrap_err().failure;
        assert_eq!((failure.class, failure.kind), (ErrorClass::StopQueue, FailureKind::Redirect));
        assert_eq!(elsewhere.connections(), 0);
    }
}
