//! Where work comes from: the plan of a run, or the answers that a store holds.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::mpsc;

use super::plan::{PlannedTrial, TrialPlan};
use crate::domain::{CasePos, Repeat, Retrieved, TargetPos, TrialKey};

/// How many stored answers are taken at a time.
const BATCH: usize = 4_096;

/// An answer that is stored and to be graded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredAnswer {
    /// Which trial it answers.
    pub(super) key: TrialKey,
    /// The answer.
    pub(super) answer: String,
    /// What the application retrieved for it, where it told.
    pub(super) retrieved: Option<Vec<Retrieved>>,
}

/// What there is to do.
#[derive(Debug)]
pub(super) enum Source {
    /// The trials of one account's targets that are not done.
    Plan(Cursor),
    /// Answers that are read from the store while others are graded.
    Stored(mpsc::Receiver<StoredAnswer>),
}

impl Source {
    /// The next trial to be asked.
    pub(super) fn next(&mut self, plan: &TrialPlan) -> Option<PlannedTrial> {
        match self {
            Self::Plan(cursor) => cursor.next(plan),
            Self::Stored(_) => None,
        }
    }

    /// The next answers to be graded; none: there are no more.
    pub(super) fn poll_stored(&mut self, context: &mut Context<'_>) -> Poll<Vec<StoredAnswer>> {
        match self {
            Self::Plan(_) => Poll::Ready(vec![]),
            Self::Stored(answers) => {
                let mut taken = vec![];
                answers.poll_recv_many(context, &mut taken, BATCH).map(|_| taken)
            }
        }
    }
}

/// A walk over the trials of one queue's targets: first every case once, then every case a second
/// time, so that an interrupted run is a smaller sound run.
#[derive(Debug)]
pub(super) struct Cursor {
    targets: Vec<TargetPos>,
    repeat: Repeat,
    case: CasePos,
    /// Position within `targets`.
    at: usize,
    /// Another order of the cases, each with all its repeats before the next.
    order: Option<Arc<[CasePos]>>,
    /// Position within `order`.
    place: usize,
}

impl Cursor {
    /// A walk over the trials of `targets`, from the start.
    pub(super) fn new(targets: Vec<TargetPos>) -> Self {
        Self { targets, repeat: Repeat::FIRST, case: CasePos(0), at: 0, order: None, place: 0 }
    }

    /// A walk that asks the cases in `order`, each with all its repeats before the next.
    pub(super) fn in_order(targets: Vec<TargetPos>, order: Arc<[CasePos]>) -> Self {
        Self { order: Some(order), ..Self::new(targets) }
    }

    /// The next trial of `plan` that is not done.
    pub(super) fn next(&mut self, plan: &TrialPlan) -> Option<PlannedTrial> {
        if let Some(order) = self.order.clone() {
            return self.next_of(&order, plan);
        }
        while self.repeat.0 <= plan.deepest() && !self.targets.is_empty() {
            let (repeat, case, target) = (self.repeat, self.case, self.targets[self.at]);
            let planned = plan.repeats_of(case) >= repeat.0;
            self.step(plan);
            if planned && !plan.is_done(target, case, repeat) {
                return Some(plan.trial(target, case, repeat));
            }
        }
        None
    }

    fn next_of(&mut self, order: &[CasePos], plan: &TrialPlan) -> Option<PlannedTrial> {
        while let Some(&case) = order.get(self.place).filter(|_| !self.targets.is_empty()) {
            let (repeat, target) = (self.repeat, self.targets[self.at]);
            self.at += 1;
            if self.at == self.targets.len() {
                (self.at, self.repeat) = (0, Repeat(self.repeat.0 + 1));
            }
            if self.repeat.0 > plan.repeats_of(case) {
                (self.repeat, self.place) = (Repeat::FIRST, self.place + 1);
            }
            if !plan.is_done(target, case, repeat) {
                return Some(plan.trial(target, case, repeat));
            }
        }
        None
    }

    fn step(&mut self, plan: &TrialPlan) {
        self.at += 1;
        if self.at == self.targets.len() {
            self.at = 0;
            self.case.0 += 1;
        }
        if self.case.index() == plan.cases() {
            self.case = CasePos(0);
            self.repeat.0 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::RunRow;

    use std::task::Waker;

    fn positions(targets: &[u32]) -> Vec<TargetPos> {
        targets.iter().copied().map(TargetPos).collect()
    }

    fn walk(plan: &TrialPlan, targets: &[u32]) -> Vec<(u32, u32, u32)> {
        let mut cursor = Cursor::new(positions(targets));
        std::iter::from_fn(|| cursor.next(plan))
            .map(|trial| (trial.target.0, trial.case.0, trial.repeat.0))
            .collect()
    }

    #[test]
    fn every_case_is_asked_once_before_any_is_asked_twice() {
        let plan = TrialPlan::new(2, vec![2, 1]);
        let expected = [(0, 0, 1), (1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 0, 2), (1, 0, 2)];
        assert_eq!(walk(&plan, &[0, 1]), expected);
        assert_eq!((plan.total(), plan.pending()), (6, 6));
    }

    #[test]
    fn another_order_asks_each_case_with_all_its_repeats() {
        let plan = TrialPlan::new(2, vec![2, 1]);
        let mut cursor = Cursor::in_order(positions(&[0, 1]), Arc::from([CasePos(1), CasePos(0)]));
        let walked: Vec<_> = std::iter::from_fn(|| cursor.next(&plan))
            .map(|trial| (trial.target.0, trial.case.0, trial.repeat.0))
            .collect();
        assert_eq!(walked, [(0, 1, 1), (1, 1, 1), (0, 0, 1), (1, 0, 1), (0, 0, 2), (1, 0, 2)]);
    }

    #[test]
    fn what_is_done_is_not_asked_again() {
        let mut plan = TrialPlan::new(2, vec![2, 1]);
        plan.mark_done(TargetPos(0), CasePos(0), Repeat(1));
        plan.mark_done(TargetPos(1), CasePos(1), Repeat(1));
        plan.note_attempts(TargetPos(0), CasePos(0), Repeat(2), 3);
        assert_eq!(walk(&plan, &[0]), [(0, 1, 1), (0, 0, 2)]);
        assert_eq!(plan.pending(), 4);
        assert_eq!(plan.pending_of(&positions(&[0])), 2);
        let mut cursor = Cursor::new(positions(&[0]));
        cursor.next(&plan);
        assert_eq!(cursor.next(&plan).map(|trial| trial.first_attempt), Some(4));
    }

    #[test]
    fn what_is_left_for_later_is_pending_and_not_asked() {
        let mut plan = TrialPlan::new(1, vec![2, 1]);
        plan.leave_for_later(TargetPos(0), CasePos(1), Repeat(1));
        plan.leave_for_later(TargetPos(0), CasePos(1), Repeat(1));
        plan.mark_done(TargetPos(0), CasePos(0), Repeat(1));
        assert_eq!(walk(&plan, &[0]), [(0, 0, 2)]);
        assert_eq!((plan.pending(), plan.left_for_later()), (2, 1));
    }

    #[test]
    fn an_empty_plan_has_nothing_to_ask() {
        assert_eq!(walk(&TrialPlan::new(1, vec![]), &[0]), []);
        assert_eq!(walk(&TrialPlan::new(1, vec![3]), &[]), []);
    }

    #[test]
    fn stored_answers_come_in_batches_until_there_are_no_more() {
        let (sender, answers) = mpsc::channel(8);
        let mut source = Source::Stored(answers);
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(source.poll_stored(&mut context), Poll::Pending);
        let key = TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(0), repeat: Repeat(1) };
        let answer = StoredAnswer { key, answer: "yes".to_owned(), retrieved: None };
        sender.try_send(answer.clone()).unwrap();
        sender.try_send(answer.clone()).unwrap();
        assert_eq!(source.poll_stored(&mut context), Poll::Ready(vec![answer.clone(), answer]));
        drop(sender);
        assert_eq!(source.poll_stored(&mut context), Poll::Ready(vec![]));
        assert_eq!(source.next(&TrialPlan::new(1, vec![1])), None);
    }
}
