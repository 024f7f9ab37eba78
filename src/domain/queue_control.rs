//! What a user asks of a queue while it runs, and what is kept of how it ran.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{PerDimension, ProviderName};

/// Ceilings put over a queue's own while it runs; `None` leaves one as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveLimits {
    /// The most requests on the wire at once.
    pub max_in_flight: Option<u32>,
    /// Requests and tokens a minute.
    pub per_minute: PerDimension<Option<u64>>,
}

impl LiveLimits {
    /// These limits, with `other`'s in place of those it names.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            max_in_flight: other.max_in_flight.or(self.max_in_flight),
            per_minute: other.per_minute.zip(self.per_minute).map(|(new, own)| new.or(own)),
        }
    }
}

/// What a user asks of one queue of a running run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueControl {
    /// Whether nothing new may start.
    pub paused: bool,
    /// The ceilings to keep to from now on.
    pub limits: LiveLimits,
}

/// How one queue ran in one session: kept with the run, shown by `show`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRecord {
    /// The account.
    pub provider: ProviderName,
    /// The limits a minute that the server's headers told, by name.
    pub learnt: BTreeMap<String, u64>,
    /// Each change of the concurrency limit, the newest thousand.
    pub concurrency: Vec<ConcurrencyRecord>,
    /// Each pause of the whole queue, the newest thousand.
    pub pauses: Vec<PauseRecord>,
    /// The most processes of this machine that shared the account at once; 0: it was not shared.
    pub most_members: u32,
}

/// One change of a concurrency limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConcurrencyRecord {
    /// When, in milliseconds since the queue began.
    pub at_ms: u64,
    /// The limit from then on.
    pub limit: u32,
    /// Why: `start`, `fourfold`, `told`, `one_more`, `halved` or `set`; `doubled` in older records.
    pub why: String,
}

/// One pause of a whole queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseRecord {
    /// When it began, in milliseconds since the queue began.
    pub at_ms: u64,
    /// How long it was to last, in milliseconds.
    pub wait_ms: u64,
    /// Whether another process on the same account was told to wait.
    pub shared: bool,
}
