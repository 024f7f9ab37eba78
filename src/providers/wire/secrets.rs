//! Secrets, and provider messages without them.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use crate::{
    domain::{
        Reply,
        text::{beginning, collapsed},
    },
    providers::Rejection,
};

/// Longest provider message that is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// A secret shorter than this is a placeholder such as `-` or `x`: hiding it would only make
/// messages unreadable.
const MIN_SECRET_CHARS: usize = 4;

/// Of the text before a stream broke no more characters than this go into the failure's message.
const SHOWN_CHARS: usize = 200;

const HIDDEN: &str = "[hidden]";

/// What must never be printed or stored: the key, and header values that stand for one.
#[derive(Clone, Default)]
pub struct Secrets(Vec<SecretString>);

impl Secrets {
    /// The secrets of one account, without the white space around them (a key read from a file often
    /// ends in a newline, which is not sent).
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let mut secrets: Vec<SecretString> = secrets
            .into_iter()
            .map(|secret| SecretString::from(secret.expose_secret().trim()))
            .filter(|secret| secret.expose_secret().chars().count() >= MIN_SECRET_CHARS)
            .collect();
        // The longest first: a secret that contains another is hidden whole.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self(secrets)
    }

    /// A provider's message made fit to be kept: secrets hidden, control characters visible, white
    /// space single, at most about 500 characters.
    ///
    /// Beside the account's own secrets it hides what follows `Bearer` and every word that starts
    /// with `sk-`: some servers repeat a key in part, or the key of a proxy behind them.
    pub fn hide(&self, message: &str) -> String {
        collapsed(&hide_tokens(&self.conceal(message)), MAX_MESSAGE_CHARS)
    }

    /// A text as it is, but for the account's own secrets.
    pub fn conceal(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.conceal_in(&mut text);
        text
    }

    /// What came off the wire, without the account's secrets: the one place for all dialects. The answer
    /// is whole here, so that a key that was cut by the pieces of a stream is found, too.
    pub fn conceal_all(&self, read: Result<Reply, Rejection>) -> Result<Reply, Rejection> {
        match read {
            Ok(mut reply) => {
                self.conceal_in(&mut reply.text);
                let words = [&mut reply.model, &mut reply.system_fingerprint, &mut reply.request_id];
                words.into_iter().flatten().for_each(|word| self.conceal_in(word));
                reply.stop_reason = reply.stop_reason.map(|reason| self.hide(&reason));
                reply.metered.raw.iter_mut().for_each(|raw| self.conceal_in(raw));
                Ok(reply)
            }
            Err(rejection) => Err(self.conceal_rejection(rejection)),
        }
    }

    /// The same for what brought no answer.
    pub fn conceal_rejection(&self, mut rejection: Rejection) -> Rejection {
        let message = self.hide(&rejection.failure.message);
        rejection.failure.message = self.with_text(message, &std::mem::take(&mut rejection.text));
        let words = [&mut rejection.request_id, &mut rejection.metered.raw];
        words.into_iter().flatten().for_each(|word| self.conceal_in(word));
        rejection
    }

    /// A failure's message, and the beginning of the text that had come before it.
    fn with_text(&self, message: String, text: &str) -> String {
        if text.is_empty() {
            return message;
        }
        let text = self.conceal(text);
        let shown = beginning(&text, SHOWN_CHARS);
        let rest = if shown.len() < text.len() { "…" } else { "" };
        format!("{message}; the text before it: `{}{rest}`", self.hide(shown))
    }

    fn conceal_in(&self, text: &mut String) {
        for secret in &self.0 {
            if text.contains(secret.expose_secret()) {
                *text = text.replace(secret.expose_secret(), HIDDEN);
            }
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secrets({})", self.0.len())
    }
}

/// Hides bearer tokens and words that start like a key.
fn hide_tokens(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut after_bearer = false;
    let mut rest = text;
    while !rest.is_empty() {
        let word_end = rest.find(|character| !is_token_character(character)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(word_end);
        let gap_end = tail.find(is_token_character).unwrap_or(tail.len());
        let (gap, tail) = tail.split_at(gap_end);
        let is_secret = !word.is_empty() && (after_bearer || word.starts_with("sk-"));
        kept.push_str(if is_secret { HIDDEN } else { word });
        kept.push_str(gap);
        after_bearer = word.eq_ignore_ascii_case("bearer") && gap.chars().all(char::is_whitespace);
        rest = tail;
    }
    kept
}

/// Characters a key may have. Not `=`, which pads a key's end but also stands in front of one.
fn is_token_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_.~+/*".contains(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secrets(keys: &[&str]) -> Secrets {
        Secrets::new(keys.iter().map(|&key| SecretString::from(key)))
    }

    #[test]
    fn the_key_is_hidden_wherever_a_message_repeats_it() {
        let secrets = secrets(&["my-test-key\n"]);
        for (message, kept) in [
            ("Incorrect API key provided: my-test-key.", "Incorrect API key provided: [hidden]."),
            ("Incorrect key sk-proj-***************9f3A given", "Incorrect key [hidden] given"),
            ("got Authorization: Bearer abc.def/123 here", "got Authorization: Bearer [hidden] here"),
            ("bearer my-test-key", "bearer [hidden]"),
            ("url?key=sk-abc&x=1", "url?key=[hidden]&x=1"),
            ("the risk-free rate", "the risk-free rate"),
            ("Bearer, my friend", "Bearer, my friend"),
        ] {
            assert_eq!(secrets.hide(message), kept);
        }
    }

    #[test]
    fn a_placeholder_key_does_not_mangle_messages() {
        assert_eq!(secrets(&["", "x"]).hide("extra field"), "extra field");
    }

    #[test]
    fn a_message_is_one_short_visible_line() {
        let secrets = Secrets::default();
        assert_eq!(secrets.hide("a\r\n\t b\u{1b}[31m \u{202e}c"), "a b\\u{1b}[31m \\u{202e}c");
        let long = secrets.hide(&"é".repeat(2_000));
        assert_eq!(long.chars().count(), MAX_MESSAGE_CHARS + 1);
    }

    #[test]
    fn a_key_is_not_saved_by_being_cut_in_half() {
        let message = format!("{} secret-key-123", "y".repeat(MAX_MESSAGE_CHARS - 7));
        assert!(!secrets(&["secret-key-123"]).hide(&message).contains("secr"));
    }

    #[test]
    fn an_answer_and_what_stands_beside_it_keep_no_key() {
        let secrets = secrets(&["my-test-key"]);
        let reply = Reply { model: Some("m my-test-key".into()), ..Reply::answered("it is my-test-key\n") };
        let reply = secrets.conceal_all(Ok(reply)).unwrap();
        assert_eq!((reply.text.as_str(), reply.model.as_deref()), ("it is [hidden]\n", Some("m [hidden]")));
    }

    #[test]
    fn a_text_that_broke_off_is_shown_without_the_key_that_its_end_cuts() {
        let text = format!("{} my-test-key and more", "y".repeat(SHOWN_CHARS - 6));
        let rejection = Rejection { text, ..Rejection::malformed("no") };
        let message = secrets(&["my-test-key"]).conceal_all(Err(rejection)).unwrap_err().failure.message;
        assert!(message.starts_with("no; the text before it: `yyy") && message.ends_with("…`"), "{message}");
        assert!(!message.contains("my-te"), "{message}");
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", secrets(&["my-test-key"])), "Secrets(1)");
    }

    proptest! {
        #[test]
        fn no_message_panics_or_keeps_the_key(before in "\\PC*", after in any::<String>()) {
            let hidden = secrets(&["k3y-k3y-k3y"]).hide(&format!("{before}k3y-k3y-k3y{after}"));
            prop_assert!(!hidden.contains("k3y-k3y-k3y"));
            prop_assert!(!hidden.chars().any(char::is_control));
        }
    }
}
