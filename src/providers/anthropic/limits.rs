//! The headers that tell of an account's limits.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reqwest::header::HeaderMap;

use crate::{
    domain::{LimitDimension, LimitReading, LimitReport},
    providers::wire::{
        limit_headers::{reading, text},
        retry_after::server_time,
    },
};

/// The limits in `anthropic-ratelimit-<what>-{limit,remaining,reset}`; a reset is an
/// RFC 3339 time, measured against the response's `date`, else against `now`.
///
/// `tokens` only repeats the most restrictive of the others, so it is read where they are absent (as
/// older accounts have it).
pub(super) fn limits(headers: &HeaderMap, now: SystemTime) -> LimitReport {
    let now = server_time(headers, now);
    let reading = |what: &str, dimension| {
        let text = |part: &str| text(headers, &format!("anthropic-ratelimit-{what}-{part}"));
        let full_in = text("reset").and_then(|reset| until(reset, now));
        reading(dimension, text("limit"), text("remaining"), full_in)
    };
    let mut readings: Vec<LimitReading> = [
        ("requests", LimitDimension::Requests),
        ("input-tokens", LimitDimension::InputTokens),
        ("output-tokens", LimitDimension::OutputTokens),
    ]
    .into_iter()
    .filter_map(|(what, dimension)| reading(what, dimension))
    .collect();
    if readings.iter().all(|reading| reading.dimension == LimitDimension::Requests) {
        readings.extend(reading("tokens", LimitDimension::Tokens));
    }
    LimitReport { readings }
}

/// How long until an RFC 3339 time; nothing when it is past.
fn until(reset: &str, now: SystemTime) -> Option<Duration> {
    let reset = reset.parse::<Timestamp>().ok()?.duration_since(Timestamp::UNIX_EPOCH);
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Duration::try_from(reset).ok()?.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    use super::*;
    use crate::providers::wire::limit_headers::tests::{headers, reads};

    #[test]
    fn the_headers_name_requests_input_and_output() {
        let headers = headers(&[
            ("date", "Tue, 03 Mar 2026 08:00:00 GMT"),
            ("anthropic-ratelimit-requests-limit", "50"),
            ("anthropic-ratelimit-requests-remaining", "49"),
            ("anthropic-ratelimit-requests-reset", "2026-03-03T08:00:02Z"),
            ("anthropic-ratelimit-input-tokens-limit", "40000"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            ("anthropic-ratelimit-input-tokens-reset", "2026-03-03T08:00:30.5Z"),
            ("anthropic-ratelimit-output-tokens-limit", "8000"),
            ("anthropic-ratelimit-output-tokens-remaining", "8000"),
            ("anthropic-ratelimit-output-tokens-reset", "2026-03-03T07:59:59Z"),
            ("anthropic-ratelimit-tokens-limit", "40000"),
            ("anthropic-ratelimit-tokens-remaining", "0"),
            ("anthropic-ratelimit-tokens-reset", "2026-03-03T08:00:30Z"),
        ]);
        assert_eq!(
            limits(&headers, SystemTime::UNIX_EPOCH).readings,
            [
                reads(LimitDimension::Requests, 50, 49, 2_000),
                reads(LimitDimension::InputTokens, 40_000, 0, 30_500),
                reads(LimitDimension::OutputTokens, 8_000, 8_000, 0),
            ]
        );
    }

    #[test]
    fn tokens_are_read_where_nothing_finer_is_told() {
        let headers = headers(&[
            ("anthropic-ratelimit-requests-limit", "5"),
            ("anthropic-ratelimit-tokens-limit", "25000"),
            ("anthropic-ratelimit-tokens-remaining", "24000"),
        ]);
        let dimensions: Vec<_> = limits(&headers, SystemTime::now())
            .readings
            .iter()
            .map(|reading| (reading.dimension, reading.limit))
            .collect();
        assert_eq!(dimensions, [(LimitDimension::Requests, Some(5)), (LimitDimension::Tokens, Some(25_000))]);
    }

    #[test]
    fn headers_that_nobody_knows_change_nothing() {
        let told = headers(&[
            ("anthropic-ratelimit-images-limit", "5"),
            ("anthropic-ratelimit-requests-burst", "9"),
            ("anthropic-ratelimit-requests-limit", "fifty"),
            ("anthropic-fast-input-tokens-limit", "7"),
            ("x-ratelimit-limit-requests", "500"),
        ]);
        assert_eq!(limits(&told, SystemTime::now()), LimitReport::default());
    }

    proptest! {
        #[test]
        fn no_header_panics(value in prop::collection::vec(any::<u8>(), 0..30)) {
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                for part in ["limit", "remaining", "reset"] {
                    let name = format!("anthropic-ratelimit-tokens-{part}");
                    headers.insert::<reqwest::header::HeaderName>(name.parse().unwrap(), value.clone());
                }
                limits(&headers, SystemTime::now());
            }
        }
    }
}
