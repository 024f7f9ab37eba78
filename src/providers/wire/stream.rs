//! The shared transport, for answers that come as a stream of events.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde::de::IgnoredAny;

use super::{
    HttpResponse,
    sse::{SseEvent, SseReader},
    streamed::{Arrived, Step, Streamed},
    transport::{Transport, read_error},
};
use crate::domain::{Failure, Wire};

/// How long the end of a response is awaited once its last event has come, so that the connection can
/// serve the next request.
const DRAIN: Duration = Duration::from_millis(50);

impl Transport {
    /// Sends `wire`, which asks for a stream, and hands each event to `take` as it arrives.
    ///
    /// A stream that breaks off is no error here: whether the answer was complete by then is known
    /// to whoever took its events. The limits of size and of silence hold as for a whole answer;
    /// comments and pings are signs of life.
    ///
    /// # Errors
    /// As [`send`](Self::send), until the stream begins.
    pub(in crate::providers) async fn stream(
        &self,
        wire: &Wire,
        mut take: impl FnMut(&SseEvent) -> Step,
    ) -> Result<Arrived, Failure> {
        let started = Instant::now();
        let sent = self.request(wire).send().await;
        let response = sent.map_err(|error| self.failure(error, None))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirect(&response));
        }
        let is_error = !status.is_success();
        let headers = response.headers().clone();
        let status = status.as_u16();
        let mut head = HttpResponse { status, headers, body: Bytes::new(), received_at: SystemTime::now() };
        if is_error {
            head.body = read_error(response).await;
            return Ok(Arrived::Whole(head));
        }
        let mut first_token_ms = None;
        if !is_event_stream(&head.headers) {
            head.body = self.read_answer(response).await?;
            if !looks_like_events(&head.body) {
                return Ok(Arrived::Whole(head));
            }
            // A stream under a wrong name: its times are lost, its events are not.
            let mut reader = SseReader::default();
            let events = reader.push(&std::mem::take(&mut head.body));
            events.iter().chain(&whole_end(reader)).for_each(|event| {
                take(event);
            });
            return Ok(Arrived::Streamed(Streamed { head, broken: None, first_token_ms }));
        }
        let broken = self
            .read_events(response, |event| {
                let step = take(event);
                if step == Step::Text && first_token_ms.is_none() {
                    first_token_ms = Some(started.elapsed().as_secs_f64() * 1e3);
                }
                step
            })
            .await
            .err();
        head.received_at = SystemTime::now();
        Ok(Arrived::Streamed(Streamed { head, broken, first_token_ms }))
    }

    /// Reads events until one of them ends the answer or the stream ends.
    ///
    /// # Errors
    /// When the stream breaks off, falls silent or is too large.
    async fn read_events(
        &self,
        mut response: Response,
        mut take: impl FnMut(&SseEvent) -> Step,
    ) -> Result<(), Failure> {
        let status = response.status().as_u16();
        let mut reader = SseReader::default();
        let mut received = 0;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(error, Some(status)))? {
            received += chunk.len();
            if received > self.max_body_bytes {
                return Err(self.too_large(status));
            }
            if reader.push(&chunk).iter().any(|event| take(event) == Step::Ended) {
                // Nothing that still comes matters, but a response read to its end frees the connection.
                let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
                let _ = tokio::time::timeout(DRAIN, rest).await;
                return Ok(());
            }
        }
        if let Some(event) = whole_end(reader) {
            take(&event);
        }
        Ok(())
    }
}

/// Whether the response says that it is an event stream.
fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

/// Whether a body is an event stream whatever it is called.
fn looks_like_events(body: &[u8]) -> bool {
    let text = body.trim_ascii_start();
    [b"data:".as_slice(), b"event:", b":"].iter().any(|start| text.starts_with(start))
}

/// The last event of a stream that left out the blank line behind it, unless it was cut.
fn whole_end(reader: SseReader) -> Option<SseEvent> {
    let is_whole = |data: &str| data == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok();
    reader.finish().filter(|event| is_whole(&event.data))
}
