//! What both dialects share in reading a streamed answer.

use serde_json::Value;

use super::{HttpResponse, Rejection, Secrets};
use crate::domain::{ErrorClass, Failure, FailureKind, Metered, UsageFlag};

/// Of the text before a stream broke no more characters than this go into the failure's message.
const SHOWN_CHARS: usize = 200;

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
pub(super) fn ended_early(streamed: &Streamed, text: &str, metered: Metered, secrets: &Secrets) -> Rejection {
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
            with_text(message, text, secrets),
        )
    };
    Rejection { metered, ..Rejection::from(failure) }
}

/// A failure's message, and the text that had come before it.
pub(super) fn with_text(message: String, text: &str, secrets: &Secrets) -> String {
    if text.is_empty() {
        return message;
    }
    let shown: String = text.chars().take(SHOWN_CHARS).collect();
    let rest = if shown.len() < text.len() { "…" } else { "" };
    format!("{message}; the text before it: `{}{rest}`", secrets.hide(&shown))
}

/// A usage whose last word never came: its counts are the least there was.
pub(super) fn incomplete(metered: Metered, raw: &Value) -> Metered {
    Metered { flag: Some(UsageFlag::Incomplete), raw: Some(raw.to_string()), ..metered }
}
