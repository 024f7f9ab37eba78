//! One request on the wire.

use super::{Cost, Failure, Metered, UnixMillis};

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    /// An answer came back (the trial's own row holds it).
    Answered,
    /// It failed.
    Failed(Failure),
}

/// One request on the wire. Whose it was, its caller knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its number within its trial, counted from 1 over all runs and resumes.
    pub number: u32,
    /// When it was sent.
    pub started_at: UnixMillis,
    /// From the request to the last byte or the failure, in milliseconds.
    pub duration_ms: f64,
    /// How long the trial had waited in back-off just before it, in milliseconds.
    pub backoff_ms: f64,
    /// How it ended.
    pub end: AttemptEnd,
    /// The HTTP status, if one was received.
    pub status: Option<u16>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Tokens, as far as they are known.
    pub metered: Metered,
    /// What it cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// What a program wrote to its standard error meanwhile, cut.
    pub stderr: Option<String>,
}
