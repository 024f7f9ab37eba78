//! What all dialects share: the transport, and how a response's parts are read.

pub(super) mod body;
pub mod classify;
pub mod counts;
pub mod error_body;
pub mod limit_headers;
mod output_limit;
pub(super) mod response;
pub mod retry_after;
mod settings;
pub mod sse;
mod stream;
pub mod streamed;
mod tls;
#[cfg(test)]
pub(super) mod test_server;
pub mod transport;

pub(crate) use self::tls::client_builder;
pub use self::{
    settings::{HttpError, HttpSettings},
    transport::{HttpResponse, KeyHeader, tells_of_a_secret, unencrypted_host},
};
