//! Which trials are still to do, produced one by one: a million planned trials are a bit each.

use std::collections::HashMap;

use crate::domain::{CasePos, Repeat, TargetPos, Walk};

/// One trial to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedTrial {
    /// The target's position.
    pub(super) target: TargetPos,
    /// The case's position.
    pub(super) case: CasePos,
    /// The repeat, from 1.
    pub(super) repeat: Repeat,
    /// The number that its next attempt bears.
    pub(super) first_attempt: u32,
    /// How far it is with its retries in this session.
    pub(super) walk: Walk,
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
        let is_pending = |target, case, repeat| !self.is_done(target, case, Repeat(repeat));
        let of_case = |target, case: CasePos| {
            (1..=self.repeats_of(case)).filter(|&repeat| is_pending(target, case, repeat)).count() as u64
        };
        let of_target =
            |&target| (0..self.cases()).map(|case| of_case(target, CasePos::at(case))).sum::<u64>();
        targets.iter().map(of_target).sum()
    }

    /// How many cases there are.
    pub(super) fn cases(&self) -> usize {
        self.repeats.len()
    }

    /// How often a case is asked.
    pub(super) fn repeats_of(&self, case: CasePos) -> u32 {
        self.repeats[case.index()]
    }

    /// The most repeats of any case.
    pub(super) fn deepest(&self) -> u32 {
        self.deepest
    }

    /// The trial as it is to be asked next.
    pub(super) fn trial(&self, target: TargetPos, case: CasePos, repeat: Repeat) -> PlannedTrial {
        let made = self.attempts.get(&(target, case, repeat)).copied().unwrap_or(0);
        PlannedTrial { target, case, repeat, first_attempt: made + 1, walk: Walk::default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_or_left_for_later_is_counted_by_target() {
        let mut plan = TrialPlan::new(2, vec![2, 1]);
        plan.mark_done(TargetPos(0), CasePos(0), Repeat(1));
        plan.leave_for_later(TargetPos(1), CasePos(1), Repeat(1));
        assert_eq!((plan.total(), plan.pending(), plan.left_for_later()), (6, 5, 1));
        assert_eq!(plan.pending_of(&[TargetPos(0)]), 2);
        assert_eq!(plan.pending_of(&[TargetPos(1)]), 2);
        assert_eq!(plan.pending_of(&[TargetPos(0), TargetPos(1)]), 4);
    }

    #[test]
    fn a_trials_next_attempt_counts_on() {
        let mut plan = TrialPlan::new(1, vec![1]);
        assert_eq!(plan.trial(TargetPos(0), CasePos(0), Repeat(1)).first_attempt, 1);
        plan.note_attempts(TargetPos(0), CasePos(0), Repeat(1), 3);
        assert_eq!(plan.trial(TargetPos(0), CasePos(0), Repeat(1)).first_attempt, 4);
    }
}
