//! A server that keeps requests byte for byte and answers in raw bytes.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

type Answers = dyn Fn(&Arrived) -> Vec<u8> + Send + Sync;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    /// From the request line to the empty line, that one left out.
    pub(super) head: String,
    pub(super) body: String,
}

/// A running server; it lives until the tests end.
pub(super) struct Server {
    address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
}

impl Server {
    /// Answers each request with the bytes that `answers` gives for it, and closes the connection.
    pub(super) fn new(answers: impl Fn(&Arrived) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let arrived: Arc<Mutex<Vec<Arrived>>> = Arc::default();
        let (answers, all): (Arc<Answers>, _) = (Arc::new(answers), Arc::clone(&arrived));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answers, all) = (Arc::clone(&answers), Arc::clone(&all));
                thread::spawn(move || serve(stream.expect("a connection comes whole"), &answers, &all));
            }
        });
        Self { address, arrived }
    }

    /// Its address, without a path.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far, in order.
    pub(super) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().expect("no thread panics").clone()
    }

    /// All requests as texts in the order of the alphabet, since they may overtake each other, without
    /// this server's own port.
    pub(super) fn texts(&self) -> Vec<String> {
        let agent = concat!("caseload/", env!("CARGO_PKG_VERSION"));
        let text = |request: &Arrived| {
            let whole = format!("{}\n\n{}\n────\n", request.head, request.body);
            whole.replace(&self.address.to_string(), "[host]").replace(agent, "caseload/[version]")
        };
        let mut texts: Vec<String> = self.arrived().iter().map(text).collect();
        texts.sort();
        texts
    }
}

fn serve(stream: TcpStream, answers: &Arc<Answers>, all: &Mutex<Vec<Arrived>>) {
    let mut reader = BufReader::new(stream);
    let mut lines = vec![];
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines
        .iter()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).expect("the body is as long as it is said to be");
    let request = Arrived { head: lines.join("\n"), body: String::from_utf8(body).expect("a body is text") };
    all.lock().expect("no thread panics").push(request.clone());
    let answer = answers(&request);
    // Who asked may have gone; what arrived is kept.
    let _ = reader.get_mut().write_all(&answer);
}

/// A response of status 200.
pub(super) fn ok(content_type: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}
