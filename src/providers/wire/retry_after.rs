//! How long a server asks to wait.
//!
//! Only the text is read here. Whether a long wait is slept, and what the own back-off adds, is the
//! queue's to decide. Read it from errors alone: servers send the header with a 200 too, where it is
//! no reason to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// No wait reaches beyond the year 9999, the last that a header can name: a longer number is
/// nonsense and ignored.
const LONGEST: Duration = Duration::from_secs(253_402_300_800);

/// The wait that `headers` ask for: `retry-after-ms` first, then `retry-after` in seconds (fractions
/// are accepted) or as a date.
///
/// A date is measured against the response's own `date`, else against `now`: the two clocks need not
/// agree. `None` when there is no wait: header absent, zero, past, negative or not a number.
///
/// Source: RFC 9110, section 10.2.3. The milliseconds are an undocumented header that OpenAI, Azure
/// and the official client libraries use.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let milliseconds = || positive(decimal(text("retry-after-ms")?)? / 1_000.0);
    let seconds_or_date = || {
        let value = text(RETRY_AFTER.as_str())?;
        match decimal(value) {
            Some(seconds) => positive(seconds),
            None => {
                let until = httpdate::parse_http_date(value.trim()).ok()?;
                until.duration_since(server_time(headers, now)).ok().filter(|wait| !wait.is_zero())
            }
        }
    };
    milliseconds().or_else(seconds_or_date)
}

/// The server's clock when it answered; `now` when it does not tell.
pub(in crate::providers) fn server_time(headers: &HeaderMap, now: SystemTime) -> SystemTime {
    headers
        .get(DATE)
        .and_then(|date| httpdate::parse_http_date(date.to_str().ok()?.trim()).ok())
        .unwrap_or(now)
}

/// Plain decimal digits, perhaps with a fraction: no sign, no exponent, no `inf`.
pub(in crate::providers) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_plain = text.chars().all(|character| character.is_ascii_digit() || character == '.');
    if is_plain { text.parse().ok() } else { None }
}

fn positive(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|wait| !wait.is_zero() && *wait <= LONGEST)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|&(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn now() -> SystemTime {
        httpdate::parse_http_date("Wed, 21 Oct 2026 07:27:00 GMT").unwrap()
    }

    #[test]
    fn every_form_that_servers_send_is_read() {
        for (value, wait) in [
            ("2", Some(2.0)),
            ("0.5", Some(0.5)),
            (" 17 ", Some(17.0)),
            ("86400", Some(86_400.0)),
            ("Wed, 21 Oct 2026 07:28:00 GMT", Some(60.0)),
            ("Wednesday, 21-Oct-26 07:28:00 GMT", Some(60.0)),
            ("Wed Oct 21 07:28:00 2026", Some(60.0)),
            ("Wed, 21 Oct 2026 07:26:00 GMT", None),
            ("0", None),
            ("-5", None),
            ("NaN", None),
            ("inf", None),
            ("1e3", None),
            ("", None),
            (".", None),
            ("soon", None),
            ("9999999999999999999", None),
            ("99999999999999999999", None),
        ] {
            let wait = wait.map(Duration::from_secs_f64);
            assert_eq!(retry_after(&headers(&[("retry-after", value)]), now()), wait, "{value:?}");
        }
    }

    #[test]
    fn a_far_date_is_returned_as_it_is() {
        let wait = retry_after(&headers(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")]), now()).unwrap();
        assert_eq!(wait.as_secs() / (365 * 86_400), 7_978);
    }

    #[test]
    fn milliseconds_win_when_they_are_a_number() {
        let both = headers(&[("retry-after-ms", "1500"), ("retry-after", "2")]);
        assert_eq!(retry_after(&both, now()), Some(Duration::from_millis(1_500)));
        let broken = headers(&[("retry-after-ms", "soon"), ("retry-after", "2")]);
        assert_eq!(retry_after(&broken, now()), Some(Duration::from_secs(2)));
    }

    #[test]
    fn a_date_is_measured_against_the_servers_clock() {
        let skewed = headers(&[
            ("date", "Wed, 21 Oct 2026 09:00:00 GMT"),
            ("retry-after", "Wed, 21 Oct 2026 09:00:30 GMT"),
        ]);
        assert_eq!(retry_after(&skewed, now()), Some(Duration::from_secs(30)));
    }

    proptest! {
        #[test]
        fn no_header_panics_or_waits_for_ever(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.insert("retry-after", value.clone());
                headers.insert("retry-after-ms", value.clone());
                headers.insert("date", value);
            }
            let wait = retry_after(&headers, now());
            prop_assert!(wait.is_none_or(|wait| wait > Duration::ZERO && wait <= LONGEST));
        }

        #[test]
        fn any_number_of_seconds_is_read_or_ignored(value in "[0-9]{0,25}(\\.[0-9]{0,12})?") {
            let wait = retry_after(&headers(&[("retry-after", &value)]), now());
            prop_assert!(wait.is_none_or(|wait| wait <= LONGEST));
        }
    }
}
