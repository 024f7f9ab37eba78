//! Connections that can be cut.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{extract::connect_info::Connected, serve::IncomingStream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::sleep,
};

/// How many bytes may still be written before the connection is reset; the largest number: no limit.
const UNCUT: usize = usize::MAX;

/// A connection, as a handler sees it.
#[derive(Clone, Debug)]
pub(super) struct Line(Arc<AtomicUsize>);

impl Line {
    fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(UNCUT)))
    }

    /// Resets the connection once `bytes` more bytes were written to it.
    ///
    /// A client that sends several requests ahead on one connection loses the answers that wait
    /// behind this one too; clients of the providers do not.
    pub(super) fn cut_after(&self, bytes: usize) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Listener>> for Line {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        stream.remote_addr().clone()
    }
}

/// A listener of connections that can be cut. It sends small answers at once (`TCP_NODELAY`).
#[derive(Debug)]
pub(super) struct Listener(pub(super) TcpListener);

impl axum::serve::Listener for Listener {
    type Io = Wire;
    type Addr = Line;

    async fn accept(&mut self) -> (Wire, Line) {
        loop {
            match self.0.accept().await {
                Ok((stream, _)) => {
                    // Without it answers are late, not wrong.
                    let _ = stream.set_nodelay(true);
                    let line = Line::new();
                    return (Wire { stream, line: line.clone() }, line);
                }
                // Out of file descriptors, say: what is open goes on, and the rest waits.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<Line> {
        Ok(Line::new())
    }
}

/// A TCP stream that a [`Line`] can cut.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    line: Line,
}

impl Wire {
    /// The most bytes that may be written now, or the error that ends the connection.
    fn room(&self) -> io::Result<usize> {
        match self.line.0.load(Ordering::Relaxed) {
            0 => {
                // Closing with a linger of zero sends a reset in place of an orderly end.
                self.stream.set_zero_linger()?;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            room => Ok(room),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let room = self.room()?;
        let bytes = &bytes[..bytes.len().min(room)];
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = written
            && room != UNCUT
        {
            self.line.cut_after(room - written);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
