//! How far a session of a run is, why it stops, and what it comes to.

use std::time::{Duration, Instant};

use super::plan::TrialPlan;
use crate::domain::{Outcome, RunStatus, StopReason};

/// How a session of a run ended.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Where the run stands now.
    pub status: RunStatus,
    /// Why it stopped early, if it did; each reason once.
    pub stops: Vec<StopReason>,
    /// Trials that ended in this session.
    pub ended: u64,
    /// Trials that failed, those of earlier sessions included.
    pub failed: u64,
    /// Trials still to do.
    pub pending: u64,
    /// How long the session took.
    pub wall: Duration,
}

/// How far a session is.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    ended: u64,
    failed: u64,
    stops: Vec<StopReason>,
}

impl Progress {
    /// Nothing has ended yet, but for `failed` trials of earlier sessions.
    pub(super) fn new(failed: u64) -> Self {
        Self { started: Instant::now(), ended: 0, failed, stops: vec![] }
    }

    /// Notes that a trial ended.
    pub(super) fn note_end(&mut self, outcome: Outcome) {
        self.ended += 1;
        self.failed += u64::from(outcome == Outcome::Failed);
    }

    /// Notes why something stopped; whether that is news.
    pub(super) fn note_stop(&mut self, reason: &StopReason) -> bool {
        let same = |known: &StopReason| match (known, reason) {
            (StopReason::TargetRefused { target: a, .. }, StopReason::TargetRefused { target: b, .. }) => {
                a == b
            }
            (known, reason) => known == reason,
        };
        let is_news = !self.stops.iter().any(same);
        if is_news {
            self.stops.push(reason.clone());
        }
        is_news
    }

    /// Whether nothing new is to start in the whole run.
    pub(super) fn is_closed(&self) -> bool {
        self.stops.iter().any(|stop| matches!(stop, StopReason::Interrupted | StopReason::Decided { .. }))
    }

    /// Whether nothing is to start any more that may be billed.
    pub(super) fn is_spent(&self) -> bool {
        let is_meant =
            |stop: &StopReason| matches!(stop, StopReason::Budget { .. } | StopReason::Unbounded { .. });
        self.stops.iter().any(is_meant)
    }

    /// Whether every comparison is decided.
    pub(super) fn is_decided(&self) -> bool {
        self.stops.iter().any(|stop| matches!(stop, StopReason::Decided { .. }))
    }

    /// What the session came to; `plan` knows what is still to do.
    pub(super) fn summary(self, plan: &TrialPlan) -> RunSummary {
        let pending = plan.pending();
        RunSummary {
            status: self.status(pending),
            stops: self.stops,
            ended: self.ended,
            failed: self.failed,
            pending,
            wall: self.started.elapsed(),
        }
    }

    fn status(&self, pending: u64) -> RunStatus {
        let stopped = |is_meant: fn(&StopReason) -> bool| self.stops.iter().any(is_meant);
        let refused = |stop: &StopReason| {
            matches!(
                stop,
                StopReason::QueueRefused { .. }
                    | StopReason::TargetRefused { .. }
                    | StopReason::Breaker { .. }
            )
        };
        if stopped(|stop| matches!(stop, StopReason::Interrupted)) && pending > 0 {
            RunStatus::Interrupted
        } else if stopped(refused) {
            RunStatus::Refused
        } else if stopped(|stop| matches!(stop, StopReason::Budget { .. } | StopReason::Unbounded { .. })) {
            RunStatus::Budget
        } else if (self.is_decided() || pending == 0) && self.failed == 0 {
            RunStatus::Complete
        } else {
            RunStatus::Incomplete
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CasePos, Cost, ErrorClass, Failure, FailureKind, Repeat, TargetPos};

    fn refused() -> StopReason {
        let failure = Failure::new(ErrorClass::StopTarget, FailureKind::UnknownModel, "no such model");
        StopReason::TargetRefused { target: "a".into(), failure }
    }

    fn budget() -> StopReason {
        StopReason::Budget { spent: Cost::ZERO, limit: Cost::ZERO }
    }

    fn decided() -> StopReason {
        StopReason::Decided { summary: "better".to_owned() }
    }

    #[test]
    fn what_stopped_it_and_what_is_left_say_where_it_stands() {
        let interrupted = StopReason::Interrupted;
        let table = [
            (vec![], 0, 0, RunStatus::Complete),
            (vec![], 1, 0, RunStatus::Incomplete),
            (vec![], 0, 1, RunStatus::Incomplete),
            (vec![interrupted.clone()], 1, 0, RunStatus::Interrupted),
            (vec![interrupted.clone()], 0, 0, RunStatus::Complete),
            (vec![refused(), interrupted.clone()], 1, 0, RunStatus::Interrupted),
            (vec![refused(), budget()], 1, 0, RunStatus::Refused),
            (vec![budget()], 1, 0, RunStatus::Budget),
            (vec![StopReason::Unbounded { target: "a".into() }], 1, 0, RunStatus::Budget),
            (vec![decided()], 1, 0, RunStatus::Complete),
            (vec![decided()], 1, 1, RunStatus::Incomplete),
        ];
        for (stops, pending, failed, status) in table {
            let mut plan = TrialPlan::new(1, vec![1]);
            if pending == 0 {
                plan.mark_done(TargetPos(0), CasePos(0), Repeat(1));
            }
            let mut progress = Progress::new(failed);
            stops.iter().for_each(|stop| assert!(progress.note_stop(stop)));
            let summary = progress.summary(&plan);
            assert_eq!((summary.status, summary.pending), (status, pending), "{stops:?}, {failed} failed");
        }
    }

    #[test]
    fn a_stop_is_news_once_whatever_its_words() {
        let mut progress = Progress::new(0);
        assert!(progress.note_stop(&refused()));
        let failure = Failure::new(ErrorClass::StopTarget, FailureKind::UnknownModel, "other words");
        assert!(!progress.note_stop(&StopReason::TargetRefused { target: "a".into(), failure }));
        assert!(!progress.is_spent(), "its neighbours go on");
        assert!(progress.note_stop(&budget()));
        assert!(!progress.note_stop(&budget()));
        assert!(progress.is_spent() && !progress.is_closed(), "what costs nothing goes on");
    }

    #[test]
    fn failures_of_earlier_sessions_count() {
        let mut progress = Progress::new(2);
        progress.note_end(Outcome::Failed);
        progress.note_end(Outcome::Answered);
        let summary = progress.summary(&TrialPlan::new(1, vec![0]));
        assert_eq!((summary.ended, summary.failed), (2, 3));
    }
}
