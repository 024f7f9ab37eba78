//! Reading what a program writes: never more than is accepted, and the end of its standard error.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

use super::supervisor::Ending;

/// Of the standard error of one attempt its last bytes are kept.
const KEPT_STDERR: usize = 8 * 1024;

/// The end of a standard error, as it grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads to the end, which keeps the program from waiting for a reader.
    pub(super) async fn follow(self, mut stderr: impl AsyncRead + Unpin) {
        let mut chunk = [0; 16 * 1024];
        while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(&chunk[read.saturating_sub(KEPT_STDERR)..read]);
            let surplus = kept.len().saturating_sub(KEPT_STDERR);
            kept.drain(..surplus);
        }
    }

    /// Takes what was written since the last time, and the supervisor's own word on
    /// how the program ended.
    pub(super) fn take(&self) -> (Option<String>, Option<Ending>) {
        let bytes: Vec<u8> = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *kept).into()
        };
        let text = String::from_utf8_lossy(&bytes);
        let (own, ending) = Ending::split_from(&text);
        let own = own.trim_end().to_owned();
        ((!own.is_empty()).then_some(own), ending)
    }
}

/// More was written than is accepted.
#[derive(Debug, PartialEq)]
pub(super) struct TooLarge;

/// Puts everything up to the end into `all`; an error once it is more than `limit` bytes. Whoever stops
/// waiting for it has what came until then.
pub(super) async fn read_all(
    mut stdout: impl AsyncRead + Unpin,
    limit: usize,
    all: &mut Vec<u8>,
) -> Result<(), TooLarge> {
    // What a broken pipe leaves is what there is.
    while let Ok(1..) = stdout.read_buf(all).await {
        if all.len() > limit {
            return Err(TooLarge);
        }
    }
    Ok(())
}

/// The next line without its end; `None` at the end of the output. An unfinished last line is a line.
pub(super) async fn next_line(
    stdout: &mut BufReader<impl AsyncRead + Unpin>,
    limit: usize,
) -> Result<Option<Vec<u8>>, TooLarge> {
    let mut line = vec![];
    loop {
        let Ok(available) = stdout.fill_buf().await else { return Ok(None) };
        if available.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let part = end.unwrap_or(available.len());
        if line.len() + part > limit {
            return Err(TooLarge);
        }
        line.extend_from_slice(&available[..part]);
        stdout.consume(part + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// The last line of a standard error: what a program that crashed most often says.
pub(super) fn last_line(stderr: Option<&str>) -> String {
    let last = stderr.and_then(|text| text.lines().rev().find(|line| !line.trim().is_empty()));
    last.map(|line| format!(": {}", line.trim())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_up_to_the_limit() {
        let mut reader = BufReader::new(&b"one\n\ntwo two\nthree"[..]);
        let mut lines = vec![];
        while let Some(line) = next_line(&mut reader, 10).await.unwrap() {
            lines.push(String::from_utf8(line).unwrap());
        }
        assert_eq!(lines, ["one", "", "two two", "three"]);
        let mut reader = BufReader::new(&b"12345678901\n"[..]);
        assert_eq!(next_line(&mut reader, 10).await, Err(TooLarge));
        let mut all = vec![];
        assert_eq!(read_all(&b"12345"[..], 4, &mut all).await, Err(TooLarge));
        all.clear();
        read_all(&b"1234"[..], 4, &mut all).await.unwrap();
        assert_eq!(all, b"1234");
    }

    #[tokio::test]
    async fn a_flood_keeps_only_its_end() {
        let tail = Tail::default();
        let mut flood = vec![b'x'; 100_000];
        flood.extend(b"the end");
        tail.clone().follow(&flood[..]).await;
        let kept: Vec<u8> = tail.0.lock().unwrap().iter().copied().collect();
        assert_eq!(kept.len(), KEPT_STDERR);
        assert!(kept.ends_with(b"the end"));
    }

    #[test]
    fn the_last_line_is_what_a_crash_says() {
        assert_eq!(last_line(Some("Traceback\n  ValueError: no\n\n")), ": ValueError: no");
        assert_eq!(last_line(None), "");
    }
}
