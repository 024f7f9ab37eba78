//! The list of the protocols that the mock server speaks.

use axum::http::StatusCode;

use super::{
    anthropic, events,
    exchange::{Answer, Problem, Question, StreamOptions},
    openai,
};

/// The protocols that the mock server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Anthropic,
    OpenAi,
}

impl Dialect {
    /// Reads a body; `with_prefixes` where some model has a cache.
    pub(super) fn parse(self, body: &[u8], with_prefixes: bool) -> Result<Question, Problem> {
        match self {
            Self::Anthropic => anthropic::parse(body, with_prefixes),
            Self::OpenAi => openai::parse(body, with_prefixes),
        }
    }

    /// The body of an answer.
    pub(super) fn success(self, answer: &Answer<'_>) -> Vec<u8> {
        match self {
            Self::Anthropic => anthropic::success(answer),
            Self::OpenAi => openai::success(answer),
        }
    }

    /// The events of an answer that is streamed.
    pub(super) fn events(self, answer: &Answer<'_>, options: StreamOptions) -> Vec<String> {
        match self {
            Self::Anthropic => events::anthropic(answer),
            Self::OpenAi => events::openai(answer, options.with_usage),
        }
    }

    /// The event by which an error ends a stream that has begun.
    pub(super) fn error_event(self, problem: &Problem, number: u64) -> String {
        let (_, body) = self.failure(problem, number);
        let body = String::from_utf8(body).expect("errors are written as text");
        match self {
            Self::Anthropic => format!("event: error\ndata: {body}\n\n"),
            Self::OpenAi => format!("data: {body}\n\n"),
        }
    }

    /// Status and body of an error; `number` is the one behind the request's id.
    pub(super) fn failure(self, problem: &Problem, number: u64) -> (StatusCode, Vec<u8>) {
        let (status, body) = match self {
            Self::Anthropic => anthropic::failure(problem, number),
            Self::OpenAi => openai::failure(problem),
        };
        (StatusCode::from_u16(status).expect("the dialects' statuses have three digits"), body)
    }

    /// The header that carries the request's id.
    pub(super) fn request_id_header(self) -> &'static str {
        match self {
            Self::Anthropic => "request-id",
            Self::OpenAi => "x-request-id",
        }
    }
}
