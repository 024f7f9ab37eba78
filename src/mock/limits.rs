//! The headers that tell of limits and waits.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};

use super::exchange::Dialect;
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
    pub(super) fn write(&self, dialect: &Dialect, headers: &mut HeaderMap) {
        let Some([limit, remaining, reset]) = (dialect.limit_headers)(self.dimension) else { return };
        headers.insert(HeaderName::from_static(limit), HeaderValue::from(self.limit));
        headers.insert(HeaderName::from_static(remaining), HeaderValue::from(self.remaining));
        insert(headers, reset, &(dialect.full_in)(self.full_in));
    }
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

/// The instant so long after now, rounded up to a second, as Anthropic writes it.
pub(super) fn rfc3339_in(wait: Duration) -> String {
    rfc3339(Timestamp::now(), wait)
}

fn rfc3339(now: Timestamp, wait: Duration) -> String {
    let at = SignedDuration::try_from(wait).ok().and_then(|wait| now.checked_add(wait).ok()).unwrap_or(now);
    let seconds = at.as_second() + i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).unwrap_or(at).to_string()
}

/// A duration as Go prints it, to a millisecond: `157ms`, `1.2s`, `6m0s`, `1h2m3s`.
pub(super) fn go_duration(wait: Duration) -> String {
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
