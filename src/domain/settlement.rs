//! What became of a call that was handed to a queue.

use super::{Attempt, Failure, Outcome, Reply, UnixMillis, Walk};

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    /// It ended.
    Ended(Box<Settled>),
    /// Its queue or its asker stopped: it goes back to pending.
    Returned {
        /// What was sent for it all the same.
        attempts: Vec<Attempt>,
    },
    /// It may not be repeated yet. Handed over again with that walk, it goes on where it was.
    Postponed {
        /// What was sent for it.
        attempts: Vec<Attempt>,
        /// How far it is.
        walk: Walk,
    },
}

/// A call that ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// How it ended: as its reply says, failed, or cancelled on its way.
    pub outcome: Outcome,
    /// The last attempt's failure when it failed.
    pub failure: Option<Failure>,
    /// The answer; `None` when there is none.
    pub reply: Option<Reply>,
    /// Every attempt made here, the answered one last. Their costs are left open, but
    /// where an application told its own.
    pub attempts: Vec<Attempt>,
    /// The successful attempt's own request-to-last-byte time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Time to its first token, in milliseconds, when streamed.
    pub first_token_ms: Option<f64>,
    /// Time spent waiting for a place before the first attempt, in milliseconds.
    pub queue_wait_ms: f64,
    /// Time between attempts: back-off, pauses, and the wait for a place again, in milliseconds.
    pub backoff_wait_ms: f64,
    /// When the first attempt began.
    pub started_at: UnixMillis,
    /// When the last one ended.
    pub finished_at: UnixMillis,
}
