//! A question and its answer, before a dialect puts them into its own words.

use std::time::Duration;

use crate::domain::{LimitDimension, Outcome, Usage};

/// A protocol that the mock server speaks.
pub(super) struct Dialect {
    /// Where it is asked.
    pub(super) paths: &'static [&'static str],
    /// Reads a body; the second argument says whether some model has a cache.
    pub(super) parse: fn(&[u8], bool) -> Result<Question, Problem>,
    /// The body of an answer.
    pub(super) success: fn(&Answer<'_>) -> Vec<u8>,
    /// The events of an answer that is streamed.
    pub(super) events: fn(&Answer<'_>, StreamOptions) -> Vec<String>,
    /// Status and body of an error; the second argument is the number behind the request's id.
    pub(super) failure: fn(&Problem, u64) -> (u16, Vec<u8>),
    /// The event by which an error of that body ends a stream that has begun.
    pub(super) error_event: fn(&str) -> String,
    /// The header that carries the request's id.
    pub(super) request_id_header: &'static str,
    /// The headers of a limit: what it is, what remains, when it is full again.
    pub(super) limit_headers: fn(LimitDimension) -> Option<[&'static str; 3]>,
    /// How the last of them tells the time until then.
    pub(super) full_in: fn(Duration) -> String,
}

/// What a request's body asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) model: String,
    /// The last user message.
    pub(super) text: String,
    pub(super) max_tokens: Option<u32>,
    /// Characters of the whole prompt.
    pub(super) prompt_chars: usize,
    /// Where the prompt may be cut for the cache, from the shortest to the longest.
    pub(super) prefixes: Vec<Prefix>,
    /// What is written to the cache is kept for an hour, not for five minutes.
    pub(super) for_one_hour: bool,
    /// How the answer is to come, if not in one piece.
    pub(super) stream: Option<StreamOptions>,
}

/// What a streamed answer is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamOptions {
    /// The tokens, in an event of their own where the dialect sends them only on request.
    pub(super) with_usage: bool,
}

/// The beginning of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// A hash over the model and all that is said up to here.
    pub(super) key: u64,
    /// Its characters.
    pub(super) chars: usize,
}

/// One piece of a prompt, in the order in which the cache sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) role: &'a str,
    pub(super) text: &'a str,
    /// Whether the prompt may be cut after it.
    pub(super) is_breakpoint: bool,
}

/// The prefixes of a prompt.
pub(super) fn prefixes<'a>(model: &str, pieces: impl IntoIterator<Item = Piece<'a>>) -> Vec<Prefix> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(model.as_bytes());
    let mut chars = 0;
    let mut prefixes = vec![];
    for piece in pieces {
        // Lengths keep a piece's end where it is.
        hasher.update(&(piece.role.len() as u64).to_le_bytes()).update(piece.role.as_bytes());
        hasher.update(&(piece.text.len() as u64).to_le_bytes()).update(piece.text.as_bytes());
        chars += piece.text.chars().count();
        if piece.is_breakpoint {
            prefixes.push(Prefix { key: short(&hasher.finalize()), chars });
        }
    }
    prefixes
}

/// The hash of a request's body.
pub(super) fn body_hash(body: &[u8]) -> u64 {
    short(&blake3::hash(body))
}

fn short(hash: &blake3::Hash) -> u64 {
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
}

/// An answer to put into words.
#[derive(Clone, Debug)]
pub(super) struct Answer<'a> {
    /// The number behind its ids.
    pub(super) number: u64,
    pub(super) model: &'a str,
    pub(super) outcome: Outcome,
    pub(super) text: &'a str,
    pub(super) usage: Usage,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The key is missing or wrong.
    Key,
    /// The body is not what the protocol asks for.
    Request(String),
    /// More bytes than are read.
    TooLarge,
    /// A limit a minute is reached.
    RateLimit(LimitDimension),
    /// The server fails.
    Server,
    /// The server has no capacity.
    Overloaded,
}

/// The request's id.
pub(super) fn request_id(number: u64) -> String {
    format!("req_mock{number:010}")
}

/// `text` as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("any text is a JSON string")
}

/// The words of a text, each with the space behind it: together they are the text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::mock) fn answer(text: &str) -> Answer<'_> {
        let usage = Usage { input_uncached: 5, cache_read: 7, output: 3, ..Usage::default() };
        Answer { number: 4, model: "m", outcome: Outcome::Truncated, text, usage }
    }

    /// The JSON behind `data:`; `Null` where there is none.
    pub(in crate::mock) fn data(event: &str) -> serde_json::Value {
        let line = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        assert!(event.ends_with("\n\n"), "{event:?}");
        serde_json::from_str(line).unwrap_or_default()
    }

    #[test]
    fn prompts_that_begin_alike_have_the_same_prefix() {
        let piece = |text, is_breakpoint| Piece { role: "user", text, is_breakpoint };
        let first = prefixes("m", [piece("shared", true), piece("a", true)]);
        let second = prefixes("m", [piece("shared", true), piece("b", false)]);
        assert_eq!(first[0], second[0]);
        assert_eq!((first.len(), second.len(), first[1].chars), (2, 1, 7));
        assert_ne!(prefixes("other", [piece("shared", true)])[0].key, first[0].key);
    }
}
