//! What response headers say about an account's limits.
//!
//! The numbers are kept as the server gives them; tuning a limiter with them is the queue's. A reset
//! tells when a bucket is *full* again, never how long to wait. Groq counts `requests` a day where
//! others count a minute: a limit that resets more slowly than in a minute is not one a minute.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use reqwest::header::HeaderMap;

use super::retry_after::{decimal, server_time};
use crate::domain::{LimitDimension, LimitReading, LimitReport};

/// The limits in Anthropic's `anthropic-ratelimit-<what>-{limit,remaining,reset}`; a reset is an
/// RFC 3339 time, measured against the response's `date`, else against `now`.
///
/// `tokens` only repeats the most restrictive of the others, so it is read where they are absent (as
/// older accounts have it).
pub fn anthropic_limits(headers: &HeaderMap, now: SystemTime) -> LimitReport {
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

/// The limits in OpenAI's `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, as compatible
/// servers send them too; a reset is a Go duration (`6m0s`), or bare seconds with Azure.
pub fn openai_limits(headers: &HeaderMap) -> LimitReport {
    let readings = [("requests", LimitDimension::Requests), ("tokens", LimitDimension::Tokens)]
        .into_iter()
        .filter_map(|(what, dimension)| {
            let text = |part: &str| text(headers, &format!("x-ratelimit-{part}-{what}"));
            reading(dimension, text("limit"), text("remaining"), text("reset").and_then(reset_duration))
        })
        .collect();
    LimitReport { readings }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

/// `None` when the headers tell nothing of this dimension. A negative count means "unknown" (Azure).
fn reading(
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

/// How long until an RFC 3339 time; nothing when it is past.
fn until(reset: &str, now: SystemTime) -> Option<Duration> {
    let reset = reset.parse::<Timestamp>().ok()?.duration_since(Timestamp::UNIX_EPOCH);
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Duration::try_from(reset).ok()?.saturating_sub(now))
}

/// A Go duration such as `157ms` or `2m59.56s`, or bare seconds. A bare `0` is a proxy's way to say
/// nothing.
fn reset_duration(text: &str) -> Option<Duration> {
    match decimal(text) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok().filter(|wait| !wait.is_zero()),
        None => go_duration(text),
    }
}

/// Source: Go's `time.ParseDuration`, without signs.
fn go_duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let unit_at = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        let number = decimal(&rest[..unit_at])?;
        let after = &rest[unit_at..];
        let unit_end = after.find(|character: char| character.is_ascii_digit()).unwrap_or(after.len());
        seconds += number
            * match &after[..unit_end] {
                "h" => 3_600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" | "μs" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &after[unit_end..];
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(seconds).ok() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|&(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn reads(dimension: LimitDimension, limit: u64, remaining: u64, full_in_ms: u64) -> LimitReading {
        LimitReading {
            dimension,
            limit: Some(limit),
            remaining: Some(remaining),
            full_in: Some(Duration::from_millis(full_in_ms)),
        }
    }

    #[test]
    fn anthropic_names_requests_input_and_output() {
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
            anthropic_limits(&headers, SystemTime::UNIX_EPOCH).readings,
            [
                reads(LimitDimension::Requests, 50, 49, 2_000),
                reads(LimitDimension::InputTokens, 40_000, 0, 30_500),
                reads(LimitDimension::OutputTokens, 8_000, 8_000, 0),
            ]
        );
    }

    #[test]
    fn anthropic_tokens_are_read_where_nothing_finer_is_told() {
        let headers = headers(&[
            ("anthropic-ratelimit-requests-limit", "5"),
            ("anthropic-ratelimit-tokens-limit", "25000"),
            ("anthropic-ratelimit-tokens-remaining", "24000"),
        ]);
        let dimensions: Vec<_> = anthropic_limits(&headers, SystemTime::now())
            .readings
            .iter()
            .map(|reading| (reading.dimension, reading.limit))
            .collect();
        assert_eq!(dimensions, [(LimitDimension::Requests, Some(5)), (LimitDimension::Tokens, Some(25_000))]);
    }

    #[test]
    fn openai_resets_are_go_durations() {
        let headers = headers(&[
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "120ms"),
            ("x-ratelimit-limit-tokens", "90000"),
            ("x-ratelimit-remaining-tokens", "100"),
            ("x-ratelimit-reset-tokens", "1m3.25s"),
        ]);
        assert_eq!(
            openai_limits(&headers).readings,
            [
                reads(LimitDimension::Requests, 500, 499, 120),
                reads(LimitDimension::Tokens, 90_000, 100, 63_250)
            ]
        );
    }

    #[test]
    fn azures_minus_one_and_zero_are_unknown() {
        let headers = headers(&[
            ("x-ratelimit-remaining-requests", "-1"),
            ("x-ratelimit-reset-requests", "0"),
            ("x-ratelimit-limit-tokens", "70000"),
            ("x-ratelimit-remaining-tokens", "-1"),
            ("x-ratelimit-reset-tokens", "38"),
        ]);
        assert_eq!(
            openai_limits(&headers).readings,
            [LimitReading {
                dimension: LimitDimension::Tokens,
                limit: Some(70_000),
                remaining: None,
                full_in: Some(Duration::from_secs(38)),
            }]
        );
        assert_eq!(openai_limits(&HeaderMap::new()), LimitReport::default());
    }

    #[test]
    fn headers_that_nobody_knows_change_nothing() {
        let anthropic = headers(&[
            ("anthropic-ratelimit-images-limit", "5"),
            ("anthropic-ratelimit-requests-burst", "9"),
            ("anthropic-ratelimit-requests-limit", "fifty"),
            ("anthropic-fast-input-tokens-limit", "7"),
            ("x-ratelimit-limit-requests", "500"),
        ]);
        assert_eq!(anthropic_limits(&anthropic, SystemTime::now()), LimitReport::default());
        let openai = headers(&[
            ("x-ratelimit-limit-widgets", "5"),
            ("x-ratelimit-limit-requests", "many"),
            ("x-ratelimit-reset-requests", "tomorrow"),
            ("x-tokenlimit-limit", "80000"),
            ("anthropic-ratelimit-requests-limit", "50"),
        ]);
        assert_eq!(openai_limits(&openai), LimitReport::default());
    }

    #[test]
    fn go_durations_are_read_in_every_unit() {
        for (text, ms) in [
            ("6m0s", Some(360_000)),
            ("157ms", Some(157)),
            ("2m59.56s", Some(179_560)),
            ("1h2m3s", Some(3_723_000)),
            ("7.66s", Some(7_660)),
            ("1500µs", Some(1)),
            ("0s", Some(0)),
            ("-1s", None),
            ("5 s", None),
            ("s", None),
            ("1.2.3s", None),
            ("1d", None),
            ("", None),
            ("99999999999999999999999h", None),
        ] {
            assert_eq!(go_duration(text).map(|wait| wait.as_millis()), ms, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_header_panics(value in prop::collection::vec(any::<u8>(), 0..30), go in "[0-9.hmsuµn]{0,20}") {
            let mut headers = HeaderMap::new();
            for value in [HeaderValue::from_bytes(&value), HeaderValue::from_bytes(go.as_bytes())] {
                let Ok(value) = value else { continue };
                for part in ["limit", "remaining", "reset"] {
                    let name = format!("anthropic-ratelimit-tokens-{part}");
                    headers.insert::<reqwest::header::HeaderName>(name.parse().unwrap(), value.clone());
                    let name = format!("x-ratelimit-{part}-tokens");
                    headers.insert::<reqwest::header::HeaderName>(name.parse().unwrap(), value.clone());
                }
                anthropic_limits(&headers, SystemTime::now());
                openai_limits(&headers);
            }
        }
    }
}
