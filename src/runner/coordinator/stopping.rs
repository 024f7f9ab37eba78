//! Why nothing more is started: by the user, an account, a target, or since all is decided.

use super::Coordinator;
use crate::{
    domain::{RunEvent, StopReason, TargetPos},
    runner::{account::asker, early_stop::EarlyStop, shutdown::Shutdown},
};

impl Coordinator<'_> {
    /// Starts nothing more, and tells every lane.
    pub(super) fn stop(&mut self, how: Shutdown) {
        if how != Shutdown::No {
            self.note_stop(StopReason::Interrupted);
            self.work.lanes.iter_mut().for_each(|lane| lane.stop(how));
        }
    }

    /// Starts nothing more once every comparison is decided.
    pub(super) fn note_decision(&mut self) {
        if self.work.progress.is_decided() {
            return;
        }
        let Some(decisions) = self.work.early_stop.as_ref().and_then(EarlyStop::decided) else { return };
        let of_target = |target: TargetPos| &self.work.experiment.targets[target.index()].name;
        let told: Vec<String> = decisions
            .iter()
            .map(|decision| format!("`{}`: {decision}", of_target(decision.target)))
            .collect();
        let in_flight: usize = self.work.accounts.iter().map(|account| account.in_flight).sum();
        let saved = self.work.plan.pending().saturating_sub(in_flight as u64);
        let share = 100.0 * saved as f64 / self.work.plan.total().max(1) as f64;
        let summary = format!("{}; {saved} trials ({share:.0} %) were saved", told.join("; "));
        self.note_stop(StopReason::Decided { summary });
    }

    /// Whether anything more may be asked of an account.
    pub(super) fn may_ask_any(&mut self, at: usize) -> bool {
        let stopped = self.work.accounts[at].stopped();
        let may = stopped.is_none() && !self.work.progress.is_spent();
        if let Some(reason) = stopped {
            self.note_stop(reason);
        }
        may
    }

    /// Whether a target may be asked.
    pub(super) fn may_ask(&mut self, at: usize, target: TargetPos) -> bool {
        let is_refused = self.work.accounts[at].queue.asker_stopped(asker(target)).is_some();
        if is_refused {
            self.note_halt(at, target);
        }
        !is_refused && self.may_ask_any(at)
    }

    /// Notes that an account's queue, or one of its targets, has stopped.
    pub(super) fn note_halt(&mut self, at: usize, target: TargetPos) {
        let queue = &self.work.accounts[at].queue;
        let (stopped, refused) = (queue.stopped(), queue.asker_stopped(asker(target)));
        if let Some(reason) = stopped {
            self.note_stop(reason);
        }
        if let Some(failure) = refused {
            let target = self.work.experiment.targets[target.index()].name.clone();
            self.note_stop(StopReason::TargetRefused { target, failure });
        }
    }

    /// Notes why something stopped, once.
    pub(super) fn note_stop(&mut self, reason: StopReason) {
        if self.work.progress.note_stop(&reason) {
            self.tell(RunEvent::Stopped(reason));
        }
    }
}
