<<<<<<< HEAD
//! Who answers: one file a dialect, wire format <-> neutral request, reply and failure.
//!
//! Each dialect is a pair of pure functions (`to_wire`, `read_reply`) around the shared transport
//! ([`http`]), so that everything but the transport is tested without a network. What an error means
//! for the run is decided here, once ([`classify`]); waiting, limiting and asking again is the
//! queue's.

pub mod anthropic;
pub mod classify;
pub mod error_body;
pub mod estimate_tokens;
pub mod http;
pub mod limit_headers;
pub mod openai;
mod parameters;
mod rejection;
pub mod replay;
mod replay_file;
mod response;
pub mod retry_after;
mod secrets;
#[cfg(test)]
mod test_request;
pub mod usage;

pub use self::{
    anthropic::{Anthropic, AnthropicSettings},
    estimate_tokens::estimate_input_tokens,
    http::{HttpError, HttpSettings},
    openai::{MaxTokensField, OpenAi, OpenAiSettings},
    parameters::check_parameters,
    rejection::Rejection,
    replay::{Replay, ReplayOutputs},
    secrets::Secrets,
};

use crate::domain::{Reply, Request};

/// Who answers the requests of one account.
#[derive(Debug)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic(Anthropic),
    /// OpenAI's Chat Completions, and every server that speaks it.
    OpenAi(OpenAi),
    /// Recorded outputs.
    Replay(Replay),
}

impl Provider {
    /// Asks once. Never retries, never waits for a limit: that is the queue's.
    ///
    /// # Errors
    /// A [`Rejection`] when no answer came back. An answer that was truncated, refused or filtered
    /// is a reply, not an error.
    pub async fn send(&self, request: &Request) -> Result<Reply, Rejection> {
        match self {
            Self::Anthropic(anthropic) => anthropic.send(request).await,
            Self::OpenAi(openai) => openai.send(request).await,
            Self::Replay(replay) => replay.answer(request),
        }
    }
=======
//! Who answers: one file per dialect between a neutral request and the wire.

pub mod simulator;

use crate::domain::{Failure, LimitReport, Metered};

/// An attempt that brought no answer, and what came with it all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What went wrong.
    pub failure: Failure,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Tokens, where the provider told of them in spite of the failure.
    pub metered: Metered,
    /// What the response's headers said about the account's limits.
    pub limits: LimitReport,
>>>>>>> mock
}
