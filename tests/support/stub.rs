//! A local HTTP server that plays a script: for each request, what the script says.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
    response::Response,
};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// One scripted answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
    pub delay: Duration,
}

impl Answer {
    /// A body with status 200.
    pub fn json(body: &Value) -> Self {
        Self { status: 200, headers: vec![], body: body.to_string(), delay: Duration::ZERO }
    }

    /// Chat Completions' answer of `text`, with 10 prompt and 5 completion tokens.
    pub fn chat(text: &str) -> Self {
        Self::json(&json!({
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "served-model",
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": null},
                "finish_reason": "stop",
            }],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }))
    }

    /// An OpenAI error.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({"error": {"message": message, "type": code, "param": null, "code": code}});
        Self { status, ..Self::json(&body) }
    }

    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

type Script = dyn Fn(usize, &Value) -> Answer + Send + Sync;

struct Shared {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// A running server; it ends when it is dropped.
pub struct Stub {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: oneshot::Sender<()>,
}

impl Stub {
    /// Serves `script`: from the request's number (from 0) and body to the answer.
    pub fn new(script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            script: Box::new(script),
            requests: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
        });
        let (stop, stopped) = oneshot::channel();
        let (tell, address) = std::sync::mpsc::channel();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    served = axum::serve(listener, router).into_future() => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { address: address.recv().unwrap(), shared, _stop: stop }
    }

    /// The server's address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }

    /// The most requests that were open at once.
    pub fn most_open(&self) -> usize {
        self.shared.most_open.load(Ordering::SeqCst)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let open = shared.open.fetch_add(1, Ordering::SeqCst) + 1;
    shared.most_open.fetch_max(open, Ordering::SeqCst);
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let number = {
        let mut requests = shared.requests.lock().unwrap();
        requests.push(Request { path: uri.path().to_owned(), headers, body: body.clone() });
        requests.len() - 1
    };
    let scripted = (shared.script)(number, &body);
    tokio::time::sleep(scripted.delay).await;
    shared.open.fetch_sub(1, Ordering::SeqCst);
    let mut response = Response::builder()
        .status(StatusCode::from_u16(scripted.status).unwrap())
        .header("content-type", "application/json");
    for (name, value) in scripted.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(scripted.body)).unwrap()
}
