//! What is said in one message.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a message says: one text, and written as that text alone.
///
/// Fingerprints, request hashes and what goes on the wire are taken from the bytes in which it is
/// written: one text stays the bare text, whatever else a message can hold one day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Content(String);

impl Content {
    /// What is said, as text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{Fingerprint, Message, Role};

    /// Fingerprints and request hashes are taken of these bytes.
    #[test]
    fn one_text_is_written_as_the_bare_text() {
        let message = Message { role: Role::User, content: "a \"word\"\n".into() };
        let written = serde_json::to_string(&message).unwrap();
        assert_eq!(written, r#"{"role":"user","content":"a \"word\"\n"}"#);
        assert_eq!(serde_json::from_str::<Message>(&written).unwrap(), message);
        let fault = serde_json::from_str::<Message>(r#"{"role":"user","content":3}"#).unwrap_err();
        assert!(fault.to_string().starts_with("invalid type: integer `3`, expected a string"), "{fault}");
        let hash = Fingerprint::of(written.as_bytes()).to_string();
        assert_eq!(hash, "d46f7d4864a7aed7e7cd1f915496f6dee52821227d37eee5edc2dd9f9efde4d2");
    }
}
