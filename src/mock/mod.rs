//! The simulator behind HTTP: a mock server that speaks the providers' protocols, to rehearse a run
//! under its real limits and for tests.
//!
//! `POST /v1/messages` is Anthropic's Messages, `POST /v1/chat/completions` OpenAI's Chat Completions,
//! both also streamed; `GET /stats` tells what came in, `POST /stats/reset` forgets it. Answers
//! come from the cases that [`serve`] is given; each is found by the text of the last user message.

mod account;
mod anthropic;
#[cfg(test)]
mod client_tests;
mod cut_connections;
mod dialect;
mod exchange;
mod faults;
mod find_case;
mod limits;
mod openai;
mod script;
mod server;
mod settings;
mod stats;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
mod visit;

pub use self::{
    server::{MockServer, listen, serve},
    settings::{FaultRates, MockLatency, MockSettings, StreamPace},
    stats::MockStats,
};
