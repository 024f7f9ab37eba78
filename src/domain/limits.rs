//! What a server's headers say about an account's limits.

use std::time::Duration;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitDimension {
    /// Requests a minute.
    Requests,
    /// Input tokens a minute.
    InputTokens,
    /// Output tokens a minute.
    OutputTokens,
    /// Input and output together, a minute.
    Tokens,
}

/// One limit as a response's headers give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReading {
    /// What it counts.
    pub dimension: LimitDimension,
    /// The limit a minute.
    pub limit: Option<u64>,
    /// What is left just now: a bucket's level, never to be read as a share of `limit`.
    pub remaining: Option<u64>,
    /// How long until the bucket is *full* again: not a wait.
    pub full_in: Option<Duration>,
}

/// All limits that one response told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitReport {
    /// One entry a dimension that the headers name.
    pub readings: Vec<LimitReading>,
}
