//! Tokens, in parts that never overlap.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Token counts of one answer. The parts are disjoint: the whole input is their sum, whatever the
/// provider's own arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input billed at the plain price.
    pub input_uncached: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Input written to the cache for thirty minutes.
    pub cache_write_30m: u64,
    /// Input written to the cache for one hour.
    pub cache_write_1h: u64,
    /// Everything billed as output, reasoning included.
    pub output: u64,
    /// The part of `output` spent on reasoning; `None` when the provider does not say.
    pub reasoning: Option<u64>,
}

impl Usage {
    /// More tokens than any answer has: beyond it a count is nonsense, and sums stay far from overflow.
    pub const MAX_COUNT: u64 = 1 << 40;

    /// Whether this can be what one answer used: every part is a count, and reasoning a part of the output.
    pub fn is_plausible(&self) -> bool {
        let Self { input_uncached, cache_read, output, reasoning, .. } = *self;
        let parts = [input_uncached, cache_read, output, self.cache_write_5m, self.cache_write_30m];
        parts.into_iter().chain([self.cache_write_1h]).all(|count| count <= Self::MAX_COUNT)
            && reasoning.is_none_or(|reasoning| reasoning <= output)
    }

    /// The whole input: uncached, read and written.
    pub fn input_total(&self) -> u64 {
        self.input_uncached + self.cache_read + self.cache_writes()
    }

    /// All cache writes, of every lifetime.
    pub fn cache_writes(&self) -> u64 {
        self.cache_write_5m + self.cache_write_30m + self.cache_write_1h
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_uncached += other.input_uncached;
        self.cache_read += other.cache_read;
        self.cache_write_5m += other.cache_write_5m;
        self.cache_write_30m += other.cache_write_30m;
        self.cache_write_1h += other.cache_write_1h;
        self.output += other.output;
        self.reasoning = match (self.reasoning, other.reasoning) {
            (None, None) => None,
            (mine, theirs) => Some(mine.unwrap_or(0) + theirs.unwrap_or(0)),
        };
    }
}

/// Why a usage is not to be trusted as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageFlag {
    /// The provider's numbers contradict each other: kept raw, priced as unknown.
    Contradictory,
    /// The stream was cut before the last usage.
    Incomplete,
    /// Cache writes without their lifetime: taken as five minutes, so the cost is approximate.
    LifetimeAssumed,
}

impl UsageFlag {
    /// The name as the store and reports write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contradictory => "contradictory",
            Self::Incomplete => "incomplete",
            Self::LifetimeAssumed => "lifetime_assumed",
        }
    }

    /// The flag of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Contradictory, Self::Incomplete, Self::LifetimeAssumed]
            .into_iter()
            .find(|flag| flag.as_str() == name)
    }
}

/// What a provider said of an answer's tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metered {
    /// The counts; `None` when the provider gave none or contradictory ones.
    pub usage: Option<Usage>,
    /// Why they are not to be trusted as they stand.
    pub flag: Option<UsageFlag>,
    /// The provider's own words (JSON), kept where `flag` is set.
    pub raw: Option<String>,
}

impl From<Usage> for Metered {
    fn from(usage: Usage) -> Self {
        Self { usage: Some(usage), flag: None, raw: None }
    }
}
