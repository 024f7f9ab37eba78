//! Server-sent events, read from bytes as they arrive.
//!
//! Source: WHATWG HTML standard, section "Server-sent events", parsing and interpreting an event
//! stream. Only `event` and `data` matter here; `id` and `retry` are read over.

use std::mem;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its `event` field; empty when it has none.
    pub name: String,
    /// Its `data` lines, joined by line feeds.
    pub data: String,
}

/// Reads events from bytes that may be cut anywhere.
#[derive(Debug, Default)]
pub struct SseReader {
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed behind it belongs to the same line end.
    after_return: bool,
    is_past_first_line: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseReader {
    /// The events that `bytes` completes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<SseEvent> {
        let mut events = vec![];
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_second_half = rest[end] == b'\n' && end == 0 && self.after_return;
            self.line.extend_from_slice(&rest[..end]);
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if !is_second_half {
                events.extend(self.end_line());
            }
        }
        self.after_return &= rest.is_empty();
        self.line.extend_from_slice(rest);
        events
    }

    /// The event that the end of the stream left without its blank line, perhaps cut short.
    ///
    /// The standard drops it; some servers leave the last blank line out, so whoever can tell a whole
    /// event from a part of one may look at it.
    pub fn finish(mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_line()
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let mut line = mem::take(&mut self.line);
        if !mem::replace(&mut self.is_past_first_line, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let event = mem::take(&mut self.event);
            return mem::take(&mut self.has_data).then_some(event);
        }
        // A whole line, so no character is cut.
        let text = String::from_utf8_lossy(&line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments (an empty field name), `id`, `retry` and what is yet to be invented.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), data: data.to_owned() }
    }

    /// All events of `pieces`, and the one that the end left open.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SseEvent>, Option<SseEvent>) {
        let mut reader = SseReader::default();
        let events = pieces.into_iter().flat_map(|piece| reader.push(piece)).collect();
        (events, reader.finish())
    }

    #[test]
    fn every_line_end_ends_a_line_once() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                ["event: a", "data: 1", "", ": ping", "data:2", "data:  3", "", "", "data", "", ""].join(end);
            let expected = vec![event("a", "1"), event("", "2\n 3"), event("", "")];
            assert_eq!(read([text.as_bytes()]), (expected, None), "{end:?}");
        }
    }

    #[test]
    fn comments_unknown_fields_and_bare_names_make_no_event() {
        let text = "\u{feff}: OPENROUTER PROCESSING\n\n:\n\nid: 7\nretry: 10\n\nevent: ping\n\ndata: x\n\n";
        assert_eq!(read([text.as_bytes()]), (vec![event("", "x")], None));
    }

    #[test]
    fn an_event_without_its_blank_line_is_told_apart() {
        assert_eq!(
            read([b"data: 1\n\ndata: [DONE]".as_slice()]),
            (vec![event("", "1")], Some(event("", "[DONE]")))
        );
        assert_eq!(read([b"data: {\"ha".as_slice()]).1, Some(event("", "{\"ha")));
        assert_eq!(read([b"".as_slice()]), (vec![], None));
    }

    proptest! {
        /// Cut anywhere, also within a character or between `\r` and `\n`, the events are the same.
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(
            lines in prop::collection::vec(
                prop_oneof![
                    Just(String::new()), Just(": ping".to_owned()), Just("event: message".to_owned()),
                    "data: [a-zé€𝄞 :]{0,12}", "[a-z:é\u{feff} ]{0,8}",
                ],
                0..20,
            ),
            ends in prop::collection::vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let text: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
            let bytes = text.as_bytes();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(read(pieces), read([bytes]));
            prop_assert_eq!(read(bytes.chunks(1)), read([bytes]));
        }

        #[test]
        fn what_is_written_as_events_is_read_back(
            events in prop::collection::vec(("[a-z_]{0,8}", "[a-z{}\":é \n]{0,30}"), 0..8),
        ) {
            let text: String = events
                .iter()
                .map(|(name, data)| {
                    let data: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
                    format!("event: {name}\n{data}\n")
                })
                .collect();
            let expected: Vec<SseEvent> = events.iter().map(|(name, data)| event(name, data)).collect();
            prop_assert_eq!(read([text.as_bytes()]), (expected, None));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read([bytes.as_slice()]);
        }
    }
}
