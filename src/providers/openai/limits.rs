//! The headers that tell of an account's limits.

use std::time::Duration;

use reqwest::header::HeaderMap;

use crate::{
    domain::{LimitDimension, LimitReport},
    providers::wire::{
        limit_headers::{reading, text},
        retry_after::decimal,
    },
};

/// The limits in `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, as compatible
/// servers send them too; a reset is a Go duration (`6m0s`), or bare seconds with Azure.
pub(in crate::providers) fn limits(headers: &HeaderMap) -> LimitReport {
    let readings = [("requests", LimitDimension::Requests), ("tokens", LimitDimension::Tokens)]
        .into_iter()
        .filter_map(|(what, dimension)| {
            let text = |part: &str| text(headers, &format!("x-ratelimit-{part}-{what}"));
            reading(dimension, text("limit"), text("remaining"), text("reset").and_then(reset_duration))
        })
        .collect();
    LimitReport { readings }
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
    use crate::{
        domain::LimitReading,
        providers::wire::limit_headers::tests::{headers, reads},
    };

    #[test]
    fn resets_are_go_durations() {
        let headers = headers(&[
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "120ms"),
            ("x-ratelimit-limit-tokens", "90000"),
            ("x-ratelimit-remaining-tokens", "100"),
            ("x-ratelimit-reset-tokens", "1m3.25s"),
        ]);
        assert_eq!(
            limits(&headers).readings,
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
            limits(&headers).readings,
            [LimitReading {
                dimension: LimitDimension::Tokens,
                limit: Some(70_000),
                remaining: None,
                full_in: Some(Duration::from_secs(38)),
            }]
        );
        assert_eq!(limits(&HeaderMap::new()), LimitReport::default());
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

    #[test]
    fn headers_that_nobody_knows_change_nothing() {
        let told = headers(&[
            ("x-ratelimit-limit-widgets", "5"),
            ("x-ratelimit-limit-requests", "many"),
            ("x-ratelimit-reset-requests", "tomorrow"),
            ("x-tokenlimit-limit", "80000"),
            ("anthropic-ratelimit-requests-limit", "50"),
        ]);
        assert_eq!(limits(&told), LimitReport::default());
    }

    proptest! {
        #[test]
        fn no_header_panics(value in prop::collection::vec(any::<u8>(), 0..30), go in "[0-9.hmsuµn]{0,20}") {
            let mut headers = HeaderMap::new();
            for value in [HeaderValue::from_bytes(&value), HeaderValue::from_bytes(go.as_bytes())] {
                let Ok(value) = value else { continue };
                for part in ["limit", "remaining", "reset"] {
                    let name = format!("x-ratelimit-{part}-tokens");
                    headers.insert::<reqwest::header::HeaderName>(name.parse().unwrap(), value.clone());
                }
                limits(&headers);
            }
        }
    }
}
