//! Long texts compressed, and found again by what they say.

use std::{borrow::Cow, io};

use rusqlite::types::{FromSqlError, Type};

use super::{
    dictionary::{self, Dictionary},
    zstd::{LEVEL, is_frame},
};
use crate::store::columns::Columns;

/// Texts shorter than this stay plain: SQL reads them, and compression would save little.
const PLAIN_BELOW: usize = 1_024;

/// How a text is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct Packed {
    /// The first half of its blake3 hash: of 10⁹ texts, two share it with a chance of 10⁻²¹.
    pub(in crate::store) hash: [u8; 16],
    /// The compressed text; `None` when it is stored plain.
    pub(in crate::store) zstd: Option<Vec<u8>>,
    /// Its length in bytes.
    pub(in crate::store) bytes: i64,
}

/// Whether packing the text takes time.
pub(super) fn is_long(text: &str) -> bool {
    text.len() >= PLAIN_BELOW
}

/// How `text` is stored. With a dictionary, its name stands before the frame.
pub(in crate::store) fn pack(text: &str, dictionary: Option<&Dictionary>) -> Packed {
    Packed { hash: hash_of(text), zstd: compressed(text, dictionary), bytes: length(text) }
}

/// The compressed form of `text`; `None` where it is stored plain.
pub(in crate::store) fn compressed(text: &str, dictionary: Option<&Dictionary>) -> Option<Vec<u8>> {
    is_long(text)
        .then(|| match dictionary {
            None => zstd::bulk::compress(text.as_bytes(), LEVEL).ok(),
            Some(dictionary) => zstd::bulk::Compressor::with_prepared_dictionary(&dictionary.encoder)
                .and_then(|mut compressor| compressor.compress(text.as_bytes()))
                .map(|frame| [&dictionary.name[..], &frame].concat())
                .ok(),
        })
        .flatten()
        .filter(|packed| packed.len() < text.len())
}

/// The length of `text` as SQLite keeps it.
pub(in crate::store) fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// The key under which `text` is found.
pub(in crate::store) fn hash_of(text: &str) -> [u8; 16] {
    let hash = blake3::hash(text.as_bytes());
    hash.as_bytes()[..16].try_into().expect("a hash has 32 bytes")
}

/// The text behind `packed`.
pub(in crate::store) fn unpack(packed: &[u8]) -> Result<String, FromSqlError> {
    let bytes = match packed.split_at_checked(8) {
        Some((name, frame)) if !is_frame(name) => dictionary::decode(name, frame).unwrap_or_else(|| {
            let message = "its dictionary is not in the store";
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }),
        _ => zstd::stream::decode_all(packed),
    }
    .map_err(|error| FromSqlError::Other(error.into()))?;
    String::from_utf8(bytes).map_err(|error| FromSqlError::Other(error.into()))
}

impl<'row> Columns<'row, '_> {
    /// A text from its two columns, plain and compressed; NULL is empty.
    pub(in crate::store) fn packed_text(&mut self) -> rusqlite::Result<Cow<'row, str>> {
        let plain = self.text()?;
        match self.take::<Option<Vec<u8>>>()? {
            None => Ok(Cow::Borrowed(plain)),
            Some(packed) => unpack(&packed)
                .map(Cow::Owned)
                .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, Box::new(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_comes_back_and_a_short_one_stays_plain() {
        let long = "Die Rückgabe ist binnen 14 Tagen möglich. ".repeat(100);
        let packed = pack(&long, None);
        let zstd = packed.zstd.unwrap();
        assert!(zstd.len() * 10 < long.len());
        assert_eq!(unpack(&zstd).unwrap(), long);
        assert_eq!(packed.bytes, length(&long));
        assert_eq!(pack("yes", None).zstd, None);
        assert_ne!(pack("yes", None).hash, pack("no", None).hash);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        assert!(unpack(b"not zstd").is_err());
    }
}
