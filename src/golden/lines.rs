//! A JSONL file as numbered lines of text.
//!
//! Only LF ends a line: U+2028, U+2029 and U+0085 inside a string are text. A byte-order mark in
//! front and a CR before the LF are dropped, and a last line without LF counts.

use std::{
    io::{self, BufRead},
    str,
};

/// Reads one line after the other into the same buffer, so that memory does not grow with the file.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: usize,
}

/// One line of the file.
pub(super) struct Line<'a> {
    /// Its number, from 1.
    pub(super) number: usize,
    /// What it says, or why that is not text.
    pub(super) text: Result<&'a str, NotText>,
}

/// Why a line is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotText {
    /// The file is in UTF-16; all further lines would be wrong in the same way.
    Utf16,
    /// A byte that is not UTF-8, after this many characters.
    InvalidByte {
        /// The byte itself.
        byte: u8,
        /// Its column in characters, from 1.
        column: usize,
    },
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: vec![], number: 0 }
    }

    /// The next line, or `None` at the end of the file.
    pub(super) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        if self.reader.read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let mut bytes = self.buffer.as_slice();
        if self.number == 1 {
            if is_utf16(bytes) {
                return Ok(Some(Line { number: 1, text: Err(NotText::Utf16) }));
            }
            bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        }
        bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = str::from_utf8(bytes).map_err(|error| {
            let (valid, rest) = bytes.split_at(error.valid_up_to());
            NotText::InvalidByte { byte: rest[0], column: String::from_utf8_lossy(valid).chars().count() + 1 }
        });
        Ok(Some(Line { number: self.number, text }))
    }
}

/// A UTF-16 mark, or a NUL beside the first ASCII character as UTF-16 without a mark has it.
fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] | [0, b'{', ..] | [b'{', 0, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<(usize, Result<String, NotText>)> {
        let mut lines = Lines::new(bytes);
        let mut read = vec![];
        while let Some(line) = lines.next_line().unwrap() {
            read.push((line.number, line.text.map(str::to_owned)));
        }
        read
    }

    #[test]
    fn a_mark_carriage_returns_and_a_missing_last_newline_are_accepted() {
        let read = texts(b"\xEF\xBB\xBFone\r\n\r\nthree");
        assert_eq!(read, [(1, Ok("one".into())), (2, Ok(String::new())), (3, Ok("three".into()))]);
    }

    #[test]
    fn only_lf_ends_a_line() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\rg";
        assert_eq!(texts(text.as_bytes()), [(1, Ok(text.into()))]);
    }

    #[test]
    fn a_mark_in_the_middle_stays() {
        assert_eq!(texts("a\u{feff}b".as_bytes()), [(1, Ok("a\u{feff}b".into()))]);
    }

    #[test]
    fn utf16_and_invalid_bytes_are_told_apart() {
        for start in [b"\xFF\xFE{\0".as_slice(), b"\xFE\xFF\0{", b"{\0\"\0"] {
            assert_eq!(texts(start)[0].1, Err(NotText::Utf16));
        }
        let read = texts("ok\né".as_bytes().iter().chain(b"\xFFx").copied().collect::<Vec<_>>().as_slice());
        assert_eq!(read[1], (2, Err(NotText::InvalidByte { byte: 0xFF, column: 2 })));
    }
}
