//! What response headers say about an account's limits.
//!
//! Each dialect names its own (its `limits`). The numbers are kept as the server gives them; tuning a
//! limiter with them is the queue's. A reset tells when a bucket is *full* again, never how long to
//! wait. Groq counts `requests` a day where others count a minute: a limit that resets more slowly
//! than in a minute is not one a minute.

use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::domain::{LimitDimension, LimitReading};

/// The text of a header, trimmed.
pub(in crate::providers) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

/// `None` when the headers tell nothing of this dimension. A negative count means "unknown" (Azure).
pub(in crate::providers) fn reading(
    dimension: LimitDimension,
    limit: Option<&str>,
    remaining: Option<&str>,
    full_in: Option<Duration>,
) -> Option<LimitReading> {
    let count = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    let reading = LimitReading { dimension, limit: count(limit), remaining: count(remaining), full_in };
    let is_empty = reading.limit.is_none() && reading.remaining.is_none() && full_in.is_none();
    (!is_empty).then_some(reading)
}

#[cfg(test)]
pub(in crate::providers) mod tests {
    use super::*;

    pub(in crate::providers) fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|&(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    pub(in crate::providers) fn reads(
        dimension: LimitDimension,
        limit: u64,
        remaining: u64,
        full_in_ms: u64,
    ) -> LimitReading {
        LimitReading {
            dimension,
            limit: Some(limit),
            remaining: Some(remaining),
            full_in: Some(Duration::from_millis(full_in_ms)),
        }
    }
}
