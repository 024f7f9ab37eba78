//! How a provider's server is reached, as the configuration says it.

use std::{fmt, time::Duration};

use secrecy::SecretString;

/// How an account's server is reached.
#[derive(Clone)]
pub struct HttpSettings {
    /// Where the API stands, such as `https://api.openai.com/v1`; a query is kept.
    pub base_url: String,
    /// Longest time to make a connection.
    pub connect_timeout: Duration,
    /// Longest time without a byte. An answer that is not streamed is silent until it is complete,
    /// so this is also the longest time a model may think.
    pub idle_timeout: Duration,
    /// Largest answer that is accepted, in bytes after decompression.
    pub max_body_bytes: usize,
    /// Connections kept open while idle. Fewer than requests are in flight means that connections
    /// are made anew all the time.
    pub max_idle_connections: usize,
    /// Further headers of every request. Those whose name tells of a key or a token are secret.
    pub headers: Vec<(String, String)>,
    /// Further headers whose values are secret whatever their names say.
    pub secret_headers: Vec<(String, SecretString)>,
    /// Whether HTTP/2 is spoken where a server offers it over TLS. All requests then share one
    /// connection, and those beyond the server's limit of streams (often 100) wait unseen inside
    /// it, which would count as latency: so it is off unless asked for.
    pub http2: bool,
}

impl HttpSettings {
    /// The defaults for a server at `base_url`.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(600),
            max_body_bytes: 16 * 1024 * 1024,
            max_idle_connections: 4_096,
            headers: vec![],
            secret_headers: vec![],
            http2: false,
        }
    }
}

/// Shows the names of the further headers, not their values.
impl fmt::Debug for HttpSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("HttpSettings")
            .field("base_url", &without_password(&self.base_url))
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_body_bytes", &self.max_body_bytes)
            .field("max_idle_connections", &self.max_idle_connections)
            .field("headers", &names)
            .field("http2", &self.http2)
            .finish()
    }
}

/// Why a provider could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The base URL is not one.
    #[error("`{url}` is not a base URL: expected something like `https://api.example.com/v1`")]
    BaseUrl {
        /// What was given.
        url: String,
    },
    /// A header (or the key, which becomes one) cannot be sent.
    #[error("the value of header `{name}` cannot be sent: it has characters that no header may have")]
    Header {
        /// The header.
        name: String,
    },
    /// The client cannot be built, for example since the system has no certificates.
    #[error("failed to set up the HTTP client")]
    Client {
        /// Why.
        source: reqwest::Error,
    },
}

/// `https://user:password@host` without what stands before the `@`.
pub(super) fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(start), Some(end)) if start < end => format!("{}://{}", &url[..start], &url[end + 1..]),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_left_out() {
        for (url, shown) in [
            ("https://me:pass@host/v1", "https://host/v1"),
            ("https://host/v1", "https://host/v1"),
            ("me:pass@host", "me:pass@host"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }

    #[test]
    fn debug_shows_no_header_value() {
        let settings = HttpSettings {
            headers: vec![("x-proxy-token".to_owned(), "other-secret".to_owned())],
            ..HttpSettings::new("http://me:pass@localhost")
        };
        let shown = format!("{settings:?}");
        assert!(shown.contains("x-proxy-token"), "{shown}");
        assert!(!shown.contains("other-secret") && !shown.contains("pass"), "{shown}");
    }
}
