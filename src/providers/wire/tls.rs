//! Which library does the cryptography of TLS.

use reqwest::{Client, ClientBuilder};
use rustls::crypto::ring;

/// A builder of HTTP clients whose TLS is done by `ring`.
pub(crate) fn client_builder() -> ClientBuilder {
    // Whoever was first in this process has chosen the same, or means to have another.
    let _ = ring::default_provider().install_default();
    Client::builder()
}
