//! What a provider's error means for the run, as far as it is the same for all.
//!
//! Each dialect has a table of its own (its `errors`). A text decides only where the status and the
//! code leave it open. Where it stays open the narrower class is taken: a trial that fails alone costs
//! one refused request, a target stopped by mistake costs a night.

use crate::domain::{ErrorClass, FailureKind};

/// What an error means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A policy withheld the answer: a result of this trial, not an error.
    Filtered,
    /// A failure.
    Failed(ErrorClass, FailureKind),
}

use ErrorClass::{Retry, RetrySlow, StopQueue, StopTarget, ThisTrial};
use FailureKind::{
    Authentication, BadRequest, Billing, ContextTooLong, Overloaded, RateLimit, Server, Timeout,
};

/// Whether a sentence, in lower case, says that the prompt is longer than the model takes.
pub fn is_context_too_long(message: &str) -> bool {
    [
        "prompt is too long",
        "maximum context length",
        "exceed context limit",
        "exceeds the context",
        "context length exceeded",
        "context window",
        "context size",
        "maximum model length",
    ]
    .iter()
    .any(|text| message.contains(text))
}

/// What the status alone says.
pub fn by_status(status: u16) -> (ErrorClass, FailureKind) {
    match status {
        401 | 403 | 407 => (StopQueue, Authentication),
        402 => (StopQueue, Billing),
        404 | 405 | 410 => (StopTarget, BadRequest),
        408 | 504 | 524 => (Retry, Timeout),
        409 | 425 => (Retry, Server),
        413 => (ThisTrial, ContextTooLong),
        429 => (RetrySlow, RateLimit),
        503 | 529 => (Retry, Overloaded),
        500..=599 => (Retry, Server),
        _ => (ThisTrial, BadRequest),
    }
}

/// The class after the server's own word on repeating (`x-should-retry`). It decides between trying
/// again and giving this trial up; what stops a target or a queue stops it all the same.
pub fn with_servers_word(class: ErrorClass, should_retry: Option<&str>) -> ErrorClass {
    match (should_retry, class) {
        (Some("false"), Retry | RetrySlow) => ThisTrial,
        (Some("true"), ThisTrial) => Retry,
        _ => class,
    }
}

/// Whether the provider may have worked, and so bill, although this status came back: a gateway that
/// gave up waiting does not stop the model behind it.
pub fn may_be_billed(status: u16) -> bool {
    matches!(status, 200..=299 | 408 | 499 | 502 | 504 | 524)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_word_decides_about_repeating_only() {
        for (word, before, after) in [
            (Some("false"), Retry, ThisTrial),
            (Some("false"), RetrySlow, ThisTrial),
            (Some("false"), StopQueue, StopQueue),
            (Some("true"), ThisTrial, Retry),
            (Some("true"), StopTarget, StopTarget),
            (Some("maybe"), Retry, Retry),
            (None, RetrySlow, RetrySlow),
        ] {
            assert_eq!(with_servers_word(before, word), after, "{word:?} {before:?}");
        }
    }
}
