//! Which trials are still to do, produced one by one: a million planned trials are a bit each.

use std::{collections::HashMap, sync::Arc};

use crate::domain::{CasePos, Repeat, TargetPos};

/// One trial to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedTrial {
    /// The target's position.
    pub target: TargetPos,
    /// The case's position.
    pub case: CasePos,
    /// The repeat, from 1.
    pub repeat: Repeat,
    /// The number that its next attempt bears.
    pub first_attempt: u32,
}

/// All trials of a run, and which of them are done.
#[derive(Debug)]
pub struct TrialPlan {
    /// Repeats of each case.
    repeats: Vec<u32>,
    /// The most repeats of any case.
    deepest: u32,
    /// Where each case's bits begin within a target's.
    offsets: Vec<u64>,
    /// Trials of one target.
    per_target: u64,
    targets: u32,
    done: Vec<u64>,
    /// Trials that this session leaves to a later one; they have a bit of `done`, too.
    later: u64,
    /// The attempts already made for trials that are to be asked again.
    attempts: HashMap<(TargetPos, CasePos, Repeat), u32>,
}

impl TrialPlan {
    /// The plan in which every case is asked `repeats[case]` times of each of `targets` targets, and
    /// nothing is done yet.
    pub fn new(targets: u32, repeats: Vec<u32>) -> Self {
        let mut per_target = 0;
        let offsets = repeats
            .iter()
            .map(|&count| {
                let offset = per_target;
                per_target += u64::from(count);
                offset
            })
            .collect();
        let deepest = repeats.iter().copied().max().unwrap_or(0);
        let words = (per_target * u64::from(targets)).div_ceil(64);
        let words = usize::try_from(words).expect("a plan of more bits than memory has addresses");
        Self {
            repeats,
            deepest,
            offsets,
            per_target,
            targets,
            done: vec![0; words],
            later: 0,
            attempts: HashMap::new(),
        }
    }

    /// Marks a trial as done: it is not asked (again).
    pub fn mark_done(&mut self, target: TargetPos, case: CasePos, repeat: Repeat) {
        let (word, bit) = self.place(target, case, repeat);
        self.done[word] |= 1 << bit;
    }

    /// Leaves a trial that is not done to a later session: it is not asked, and stays pending.
    pub fn leave_for_later(&mut self, target: TargetPos, case: CasePos, repeat: Repeat) {
        if !self.is_done(target, case, repeat) {
            self.mark_done(target, case, repeat);
            self.later += 1;
        }
    }

    /// Trials that are left to a later session.
    pub fn left_for_later(&self) -> u64 {
        self.later
    }

    /// Notes that `made` attempts were made for a trial that is to be asked again.
    pub fn note_attempts(&mut self, target: TargetPos, case: CasePos, repeat: Repeat, made: u32) {
        self.attempts.insert((target, case, repeat), made);
    }

    /// All trials, done or not.
    pub fn total(&self) -> u64 {
        self.per_target * u64::from(self.targets)
    }

    /// Trials that are not done.
    pub fn pending(&self) -> u64 {
        self.total() + self.later - self.done.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
    }

    /// Trials of `targets` that are not done.
    pub fn pending_of(&self, targets: &[TargetPos]) -> u64 {
        let mut cursor = Cursor::new(targets.to_vec());
        std::iter::from_fn(|| cursor.next(self)).fold(0, |count, _| count + 1)
    }

    /// Whether a trial is not asked (again).
    pub fn is_done(&self, target: TargetPos, case: CasePos, repeat: Repeat) -> bool {
        let (word, bit) = self.place(target, case, repeat);
        self.done[word] & (1 << bit) != 0
    }

    fn place(&self, target: TargetPos, case: CasePos, repeat: Repeat) -> (usize, u64) {
        let within = self.offsets[case.index()] + u64::from(repeat.0 - 1);
        let position = u64::from(target.0) * self.per_target + within;
        (usize::try_from(position / 64).expect("the plan fits into memory"), position % 64)
    }
}

/// A walk over the trials of one queue's targets: first every case once, then every case a second
/// time, so that an interrupted run is a smaller sound run.
#[derive(Debug)]
pub struct Cursor {
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
    pub fn new(targets: Vec<TargetPos>) -> Self {
        Self { targets, repeat: Repeat::FIRST, case: CasePos(0), at: 0, order: None, place: 0 }
    }

    /// A walk that asks the cases in `order`, each with all its repeats before the next.
    pub fn in_order(targets: Vec<TargetPos>, order: Arc<[CasePos]>) -> Self {
        Self { order: Some(order), ..Self::new(targets) }
    }

    /// The next trial of `plan` that is not done.
    pub fn next(&mut self, plan: &TrialPlan) -> Option<PlannedTrial> {
        if let Some(order) = self.order.clone() {
            return self.next_of(&order, plan);
        }
        while self.repeat.0 <= plan.deepest && !self.targets.is_empty() {
            let (repeat, case, target) = (self.repeat, self.case, self.targets[self.at]);
            let planned = plan.repeats[case.index()] >= repeat.0;
            self.step(plan);
            if planned && !plan.is_done(target, case, repeat) {
                let made = plan.attempts.get(&(target, case, repeat)).copied().unwrap_or(0);
                return Some(PlannedTrial { target, case, repeat, first_attempt: made + 1 });
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
            if self.repeat.0 > plan.repeats[case.index()] {
                (self.repeat, self.place) = (Repeat::FIRST, self.place + 1);
            }
            if !plan.is_done(target, case, repeat) {
                let made = plan.attempts.get(&(target, case, repeat)).copied().unwrap_or(0);
                return Some(PlannedTrial { target, case, repeat, first_attempt: made + 1 });
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
        if self.case.index() == plan.repeats.len() {
            self.case = CasePos(0);
            self.repeat.0 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
