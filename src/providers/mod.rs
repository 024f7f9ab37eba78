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
pub mod simulator;
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
    simulator::{SimulatedTarget, Simulator, SimulatorSettings},
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
    /// The seeded simulator.
    Simulator(Simulator),
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
            Self::Simulator(simulator) => simulator.send(request).await,
        }
    }
}
