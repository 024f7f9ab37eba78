//! The headers that tell of limits and waits.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};

use super::dialect::Dialect;
use crate::domain::LimitDimension;

/// What a response tells of one limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    /// Of what.
    pub(super) dimension: LimitDimension,
    /// So many a minute.
    pub(super) limit: u64,
    /// How many are left, of the minute or of the bucket.
    pub(super) remaining: u64,
    /// How long until the bucket is full again.
    pub(super) full_in: Duration,
}

impl Reading {
    /// Adds the headers by which `dialect` tells it; what it has no words for is not told.
    pub(super) fn write(&self, dialect: Dialect, headers: &mut HeaderMap) {
        let Some([limit, remaining, reset]) = names(dialect, self.dimension) else { return };
        let full_at = match dialect {
            Dialect::Anthropic => rfc3339(Timestamp::now(), self.full_in),
            Dialect::OpenAi => go_duration(self.full_in),
        };
        headers.insert(HeaderName::from_static(limit), HeaderValue::from(self.limit));
        headers.insert(HeaderName::from_static(remaining), HeaderValue::from(self.remaining));
        insert(headers, reset, &full_at);
    }
}

/// The headers of limit, remaining and reset.
fn names(dialect: Dialect, dimension: LimitDimension) -> Option<[&'static str; 3]> {
    Some(match (dialect, dimension) {
        (Dialect::Anthropic, LimitDimension::Requests) => [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ],
        (Dialect::Anthropic, LimitDimension::InputTokens) => [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ],
        (Dialect::Anthropic, LimitDimension::OutputTokens) => [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ],
        (Dialect::Anthropic, LimitDimension::Tokens) => [
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
        ],
        (Dialect::OpenAi, LimitDimension::Requests) => {
            ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"]
        }
        (Dialect::OpenAi, LimitDimension::Tokens) => {
            ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"]
        }
        // This protocol knows tokens only together.
        (Dialect::OpenAi, LimitDimension::InputTokens | LimitDimension::OutputTokens) => return None,
    })
}

/// Adds `retry-after`, rounded up, and unless `whole_seconds` the exact `retry-after-ms`.
pub(super) fn write_wait(wait: Duration, whole_seconds: bool, headers: &mut HeaderMap) {
    let milliseconds = ceil_ms(wait);
    headers.insert("retry-after", HeaderValue::from(milliseconds.div_ceil(1000).max(1)));
    if !whole_seconds {
        headers.insert("retry-after-ms", HeaderValue::from(milliseconds));
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    let value = HeaderValue::from_str(value).expect("times are written in ASCII");
    headers.insert(HeaderName::from_static(name), value);
}

fn ceil_ms(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The instant `wait` after `now`, rounded up to a second, as Anthropic writes it.
fn rfc3339(now: Timestamp, wait: Duration) -> String {
    let at = SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(now);
    let seconds = at.as_second() + i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).unwrap_or(at).to_string()
}

/// A duration as Go prints it, to a millisecond: `157ms`, `1.2s`, `6m0s`, `1h2m3s`.
fn go_duration(wait: Duration) -> String {
    let milliseconds = ceil_ms(wait);
    if milliseconds == 0 {
        return "0s".to_owned();
    }
    if milliseconds < 1000 {
        return format!("{milliseconds}ms");
    }
    let (whole, rest) = (milliseconds / 1000, milliseconds % 1000);
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    let seconds = match rest {
        0 => format!("{seconds}s"),
        rest => format!("{seconds}.{}s", format!("{rest:03}").trim_end_matches('0')),
    };
    match (hours, minutes) {
        (0, 0) => seconds,
        (0, minutes) => format!("{minutes}m{seconds}"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_prints_them() {
        for (milliseconds, text) in [
            (0, "0s"),
            (157, "157ms"),
            (1000, "1s"),
            (1200, "1.2s"),
            (179_560, "2m59.56s"),
            (360_000, "6m0s"),
            (3_723_000, "1h2m3s"),
        ] {
            assert_eq!(go_duration(Duration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn a_reset_is_an_instant_in_whole_seconds() {
        let now: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        assert_eq!(rfc3339(now, Duration::from_millis(16_200)), "2026-11-29T12:00:17Z");
        assert_eq!(rfc3339(now, Duration::ZERO), "2026-11-29T12:00:00Z");
    }

    #[test]
    fn a_wait_is_rounded_up() {
        let mut headers = HeaderMap::new();
        write_wait(Duration::from_micros(1_000_100), false, &mut headers);
        assert_eq!(
            (&headers["retry-after"], &headers["retry-after-ms"]),
            (&HeaderValue::from(2), &HeaderValue::from(1001))
        );
        let mut headers = HeaderMap::new();
        write_wait(Duration::from_millis(100), true, &mut headers);
        assert_eq!(headers["retry-after"], "1");
        assert!(!headers.contains_key("retry-after-ms"));
    }
}
