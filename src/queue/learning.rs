//! What the server's headers teach about an account's limits. Pure.
//!
//! Only the *limit* of a reading is used. `remaining` is the level of a bucket that may hold far
//! less than a minute's worth, so it says nothing about being near the limit; `full_in` is the time
//! until that bucket is full, far longer than the wait for one request.

use crate::domain::{LimitDimension, LimitReport};

use super::Limits;

/// Limits a minute, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearntLimits {
    /// Requests.
    pub requests: Option<u64>,
    /// Input tokens.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// Input and output together.
    pub tokens: Option<u64>,
}

impl LearntLimits {
    /// Takes in one response's headers; whether that changed anything.
    ///
    /// A limit of 0 is no limit that a request could have passed, and is ignored. A combined token
    /// limit beside separate ones only repeats the tightest of them, and is ignored too.
    pub(super) fn learn(&mut self, report: &LimitReport) -> bool {
        let before = *self;
        let separate = report.readings.iter().any(|reading| {
            matches!(reading.dimension, LimitDimension::InputTokens | LimitDimension::OutputTokens)
        });
        for reading in &report.readings {
            let Some(limit) = reading.limit.filter(|limit| *limit > 0) else { continue };
            match reading.dimension {
                LimitDimension::Requests => self.requests = Some(limit),
                LimitDimension::InputTokens => self.input_tokens = Some(limit),
                LimitDimension::OutputTokens => self.output_tokens = Some(limit),
                LimitDimension::Tokens if separate => {}
                LimitDimension::Tokens => self.tokens = Some(limit),
            }
        }
        *self != before
    }

    /// The limits to keep to: the configured ones are ceilings, which the learnt ones can lower; one
    /// that is not configured is what was learnt.
    pub(super) fn under(&self, configured: &Limits) -> Self {
        let lower = |ours: Option<u64>, theirs: Option<u64>| [ours, theirs].into_iter().flatten().min();
        Self {
            requests: lower(configured.requests_per_minute, self.requests),
            input_tokens: lower(configured.input_tokens_per_minute, self.input_tokens),
            output_tokens: lower(configured.output_tokens_per_minute, self.output_tokens),
            tokens: lower(configured.tokens_per_minute, self.tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::domain::LimitReading;

    use super::*;

    fn report(limits: &[(LimitDimension, u64)]) -> LimitReport {
        let reading = |&(dimension, limit)| LimitReading {
            dimension,
            limit: Some(limit),
            remaining: Some(0),
            full_in: Some(Duration::from_secs(3_600)),
        };
        LimitReport { readings: limits.iter().map(reading).collect() }
    }

    #[test]
    fn each_header_sets_its_own_limit_and_the_combined_one_none() {
        let mut learnt = LearntLimits::default();
        assert!(learnt.learn(&report(&[
            (LimitDimension::Tokens, 480_000),
            (LimitDimension::Requests, 4_000),
            (LimitDimension::InputTokens, 400_000),
            (LimitDimension::OutputTokens, 80_000),
        ])));
        let expected = LearntLimits {
            requests: Some(4_000),
            input_tokens: Some(400_000),
            output_tokens: Some(80_000),
            tokens: None,
        };
        assert_eq!(learnt, expected);
        assert_eq!(learnt.under(&Limits::default()), expected);
    }

    #[test]
    fn a_combined_limit_alone_is_a_limit() {
        let mut learnt = LearntLimits::default();
        learnt.learn(&report(&[(LimitDimension::Tokens, 30_000)]));
        assert_eq!(learnt, LearntLimits { tokens: Some(30_000), ..LearntLimits::default() });
    }

    #[test]
    fn a_configured_limit_is_a_ceiling_that_headers_only_lower() {
        let configured = Limits {
            requests_per_minute: Some(100),
            input_tokens_per_minute: Some(5_000),
            ..Limits::default()
        };
        let mut learnt = LearntLimits::default();
        assert_eq!(learnt.under(&configured).requests, Some(100));
        learnt.learn(&report(&[(LimitDimension::Requests, 6_000), (LimitDimension::InputTokens, 1_000)]));
        assert_eq!(learnt.under(&configured).requests, Some(100));
        assert_eq!(learnt.under(&configured).input_tokens, Some(1_000));
        learnt.learn(&report(&[(LimitDimension::Requests, 60)]));
        assert_eq!(learnt.under(&configured).requests, Some(60));
    }

    #[test]
    fn nothing_and_zero_teach_nothing() {
        let mut learnt = LearntLimits::default();
        assert!(!learnt.learn(&LimitReport::default()));
        assert!(!learnt.learn(&report(&[(LimitDimension::Requests, 0)])));
        assert!(learnt.learn(&report(&[(LimitDimension::Requests, 60)])));
        assert!(!learnt.learn(&report(&[(LimitDimension::Requests, 60)])));
    }
}
