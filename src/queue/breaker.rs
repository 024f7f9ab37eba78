//! When failures in a row mean that going on is of no use. Pure.
//!
//! An outage of some seconds is what retries are for, so a burst of failures alone does not open the
//! breaker: they must have lasted, or have cost as many calls. One success closes the matter.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::Purpose;

use super::QueueSettings;

/// One broken case must not stop its neighbours.
const DISTINCT_CALLS: usize = 3;

/// Counts failures since the last success.
#[derive(Debug)]
pub(super) struct Breaker {
    most: u32,
    after: Duration,
    row: Row,
}

/// Failures in a row.
#[derive(Debug, Default)]
struct Row {
    since: Option<Instant>,
    failures: u32,
    calls_lost: u32,
    /// The first few distinct calls among them.
    calls: Vec<Purpose>,
}

impl Breaker {
    pub(super) fn new(settings: &QueueSettings) -> Self {
        Self {
            most: settings.breaker_failures,
            after: Duration::from_secs_f64(settings.breaker_after_s),
            row: Row::default(),
        }
    }

    /// The provider answered.
    pub(super) fn succeeded(&mut self) {
        self.row = Row::default();
    }

    /// An attempt failed; `lost`: its call ended with it. The number of failures in a row when they
    /// are too many.
    pub(super) fn failed(&mut self, call: Purpose, now: Instant, lost: bool) -> Option<u32> {
        let row = &mut self.row;
        let since = *row.since.get_or_insert(now);
        row.failures += 1;
        row.calls_lost += u32::from(lost);
        if row.calls.len() < DISTINCT_CALLS && !row.calls.contains(&call) {
            row.calls.push(call);
        }
        let open = self.most > 0
            && row.failures >= self.most
            && row.calls.len() == DISTINCT_CALLS
            && (row.calls_lost >= self.most || now - since >= self.after);
        open.then_some(row.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CasePos, Repeat, RunRow, TargetPos, TrialKey};

    fn breaker() -> Breaker {
        Breaker::new(&QueueSettings {
            breaker_failures: 10,
            breaker_after_s: 30.0,
            ..QueueSettings::default()
        })
    }

    fn trial(case: u32) -> Purpose {
        Purpose::Trial(TrialKey {
            run: RunRow(1),
            target: TargetPos(0),
            case: CasePos(case),
            repeat: Repeat(1),
        })
    }

    #[test]
    fn a_burst_of_failures_is_not_enough() {
        let now = Instant::now();
        let mut breaker = breaker();
        assert!((0..1_000).all(|case| breaker.failed(trial(case), now, false).is_none()));
        assert_eq!(breaker.failed(trial(0), now + Duration::from_secs(30), false), Some(1_001));
    }

    #[test]
    fn lost_trials_open_it_at_once() {
        let now = Instant::now();
        let mut breaker = breaker();
        assert!((0..9).all(|case| breaker.failed(trial(case), now, true).is_none()));
        assert_eq!(breaker.failed(trial(9), now, true), Some(10));
    }

    #[test]
    fn one_success_begins_anew() {
        let now = Instant::now();
        let mut breaker = breaker();
        (0..9).for_each(|case| assert_eq!(breaker.failed(trial(case), now, true), None));
        breaker.succeeded();
        let later = now + Duration::from_secs(100);
        assert!((0..9).all(|case| breaker.failed(trial(case), later, true).is_none()));
    }

    #[test]
    fn two_broken_cases_do_not_stop_the_others() {
        let now = Instant::now();
        let mut breaker = breaker();
        for second in 0..100 {
            let now = now + Duration::from_secs(second);
            assert_eq!(breaker.failed(trial(0), now, true), None);
            assert_eq!(breaker.failed(trial(1), now, true), None);
        }
    }

    #[test]
    fn zero_means_never() {
        let now = Instant::now();
        let mut breaker = Breaker::new(&QueueSettings {
            breaker_failures: 0,
            breaker_after_s: 0.0,
            ..QueueSettings::default()
        });
        assert!((0..1_000).all(|case| breaker.failed(trial(case), now, true).is_none()));
    }
}
