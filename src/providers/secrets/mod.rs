//! Secrets, and everything that comes off the wire without them: the one place for all who are asked.

mod escapes;
#[cfg(test)]
mod properties;
mod traces;

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use self::traces::Traces;
use super::Rejection;
use crate::domain::{
    Failure, Reply,
    text::{beginning, collapsed},
};

/// Longest provider message that is kept, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// A secret shorter than this is not hidden: a placeholder such as `-` or `none` stands in many innocent
/// texts. Who checks an experiment is told.
pub const LEAST_SECRET_CHARS: usize = 8;

/// Of the text before a stream broke no more characters than this go into the failure's message.
const SHOWN_CHARS: usize = 200;

const HIDDEN: &str = "[hidden]";

/// What must never be printed or stored: the key, and header values that stand for one.
///
/// A secret is found as it is, percent-encoded, escaped as in JSON or HTML, in base64 and in hexadecimal
/// digits, and by eight or more characters of its beginning or its end.
#[derive(Clone, Default)]
pub struct Secrets {
    count: usize,
    traces: Option<Traces>,
}

impl Secrets {
    /// The secrets of one account, without the white space around them (a key read from a file often
    /// ends in a newline, which is not sent) and without the scheme before a header's value.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let secrets: Vec<SecretString> = secrets
            .into_iter()
            .map(|secret| SecretString::from(without_scheme(secret.expose_secret())))
            .filter(|secret| secret.expose_secret().chars().count() >= LEAST_SECRET_CHARS)
            .collect();
        Self { count: secrets.len(), traces: (!secrets.is_empty()).then(|| Traces::of(&secrets)) }
    }

    /// A provider's message made fit to be kept: secrets hidden, control characters visible, white
    /// space single, at most about 500 characters.
    ///
    /// Beside the account's own secrets it hides what follows `Bearer` and every word that starts
    /// with `sk-`: some servers repeat a key in part, or the key of a proxy behind them.
    fn hide(&self, message: &str) -> String {
        let mut message = message.to_owned();
        self.conceal(&mut message);
        collapsed(&hide_tokens(&message), MAX_MESSAGE_CHARS)
    }

    /// What was answered, without the account's secrets. Every reply and every rejection goes through here
    /// before anybody keeps or prints it; it is whole by then, so that a key which was cut by the pieces of
    /// a stream is found, too. Each field is named: one that is added has to be thought of.
    pub(super) fn conceal_all(&self, read: Result<Reply, Rejection>) -> Result<Reply, Rejection> {
        let mut reply = read.map_err(|rejection| self.conceal_rejection(rejection))?;
        let Reply {
            outcome: _,
            text,
            stop_reason,
            metered,
            model,
            system_fingerprint,
            request_id,
            limits: _,
            latency: _,
            first_token_ms: _,
            retrieved,
            reported_cost: _,
            meta,
            stderr,
        } = &mut reply;
        self.conceal(text);
        *stop_reason = stop_reason.take().map(|reason| self.hide(&reason));
        let words = [&mut metered.raw, model, system_fingerprint, request_id, stderr];
        words.into_iter().flatten().for_each(|word| self.conceal(word));
        for passage in retrieved.iter_mut().flatten() {
            self.conceal(&mut passage.doc);
            passage.chunk.iter_mut().for_each(|chunk| self.conceal(chunk));
            self.conceal(&mut passage.text);
        }
        meta.iter_mut().for_each(|value| self.conceal_value(value));
        Ok(reply)
    }

    /// The same for what brought no answer.
    pub(super) fn conceal_rejection(&self, rejection: Rejection) -> Rejection {
        let Rejection { failure, mut request_id, mut metered, limits, mut stderr, text } = rejection;
        let message = self.with_text(self.hide(&failure.message), text);
        let words = [&mut request_id, &mut metered.raw, &mut stderr];
        words.into_iter().flatten().for_each(|word| self.conceal(word));
        let failure = Failure { message, ..failure };
        Rejection { failure, request_id, metered, limits, stderr, text: String::new() }
    }

    /// A failure's message, and the beginning of the text that had come before it.
    fn with_text(&self, message: String, mut text: String) -> String {
        if text.is_empty() {
            return message;
        }
        self.conceal(&mut text);
        let shown = beginning(&text, SHOWN_CHARS);
        let rest = if shown.len() < text.len() { "…" } else { "" };
        format!("{message}; the text before it: `{}{rest}`", self.hide(shown))
    }

    /// Hides the account's own secrets in a text that else stays as it is.
    fn conceal(&self, text: &mut String) {
        let Some(traces) = &self.traces else { return };
        let found = traces.find(text);
        if found.is_empty() {
            return;
        }
        let mut kept = String::with_capacity(text.len());
        let mut end = 0;
        for at in found {
            kept.push_str(&text[end..at.start]);
            kept.push_str(HIDDEN);
            end = at.end;
        }
        kept.push_str(&text[end..]);
        *text = kept;
    }

    fn conceal_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.conceal(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.conceal_value(value)),
            Value::Object(fields) => {
                for (mut name, mut value) in std::mem::take(fields) {
                    self.conceal(&mut name);
                    self.conceal_value(&mut value);
                    fields.insert(name, value);
                }
            }
            Value::Number(number) => {
                let mut text = number.to_string();
                self.conceal(&mut text);
                if text.contains(HIDDEN) {
                    *value = Value::String(text);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secrets({})", self.count)
    }
}

/// `Bearer abc` is sent whole, and `abc` is what nobody may see.
fn without_scheme(value: &str) -> &str {
    let value = value.trim();
    match value.split_once(' ') {
        Some((scheme, rest))
            if ["bearer", "basic", "token"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) =>
        {
            rest.trim()
        }
        _ => value,
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
    use serde_json::json;

    use super::*;
    use crate::domain::Retrieved;

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
        assert_eq!(secrets(&["", "x", "false"]).hide("extra field: false"), "extra field: false");
    }

    #[test]
    fn a_token_is_hidden_without_the_scheme_that_was_sent_before_it() {
        assert_eq!(secrets(&["Bearer k3y-of-mine"]).hide("you sent k3y-of-mine"), "you sent [hidden]");
    }

    #[test]
    fn what_an_application_told_beside_its_answer_keeps_no_key() {
        let key = "12345678901234567";
        let retrieved = json!([{"doc": key, "chunk": format!("{key}#1"), "text": format!("a {key}")}]);
        let told = Reply {
            retrieved: Some(Retrieved::list_from(&retrieved).unwrap()),
            meta: Some(json!({key: [{"deep": format!("x{key}"), "number": 12345678901234567_u64}], "n": 1})),
            stderr: Some(format!("KEY={key}")),
            ..Reply::answered("")
        };
        let reply = secrets(&[key]).conceal_all(Ok(told)).unwrap();
        assert!(!format!("{reply:?}").contains("1234567"), "{reply:?}");
        let meta = json!({"[hidden]": [{"deep": "x[hidden]", "number": "[hidden]"}], "n": 1});
        assert_eq!((reply.meta, reply.stderr.as_deref()), (Some(meta), Some("KEY=[hidden]")));
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
