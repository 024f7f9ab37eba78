//! A loopback server that misbehaves on demand, for the tests of this floor.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// What the server does once it has written its bytes.
#[derive(Clone, Copy)]
pub(in crate::providers) enum Then {
    /// It waits for the next request.
    Keep,
    /// It closes the connection.
    Close,
    /// It goes silent.
    Stall,
}

/// A server that answers every request alike.
pub(in crate::providers) struct TestServer {
    /// `http://127.0.0.1:<port>`.
    pub(in crate::providers) base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl TestServer {
    /// Starts it; it lives until the tests end.
    pub(in crate::providers) fn start(answer: impl Into<Vec<u8>>, then: Then) -> Self {
        Self::slowly(vec![(Duration::ZERO, answer.into())], then)
    }

    /// The same, writing its answer in pieces, each after a wait.
    pub(in crate::providers) fn slowly(pieces: Vec<(Duration, Vec<u8>)>, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            base_url: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
            connections: Arc::default(),
        };
        let (answer, requests) = (Arc::new(pieces), Arc::clone(&server.requests));
        let connections = Arc::clone(&server.connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
                thread::spawn(move || serve(stream.unwrap(), &answer, then, &requests));
            }
        });
        server
    }

    /// Every request so far, head and body.
    pub(in crate::providers) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// How many connections were made.
    pub(in crate::providers) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A response of status 200 with this body.
pub(in crate::providers) fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn serve(mut stream: TcpStream, answer: &[(Duration, Vec<u8>)], then: Then, requests: &Mutex<Vec<String>>) {
    while let Some(request) = read_request(&mut stream) {
        requests.lock().unwrap().push(request);
        for (wait, piece) in answer {
            thread::sleep(*wait);
            if stream.write_all(piece).is_err() {
                return;
            }
        }
        match then {
            Then::Keep => {}
            Then::Close => return,
            Then::Stall => thread::sleep(Duration::from_secs(60)),
        }
    }
}

/// One request with its body; `None` when the connection ends.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = vec![];
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}
