//! The shared transport: one JSON body out, one body back, every trouble named.
//!
//! It sends exactly once. Connections are kept and reused; proxies are taken from the usual
//! environment variables. What a complete response means is the dialect's to read.

use std::{fmt, time::Duration};

use bytes::Bytes;
use reqwest::{
    Client, Response, Url,
    header::{HeaderMap, HeaderName, HeaderValue, LOCATION},
    redirect, retry,
};
use secrecy::SecretString;
use serde_json::Value;

use super::Secrets;
use crate::domain::{ErrorClass, Failure, FailureKind};

/// Of an error's body no more than this is read: it holds a sentence.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

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
            http2: false,
        }
    }
}

/// Shows the names of the further headers, not their values.
impl fmt::Debug for HttpSettings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("HttpSettings")
            .field("base_url", &self.base_url)
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

/// A complete response.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, decompressed.
    pub body: Bytes,
}

/// The connections to one server.
#[derive(Debug)]
pub(super) struct Transport {
    client: Client,
    url: Url,
    max_body_bytes: usize,
    secrets: Secrets,
}

impl Transport {
    /// Sets up the connections to `settings.base_url` + `path`. The `key` headers go with every
    /// request; their values are secret.
    pub(super) fn new(
        settings: &HttpSettings,
        path: &str,
        fixed: &[(&str, &str)],
        key: Option<(&str, String, &SecretString)>,
    ) -> Result<Self, HttpError> {
        let url = endpoint(&settings.base_url, path)?;
        let mut headers = HeaderMap::new();
        for (name, value) in fixed {
            headers.insert(header_name(name)?, header_value(name, value)?);
        }
        let mut secrets = vec![];
        if let Some((name, value, secret)) = key {
            let mut value = header_value(name, &value)?;
            value.set_sensitive(true);
            headers.insert(header_name(name)?, value);
            secrets.push(secret.clone());
        }
        for (name, value) in &settings.headers {
            let mut parsed = header_value(name, value)?;
            if tells_of_a_secret(name) {
                parsed.set_sensitive(true);
                secrets.push(SecretString::from(value.as_str()));
            }
            headers.insert(header_name(name)?, parsed);
        }
        let mut client = Client::builder()
            .user_agent(concat!("caseload/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.idle_timeout)
            .pool_max_idle_per_host(settings.max_idle_connections)
            .tcp_nodelay(true)
            // A model may think for minutes; without a sign of life firewalls forget the connection.
            .tcp_keepalive(Duration::from_secs(30))
            .referer(false)
            .redirect(redirect::Policy::none())
            .retry(retry::never());
        if !(settings.http2 && url.scheme() == "https") {
            client = client.http1_only();
        }
        let client = client.build().map_err(|source| HttpError::Client { source })?;
        Ok(Self { client, url, max_body_bytes: settings.max_body_bytes, secrets: Secrets::new(secrets) })
    }

    /// What must not be printed of this account.
    pub(super) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Sends `body` and reads the response.
    ///
    /// # Errors
    /// A [`Failure`] when no complete response came back, and for redirects, which are never
    /// followed: they would carry the key elsewhere. A response with an error status is complete.
    pub(super) async fn post(&self, body: &Value) -> Result<HttpResponse, Failure> {
        let sent = self.client.post(self.url.clone()).json(body).send().await;
        let response = sent.map_err(|error| self.failure(error, None))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirect(&response));
        }
        let headers = response.headers().clone();
        let body =
            if status.is_success() { self.read_answer(response).await? } else { read_error(response).await };
        Ok(HttpResponse { status: status.as_u16(), headers, body })
    }

    /// A whole answer, or the reason why it is not whole.
    async fn read_answer(&self, mut response: Response) -> Result<Bytes, Failure> {
        let status = response.status().as_u16();
        let too_large = || Failure {
            status: Some(status),
            may_be_billed: true,
            ..Failure::new(
                ErrorClass::ThisTrial,
                FailureKind::TooLarge,
                format!("the answer is larger than {} bytes", self.max_body_bytes),
            )
        };
        if response.content_length().is_some_and(|length| length > self.max_body_bytes as u64) {
            return Err(too_large());
        }
        let mut body = vec![];
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(error, Some(status)))? {
            if body.len() + chunk.len() > self.max_body_bytes {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.into())
    }

    fn redirect(&self, response: &Response) -> Failure {
        let to = response
            .headers()
            .get(LOCATION)
            .and_then(|location| self.url.join(location.to_str().ok()?).ok())
            // Only the host: the rest of a location may hold tokens.
            .and_then(|location| Some(format!(" to `{}`", location.host_str()?)))
            .unwrap_or_default();
        let message =
            format!("the server redirects{to}; redirects are not followed, since they would carry the key");
        Failure {
            status: Some(response.status().as_u16()),
            ..Failure::new(ErrorClass::StopQueue, FailureKind::Redirect, self.secrets.hide(&message))
        }
    }

    /// What a transport error means. `status` is there when the response had begun.
    fn failure(&self, error: reqwest::Error, status: Option<u16>) -> Failure {
        let error = error.without_url();
        let message = self.secrets.hide(&chain(&error));
        let (class, kind, may_be_billed) = if error.is_builder() {
            (ErrorClass::StopQueue, FailureKind::Connect, false)
        } else if error.is_connect() {
            let class = if is_tls(&error) { ErrorClass::StopQueue } else { ErrorClass::Retry };
            (class, FailureKind::Connect, false)
        } else if error.is_timeout() {
            (ErrorClass::Retry, FailureKind::Timeout, true)
        } else {
            (ErrorClass::Retry, FailureKind::Dropped, true)
        };
        Failure { status, may_be_billed, ..Failure::new(class, kind, message) }
    }
}

/// As much of an error's body as arrives: the status alone already says most.
async fn read_error(mut response: Response) -> Bytes {
    let mut body = vec![];
    while body.len() < MAX_ERROR_BODY_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(MAX_ERROR_BODY_BYTES);
    body.into()
}

/// `path` below `base_url`, whatever slash either has; the query stays (Azure's `api-version`).
fn endpoint(base_url: &str, path: &str) -> Result<Url, HttpError> {
    let wrong = || HttpError::BaseUrl { url: without_password(base_url) };
    let mut url = Url::parse(base_url.trim()).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong());
    }
    url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    Ok(url)
}

/// `https://user:password@host` without what stands before the `@`.
fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(start), Some(end)) if start < end => format!("{}://{}", &url[..start], &url[end + 1..]),
        _ => url.to_owned(),
    }
}

fn header_name(name: &str) -> Result<HeaderName, HttpError> {
    name.parse().map_err(|_| HttpError::Header { name: name.to_owned() })
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, HttpError> {
    value.trim().parse().map_err(|_| HttpError::Header { name: name.to_owned() })
}

fn tells_of_a_secret(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    ["key", "token", "auth", "secret", "cookie", "password"].iter().any(|word| name.contains(word))
}

/// Whether the connection failed since the two sides do not agree on TLS: a certificate that is not
/// trusted, or a server that speaks plain HTTP. Asking again changes neither. The TLS library hands
/// its errors over as I/O errors of invalid data; a connection that breaks has other kinds.
fn is_tls(error: &reqwest::Error) -> bool {
    sources(error).any(|source| {
        source
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::InvalidData)
    })
}

/// An error and its causes, in one line.
fn chain(error: &reqwest::Error) -> String {
    let mut sentences: Vec<String> = vec![];
    for source in sources(error) {
        let sentence = source.to_string();
        // A cause that the sentence before it already quotes is not said twice.
        if sentences.last().is_none_or(|last| !last.contains(&sentence)) {
            sentences.push(sentence);
        }
    }
    sentences.join(": ")
}

fn sources<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}
