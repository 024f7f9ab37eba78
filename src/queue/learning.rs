//! What the server's headers teach about an account's limits. Pure.
//!
//! Only the *limit* of a reading is used. `remaining` is the level of a bucket that may hold far
//! less than a minute's worth, so it says nothing about being near the limit; `full_in` is the time
//! until that bucket is full, far longer than the wait for one request.

use crate::domain::{LimitDimension, LimitReport, PerDimension};

use super::Limits;

/// Limits a minute, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LearntLimits {
    /// Those of each dimension.
    pub per_minute: PerDimension<Option<u64>>,
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
                LimitDimension::Requests => self.per_minute.requests = Some(limit),
                LimitDimension::InputTokens => self.per_minute.input = Some(limit),
                LimitDimension::OutputTokens => self.per_minute.output = Some(limit),
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
            per_minute: configured
                .per_minute()
                .zip(self.per_minute)
                .map(|(ours, theirs)| lower(ours, theirs)),
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
            per_minute: PerDimension { requests: Some(4_000), input: Some(400_000), output: Some(80_000) },
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
        assert_eq!(learnt.under(&configured).per_minute.requests, Some(100));
        learnt.learn(&report(&[(LimitDimension::Requests, 6_000), (LimitDimension::InputTokens, 1_000)]));
        assert_eq!(learnt.under(&configured).per_minute.requests, Some(100));
        assert_eq!(learnt.under(&configured).per_minute.input, Some(1_000));
        learnt.learn(&report(&[(LimitDimension::Requests, 60)]));
        assert_eq!(learnt.under(&configured).per_minute.requests, Some(60));
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
