//! The shared transport: one JSON body out, one body back, every trouble named.
//!
//! It sends exactly once, and puts the account's key on at the last moment. Connections are kept and
//! reused; proxies are taken from the usual environment variables. What a complete response means is
//! the dialect's to read.

use std::{
    error::Error,
    fmt, io, iter,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use reqwest::{
    Client, Method, RequestBuilder, Response, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT},
    redirect, retry,
};
use secrecy::{ExposeSecret, SecretString};

use super::{HttpError, HttpSettings, client_builder, settings::without_password};
use crate::{
    domain::{ErrorClass, Failure, FailureKind, HttpMethod, Wire},
    providers::Secrets,
};

/// What is sent as `user-agent`.
const OWN_NAME: &str = concat!("caseload/", env!("CARGO_PKG_VERSION"));

/// Of an error's body no more than this is read: it holds a sentence.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// A complete response.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, decompressed.
    pub body: Bytes,
    /// When it came: dates in its headers are measured against this where it tells no clock of its own.
    pub received_at: SystemTime,
}

/// The header that carries an account's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHeader {
    /// Its name.
    pub name: &'static str,
    /// What stands before the key.
    pub prefix: &'static str,
}

/// The connections to one server, and what goes with every request to it.
pub(in crate::providers) struct Transport {
    client: Client,
    url: Url,
    pub(super) max_body_bytes: usize,
    /// The key and the headers of the account's settings.
    own_headers: HeaderMap,
    secrets: Secrets,
}

/// Shows where it leads, nothing that goes with it.
impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Transport({})", without_password(self.url.as_str()))
    }
}

impl Transport {
    /// Sets up the connections to `settings.base_url`. The key and the headers of the settings go with
    /// every request; the key's value, and what is named like one, is secret.
    pub(in crate::providers) fn new(
        settings: &HttpSettings,
        key: Option<(KeyHeader, &SecretString)>,
    ) -> Result<Self, HttpError> {
        let url = base(&settings.base_url)?;
        let mut headers = HeaderMap::new();
        let mut secrets = vec![];
        if let Some((KeyHeader { name, prefix }, secret)) = key {
            let mut value = header_value(name, &format!("{prefix}{}", secret.expose_secret().trim()))?;
            value.set_sensitive(true);
            headers.insert(header_name(name)?, value);
            secrets.push(secret.clone());
        }
        for (name, secret) in &settings.secret_headers {
            let mut value = header_value(name, secret.expose_secret())?;
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
        let mut client = client_builder()
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
        if is_this_machine(&url) {
            client = client.no_proxy();
            if url.scheme() == "http" {
                // Nothing that goes this way is ever encrypted: no certificates need to be read.
                client = client.tls_certs_only([]);
            }
        }
        let client = client.build().map_err(|source| HttpError::Client { source })?;
        let max_body_bytes = settings.max_body_bytes;
        Ok(Self { client, url, max_body_bytes, own_headers: headers, secrets: Secrets::new(secrets) })
    }

    /// What must not be printed of this account.
    pub(in crate::providers) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Sends `wire` and reads the response.
    ///
    /// # Errors
    /// A [`Failure`] when no complete response came back, and for redirects, which are never
    /// followed: they would carry the key elsewhere. A response with an error status is complete.
    pub(in crate::providers) async fn send(&self, wire: &Wire) -> Result<HttpResponse, Failure> {
        let sent = self.request(wire).send().await;
        let response = sent.map_err(|error| self.failure(error, None))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(self.redirect(&response));
        }
        let headers = response.headers().clone();
        let body =
            if status.is_success() { self.read_answer(response).await? } else { read_error(response).await };
        Ok(HttpResponse { status: status.as_u16(), headers, body, received_at: SystemTime::now() })
    }

    /// The request as it is sent: the wire's own headers, then the account's, which win.
    pub(super) fn request(&self, wire: &Wire) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{}", self.url.path().trim_end_matches('/'), wire.path));
        if !wire.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&wire.query);
        }
        let method = match wire.method {
            HttpMethod::Post => Method::POST,
            HttpMethod::Put => Method::PUT,
            HttpMethod::Get => Method::GET,
        };
        let mut own = self.own_headers.clone();
        let mut request = self.client.request(method, url);
        if !wire.body.is_empty() {
            own.remove(CONTENT_TYPE);
            request = request.header(CONTENT_TYPE, "application/json").body(wire.body.clone());
        }
        request = request.header(ACCEPT, "*/*").header(USER_AGENT, OWN_NAME);
        for (name, value) in &wire.headers {
            request = request.header(name, value);
        }
        request.headers(own)
    }

    /// A whole answer, or the reason why it is not whole.
    pub(super) async fn read_answer(&self, mut response: Response) -> Result<Bytes, Failure> {
        let status = response.status().as_u16();
        if response.content_length().is_some_and(|length| length > self.max_body_bytes as u64) {
            return Err(self.too_large(status));
        }
        let mut body = vec![];
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failure(error, Some(status)))? {
            if body.len() + chunk.len() > self.max_body_bytes {
                return Err(self.too_large(status));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(without_mark(body.into()))
    }

    pub(super) fn too_large(&self, status: u16) -> Failure {
        Failure {
            status: Some(status),
            may_be_billed: true,
            ..Failure::new(
                ErrorClass::ThisTrial,
                FailureKind::TooLarge,
                format!("the answer is larger than {} bytes", self.max_body_bytes),
            )
        }
    }

    pub(super) fn redirect(&self, response: &Response) -> Failure {
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
            ..Failure::new(ErrorClass::StopQueue, FailureKind::Redirect, message)
        }
    }

    /// What a transport error means. `status` is there when the response had begun.
    pub(super) fn failure(&self, error: reqwest::Error, status: Option<u16>) -> Failure {
        let error = error.without_url();
        let message = chain(&error);
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
pub(super) async fn read_error(mut response: Response) -> Bytes {
    let mut body = vec![];
    while body.len() < MAX_ERROR_BODY_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    body.truncate(MAX_ERROR_BODY_BYTES);
    without_mark(body.into())
}

/// A body without the mark that some servers put before UTF-8: no JSON begins with it.
fn without_mark(body: Bytes) -> Bytes {
    if body.starts_with(b"\xef\xbb\xbf") { body.slice(3..) } else { body }
}

/// Where the server stands. A query stays (Azure's `api-version`), whatever path is put before it.
fn base(base_url: &str) -> Result<Url, HttpError> {
    let wrong = || HttpError::BaseUrl { url: without_password(base_url) };
    let url = Url::parse(base_url.trim()).map_err(|_| wrong())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(wrong()) }
}

/// The other machine to which an address leads without encryption, if it does.
pub fn unencrypted_host(url: &str) -> Option<String> {
    let url = base(url).ok().filter(|url| url.scheme() == "http" && !is_this_machine(url))?;
    url.host_str().map(str::to_owned)
}

/// Whether a URL leads to this very machine, where no proxy could follow.
fn is_this_machine(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

fn header_name(name: &str) -> Result<HeaderName, HttpError> {
    name.parse().map_err(|_| HttpError::Header { name: name.to_owned() })
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, HttpError> {
    value.trim().parse().map_err(|_| HttpError::Header { name: name.to_owned() })
}

/// Whether the name of a header or a variable says that its value is nobody's business.
pub fn tells_of_a_secret(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    ["key", "token", "auth", "secret", "cookie", "password"].iter().any(|word| name.contains(word))
}

/// Whether the connection failed since the two sides do not agree on TLS: a certificate that is not
/// trusted, or a server that speaks plain HTTP. Asking again changes neither. The TLS library hands
/// its errors over as I/O errors of invalid data; a connection that breaks has other kinds.
fn is_tls(error: &reqwest::Error) -> bool {
    sources(error).filter_map(|source| source.downcast_ref::<io::Error>()).any(|error| {
        // An I/O error hides the one it wraps from `source`.
        let wrapped = iter::successors(Some(error), |error| error.get_ref()?.downcast_ref::<io::Error>());
        wrapped.into_iter().any(|error| error.kind() == io::ErrorKind::InvalidData)
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

fn sources(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(Some(error as &(dyn Error + 'static)), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::{Value, json};

    use super::*;
    use crate::domain::Bounds;
    use crate::providers::wire::test_server::{TestServer, Then, ok};

    /// `{"answer":"zipped"}`.
    const ZIPPED: [u8; 39] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 204, 43, 46, 79, 45, 82, 178, 82, 170, 202, 44, 40, 72,
        77, 81, 170, 5, 0, 31, 208, 69, 232, 19, 0, 0, 0,
    ];

    /// Twenty thousand zeros.
    const ZIPPED_ZEROS: &[u8] = &[
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 49, 1, 0, 0, 0, 194, 160, 74, 235, 159, 206, 26, 30, 64,
        1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 240, 96, 189, 15, 27, 140, 32, 78, 0, 0,
    ];

    fn settings(server: &TestServer) -> HttpSettings {
        HttpSettings {
            idle_timeout: Duration::from_millis(300),
            max_body_bytes: 1_000,
            ..HttpSettings::new(&server.base_url)
        }
    }

    const KEY: KeyHeader = KeyHeader { name: "x-api-key", prefix: "" };

    fn wire(body: &Value) -> Wire {
        Wire {
            method: HttpMethod::Post,
            path: "/ask".to_owned(),
            query: vec![],
            headers: vec![("x-fixed".to_owned(), "yes".to_owned())],
            body: body.to_string().into(),
            streamed: false,
            bounds: Bounds::default(),
        }
    }

    fn transport(server: &TestServer) -> Transport {
        Transport::new(&settings(server), Some((KEY, &"the-secret-key".into()))).unwrap()
    }

    async fn answer(bytes: impl Into<Vec<u8>>, then: Then) -> Result<HttpResponse, Failure> {
        transport(&TestServer::start(bytes, then)).send(&wire(&json!({"q": 1}))).await
    }

    async fn failure(bytes: impl Into<Vec<u8>>, then: Then) -> Failure {
        answer(bytes, then).await.unwrap_err()
    }

    #[tokio::test]
    async fn the_whole_request_is_as_it_should_be() {
        let server = TestServer::start(ok("", b"{}"), Then::Keep);
        let mut settings = settings(&server);
        settings.base_url.push_str("/v1/?api-version=3");
        settings.headers = vec![("X-Title".to_owned(), "nightly".to_owned())];
        let transport = Transport::new(&settings, None).unwrap();
        transport.send(&wire(&json!({"q": "ü"}))).await.unwrap();

        let request = server.requests().remove(0);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, r#"{"q":"ü"}"#);
        let host = server.base_url.strip_prefix("http://").unwrap();
        let mut lines: Vec<&str> = head.lines().collect();
        lines[1..].sort_unstable();
        assert_eq!(
            lines,
            [
                "POST /v1/ask?api-version=3 HTTP/1.1",
                "accept-encoding: gzip",
                "accept: */*",
                "content-length: 10",
                "content-type: application/json",
                &format!("host: {host}"),
                concat!("user-agent: caseload/", env!("CARGO_PKG_VERSION")),
                "x-fixed: yes",
                "x-title: nightly",
            ]
        );
    }

    #[tokio::test]
    async fn the_accounts_own_headers_win_and_none_is_sent_twice() {
        let server = TestServer::start(ok("", b"{}"), Then::Keep);
        let mut settings = settings(&server);
        settings.headers = ["x-fixed", "user-agent", "content-type"]
            .map(|name| (name.to_owned(), "own".to_owned()))
            .to_vec();
        let transport = Transport::new(&settings, Some((KEY, &"the-secret-key\n".into()))).unwrap();
        transport.send(&wire(&json!({}))).await.unwrap();
        let request = server.requests().remove(0);
        let ours: Vec<&str> = request.lines().skip(1).take(6).collect();
        assert_eq!(
            ours,
            [
                "content-type: application/json",
                "accept: */*",
                "user-agent: own",
                "x-fixed: own",
                "x-api-key: the-secret-key",
                "accept-encoding: gzip",
            ]
        );
    }

    #[tokio::test]
    async fn one_connection_serves_many_requests() {
        let server = TestServer::start(ok("", b"{}"), Then::Keep);
        let transport = transport(&server);
        for _ in 0..5 {
            assert_eq!(transport.send(&wire(&json!({}))).await.unwrap().status, 200);
        }
        assert_eq!((server.requests().len(), server.connections()), (5, 1));
    }

    #[tokio::test]
    async fn many_requests_are_in_flight_at_once() {
        let server = TestServer::start(ok("", b"{}"), Then::Keep);
        let transport = HttpSettings { idle_timeout: Duration::from_secs(30), ..settings(&server) };
        let transport = Transport::new(&transport, None).unwrap();
        let body = wire(&json!({}));
        for _ in 0..2 {
            let all = futures_util::future::join_all((0..64).map(|_| transport.send(&body))).await;
            assert!(all.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.body == "{}")));
        }
        assert_eq!(server.requests().len(), 128);
        assert!(server.connections() <= 64, "{} connections for 128 requests", server.connections());
    }

    #[tokio::test]
    async fn a_zipped_answer_is_unzipped() {
        let answer = answer(ok("content-encoding: gzip\r\n", &ZIPPED), Then::Keep).await.unwrap();
        assert_eq!(answer.body, r#"{"answer":"zipped"}"#);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_given_up() {
        let chunked = [
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7d0\r\n".as_slice(),
            &[b'x'; 2_000],
            b"\r\n0\r\n\r\n",
        ]
        .concat();
        for bytes in [
            ok("", &[b'x'; 1_001]),
            chunked,
            // Small on the wire, large once unzipped.
            ok("content-encoding: gzip\r\n", ZIPPED_ZEROS),
        ] {
            let failure = failure(bytes, Then::Keep).await;
            assert_eq!((failure.class, failure.kind), (ErrorClass::ThisTrial, FailureKind::TooLarge));
            assert_eq!(failure.status, Some(200));
        }
        assert_eq!(answer(ok("", &[b'x'; 1_000]), Then::Keep).await.unwrap().body.len(), 1_000);
    }

    #[tokio::test]
    async fn a_connection_that_breaks_is_dropped_and_may_be_billed() {
        for bytes in [
            "",
            "HTTP/1.1 200 OK\r\ncontent-le",
            "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"half\":",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n",
        ] {
            let failure = failure(bytes, Then::Close).await;
            assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Dropped), "{bytes:?}");
            assert!(failure.may_be_billed, "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn silence_is_a_timeout_and_may_be_billed() {
        for bytes in ["", "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"half\":"] {
            let start = Instant::now();
            let failure = failure(bytes, Then::Stall).await;
            assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Timeout), "{bytes:?}");
            assert!(failure.may_be_billed, "{bytes:?}");
            assert!(start.elapsed() < Duration::from_secs(30));
        }
    }

    #[tokio::test]
    async fn a_redirect_is_never_followed() {
        let elsewhere = TestServer::start(ok("", b"{}"), Then::Keep);
        for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
            let bytes = format!(
                "HTTP/1.1 {status}\r\nlocation: {}/ask?token=abc\r\ncontent-length: 0\r\n\r\n",
                elsewhere.base_url
            );
            let failure = failure(bytes, Then::Keep).await;
            assert_eq!((failure.class, failure.kind), (ErrorClass::StopQueue, FailureKind::Redirect));
            assert!(failure.message.contains("`127.0.0.1`"), "{}", failure.message);
            assert!(!failure.message.contains("abc"), "{}", failure.message);
        }
        assert_eq!(elsewhere.connections(), 0);
    }

    #[tokio::test]
    async fn an_error_status_outlives_its_broken_body() {
        let bytes = "HTTP/1.1 503 Busy\r\nretry-after: 4\r\ncontent-length: 900\r\n\r\n{\"error\":";
        let response = answer(bytes, Then::Close).await.unwrap();
        assert_eq!((response.status, &response.body[..]), (503, b"{\"error\":".as_slice()));
    }

    #[tokio::test]
    async fn a_refused_connection_is_tried_again_and_never_billed() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = HttpSettings::new(format!("http://127.0.0.1:{port}"));
        let transport = Transport::new(&settings, None).unwrap();
        let failure = transport.send(&wire(&json!({}))).await.unwrap_err();
        assert_eq!((failure.class, failure.kind), (ErrorClass::Retry, FailureKind::Connect));
        assert!(!failure.may_be_billed);
        assert!(failure.message.contains("refused"), "{}", failure.message);
    }

    #[tokio::test]
    async fn a_server_without_tls_stops_the_queue() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1_024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = stream.read(&mut [0; 1_024]);
        });
        let settings = HttpSettings::new(format!("https://127.0.0.1:{port}"));
        let transport = Transport::new(&settings, None).unwrap();
        let failure = transport.send(&wire(&json!({}))).await.unwrap_err();
        assert_eq!((failure.class, failure.kind), (ErrorClass::StopQueue, FailureKind::Connect));
    }

    #[test]
    fn a_base_url_is_checked_before_anything_is_sent() {
        for url in ["", "localhost:8000", "api.example.com/v1", "ftp://x/", "https://"] {
            let error = Transport::new(&HttpSettings::new(url), None).unwrap_err();
            assert!(matches!(error, HttpError::BaseUrl { .. }), "{url}");
        }
        let error = Transport::new(&HttpSettings::new("ftp://me:pass@host/x"), None).unwrap_err();
        assert!(!error.to_string().contains("pass"), "{error}");
    }

    #[test]
    fn a_key_that_no_header_may_have_is_named_not_shown() {
        let key = SecretString::from("bad\nkey");
        let error = Transport::new(&HttpSettings::new("http://localhost"), Some((KEY, &key))).unwrap_err();
        assert!(error.to_string().contains("`x-api-key`") && !error.to_string().contains("bad"), "{error}");
    }

    #[test]
    fn debug_shows_no_key_and_no_header_value() {
        let key = SecretString::from("the-secret-key");
        let settings = HttpSettings {
            headers: vec![("x-proxy-token".to_owned(), "other-secret".to_owned())],
            ..HttpSettings::new("http://localhost")
        };
        let shown = format!("{settings:?} {:?}", Transport::new(&settings, Some((KEY, &key))).unwrap());
        assert!(shown.contains("x-proxy-token") && !shown.contains("-secret"), "{shown}");
    }

    #[tokio::test]
    async fn an_account_name_in_the_url_is_not_shown_either() {
        let settings = HttpSettings::new("http://me:pass-word@127.0.0.1:9");
        let transport = Transport::new(&settings, None).unwrap();
        assert!(!format!("{transport:?} {settings:?}").contains("pass-word"));
    }
}
