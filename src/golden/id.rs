//! What may be a case id.

use serde_json::value::RawValue;
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::domain::text::is_unseen;

/// The longest id, in characters: it must fit in a table and must not become a file name.
const MAX_CHARACTERS: usize = 200;

/// The id that a raw value gives: text as it is, an integer as its text.
///
/// # Errors
/// What was found instead of an id, and what an id is.
pub(super) fn read_id(raw: &RawValue) -> Result<String, String> {
    let text = raw.get();
    match text.as_bytes().first() {
        Some(b'"') => {
            let id: String = serde_json::from_str(text).map_err(|error| {
                let message = error.to_string();
                let end = message.find(" at line").unwrap_or(message.len());
                message[..end].to_owned()
            })?;
            check_text(&id)?;
            Ok(id)
        }
        Some(b'-' | b'0'..=b'9') if text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => {
            check_text(text)?;
            Ok(text.to_owned())
        }
        Some(b'-' | b'0'..=b'9') => Err(format!(
            "expected text or an integer, found the number `{text}`, which can be written in many ways"
        )),
        Some(b'n') => Err("expected text or an integer, found null".to_owned()),
        Some(b't' | b'f') => Err("expected text or an integer, found a boolean".to_owned()),
        Some(b'[') => Err("expected text or an integer, found a list".to_owned()),
        _ => Err("expected text or an integer, found an object".to_owned()),
    }
}

fn check_text(id: &str) -> Result<(), String> {
    if id.trim().is_empty() {
        return Err("the id is empty".to_owned());
    }
    let length = id.chars().count();
    if length > MAX_CHARACTERS {
        return Err(format!("the id has {length} characters, at most {MAX_CHARACTERS} are allowed"));
    }
    match id.chars().find(|&c| c == '/' || is_unseen(c)) {
        Some('/') => Err("the id has a `/`".to_owned()),
        Some(unseen) if !unseen.is_control() => {
            Err(format!("the id has U+{:04X}, which cannot be seen", u32::from(unseen)))
        }
        Some(control) => Err(format!("the id has the control character U+{:04X}", u32::from(control))),
        None => Ok(()),
    }
}

/// The form in which ids are compared: without spaces around it, and in Unicode form NFC.
pub(super) fn comparable(id: &str) -> String {
    let trimmed = id.trim();
    if is_nfc(trimmed) { trimmed.to_owned() } else { trimmed.nfc().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<String, String> {
        read_id(&serde_json::from_str::<Box<RawValue>>(json).unwrap())
    }

    #[test]
    fn text_and_integers_are_ids() {
        assert_eq!(read(r#""a-1""#), Ok("a-1".into()));
        assert_eq!(read("1"), Ok("1".into()));
        assert_eq!(read("123456789012345678901234567890"), Ok("123456789012345678901234567890".into()));
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for bad in ["1.0", "1e0", "true", "null", "[]", "{}", r#""""#, r#""  ""#] {
            assert!(read(bad).is_err(), "{bad}");
        }
        for (bad, word) in [
            (r#""a\u0000b""#, "U+0000"),
            (r#""a\nb""#, "U+000A"),
            (r#""a/b""#, "`/`"),
            (r#""a\u0085b""#, "U+0085"),
        ] {
            assert!(read(bad).unwrap_err().contains(word), "{bad}");
        }
        let long = format!("\"{}\"", "x".repeat(10_000));
        assert_eq!(read(&long).unwrap_err(), "the id has 10000 characters, at most 200 are allowed");
        assert!(read(&format!("\"{}\"", "é".repeat(200))).is_ok());
    }

    #[test]
    fn ids_compare_without_spaces_and_in_nfc() {
        assert_eq!(comparable(" 1"), comparable("1"));
        assert_eq!(comparable("e\u{301}"), comparable("é"));
    }
}
