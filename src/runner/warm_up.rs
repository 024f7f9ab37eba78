//! Writing a shared prefix to the provider's cache once.
//!
//! A prefix can be read from the cache only once the first answer over it has begun: a fan-out of
//! fifty requests over a cold prefix pays fifty writes. So one trial leads and the others with the
//! same prefix are held until its answer begins (streamed) or has ended. Nothing here waits or sends:
//! the coordinator asks before it starts a trial and tells what became of leaders.

use std::collections::{HashMap, VecDeque};

use tokio::time::{Duration, Instant};

use super::plan::PlannedTrial;
use crate::domain::{Fingerprint, TargetPos};

/// At most this many trials of one account are held. When as many are, no further ones are looked at
/// until a leader's answer begins: memory is bounded, and a prefix that only comes after thousands of
/// held trials waits for seconds at most.
const MAX_HELD: usize = 4_096;

/// Prefixes beyond this many are forgotten when none of their trials is held: their next trial leads
/// again, which costs one held-up start.
const MAX_PREFIXES: usize = 8_192;

/// A cacheable prefix: of one target, since another may have other settings in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Prefix {
    /// The target's position.
    pub(super) target: TargetPos,
    /// The cached part itself.
    pub(super) part: Fingerprint,
}

/// What a trial is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Start: the prefix is in the cache.
    Follow,
    /// Start: its answer writes the prefix, and others wait for it.
    Lead,
    /// Wait: it was taken in and comes back from [`WarmUp::released`].
    Held,
}

/// The prefixes of one account, and the trials that wait for them.
#[derive(Debug, Default)]
pub(super) struct WarmUp {
    prefixes: HashMap<Prefix, State>,
    released: VecDeque<PlannedTrial>,
    held: usize,
}

#[derive(Debug)]
enum State {
    /// A trial is on its way since then; these wait for its answer.
    Warming { leader: PlannedTrial, since: Instant, held: Vec<PlannedTrial> },
    /// It is in the cache, last used then.
    Warm { used_at: Instant },
}

impl WarmUp {
    /// Asks for `trial`, whose cached part lives for `lifetime` after its last use.
    pub(super) fn ask(
        &mut self,
        prefix: Prefix,
        trial: PlannedTrial,
        lifetime: Duration,
        now: Instant,
    ) -> Entry {
        self.forget_idle();
        match self.prefixes.get_mut(&prefix) {
            // It led before and was sent back before it started, or it was put in the leader's place.
            Some(State::Warming { leader, since, .. }) if *leader == trial => {
                *since = now;
                Entry::Lead
            }
            Some(State::Warming { held, .. }) => {
                held.push(trial);
                self.held += 1;
                Entry::Held
            }
            // The lifetime counts from the start of the request that used it last.
            Some(State::Warm { used_at }) if now.saturating_duration_since(*used_at) < lifetime => {
                *used_at = now;
                Entry::Follow
            }
            Some(State::Warm { .. }) | None => {
                self.prefixes.insert(prefix, State::Warming { leader: trial, since: now, held: vec![] });
                Entry::Lead
            }
        }
    }

    /// An answer over `prefix` has begun or ended well: those held may go.
    pub(super) fn warmed(&mut self, prefix: Prefix) {
        let Some(state) = self.prefixes.get_mut(&prefix) else { return };
        if let State::Warming { since, held, .. } = state {
            self.held -= held.len();
            self.released.extend(held.drain(..));
            // The provider counts from the start of the request that wrote it.
            *state = State::Warm { used_at: *since };
        }
    }

    /// `trial` ended without an answer: where it led, the first of those held leads in its place.
    pub(super) fn failed(&mut self, prefix: Prefix, trial: PlannedTrial) {
        let Some(State::Warming { leader, held, .. }) = self.prefixes.get_mut(&prefix) else { return };
        if *leader != trial {
            return;
        }
        if held.is_empty() {
            self.prefixes.remove(&prefix);
            return;
        }
        *leader = held.remove(0);
        self.held -= 1;
        self.released.push_back(*leader);
    }

    /// A target has stopped: its trials stay pending.
    pub(super) fn forget_target(&mut self, target: TargetPos) {
        let held = &mut self.held;
        self.prefixes.retain(|prefix, state| {
            let stays = prefix.target != target;
            if let (false, State::Warming { held: waiting, .. }) = (stays, state) {
                *held -= waiting.len();
            }
            stays
        });
        self.released.retain(|trial| trial.target != target);
    }

    /// The next trial that was held and may now start.
    pub(super) fn released(&mut self) -> Option<PlannedTrial> {
        self.released.pop_front()
    }

    /// Whether no more trials are to be looked at before some are released.
    pub(super) fn is_full(&self) -> bool {
        self.held >= MAX_HELD
    }

    fn forget_idle(&mut self) {
        if self.prefixes.len() > MAX_PREFIXES {
            self.prefixes.retain(|_, state| matches!(state, State::Warming { .. }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{CasePos, Repeat, Walk};

    const LIFETIME: Duration = Duration::from_secs(300);

    fn trial(case: u32) -> PlannedTrial {
        let (target, case) = (TargetPos(0), CasePos(case));
        PlannedTrial { target, case, repeat: Repeat::FIRST, first_attempt: 1, walk: Walk::default() }
    }

    fn prefix(name: &str) -> Prefix {
        Prefix { target: TargetPos(0), part: Fingerprint::of(name.as_bytes()) }
    }

    fn all_released(warm_up: &mut WarmUp) -> Vec<u32> {
        std::iter::from_fn(|| warm_up.released()).map(|trial| trial.case.0).collect()
    }

    #[test]
    fn one_leads_and_the_others_follow_once_its_answer_has_begun() {
        let (mut warm_up, now) = (WarmUp::default(), Instant::now());
        let entries: Vec<Entry> =
            (0..4).map(|case| warm_up.ask(prefix("a"), trial(case), LIFETIME, now)).collect();
        assert_eq!(entries, [Entry::Lead, Entry::Held, Entry::Held, Entry::Held]);
        assert_eq!(warm_up.released(), None);
        warm_up.warmed(prefix("a"));
        assert_eq!(all_released(&mut warm_up), [1, 2, 3]);
        assert_eq!(warm_up.held, 0);
        for case in 1..6 {
            assert_eq!(warm_up.ask(prefix("a"), trial(case), LIFETIME, now), Entry::Follow);
        }
    }

    #[test]
    fn other_prefixes_do_not_wait() {
        let (mut warm_up, now) = (WarmUp::default(), Instant::now());
        warm_up.ask(prefix("a"), trial(0), LIFETIME, now);
        warm_up.ask(prefix("a"), trial(1), LIFETIME, now);
        assert_eq!(warm_up.ask(prefix("b"), trial(2), LIFETIME, now), Entry::Lead);
        warm_up.warmed(prefix("b"));
        assert_eq!(all_released(&mut warm_up), [0; 0]);
        assert_eq!(warm_up.ask(prefix("b"), trial(3), LIFETIME, now), Entry::Follow);
    }

    #[test]
    fn when_the_leader_fails_the_next_one_leads() {
        let (mut warm_up, now) = (WarmUp::default(), Instant::now());
        for case in 0..3 {
            warm_up.ask(prefix("a"), trial(case), LIFETIME, now);
        }
        // Not the leader: nothing changes.
        warm_up.failed(prefix("a"), trial(2));
        assert_eq!(warm_up.released(), None);
        warm_up.failed(prefix("a"), trial(0));
        assert_eq!(warm_up.released(), Some(trial(1)));
        assert_eq!(warm_up.ask(prefix("a"), trial(1), LIFETIME, now), Entry::Lead);
        // Asked again since the budget had no room yet: still the leader.
        assert_eq!(warm_up.ask(prefix("a"), trial(1), LIFETIME, now), Entry::Lead);
        warm_up.failed(prefix("a"), trial(1));
        assert_eq!(warm_up.released(), Some(trial(2)));
        warm_up.failed(prefix("a"), trial(2));
        assert_eq!(warm_up.held, 0);
        assert_eq!(warm_up.ask(prefix("a"), trial(3), LIFETIME, now), Entry::Lead);
    }

    #[test]
    fn a_failure_after_the_answer_began_leaves_the_prefix_warm() {
        let (mut warm_up, now) = (WarmUp::default(), Instant::now());
        warm_up.ask(prefix("a"), trial(0), LIFETIME, now);
        warm_up.warmed(prefix("a"));
        warm_up.failed(prefix("a"), trial(0));
        assert_eq!(warm_up.ask(prefix("a"), trial(1), LIFETIME, now), Entry::Follow);
    }

    #[test]
    fn what_was_not_used_for_its_lifetime_is_warmed_again() {
        let (mut warm_up, start) = (WarmUp::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        warm_up.ask(prefix("a"), trial(0), LIFETIME, at(0));
        warm_up.warmed(prefix("a"));
        // Every use renews it.
        assert_eq!(warm_up.ask(prefix("a"), trial(1), LIFETIME, at(290)), Entry::Follow);
        assert_eq!(warm_up.ask(prefix("a"), trial(2), LIFETIME, at(589)), Entry::Follow);
        assert_eq!(warm_up.ask(prefix("a"), trial(3), LIFETIME, at(889)), Entry::Lead);
        assert_eq!(warm_up.ask(prefix("a"), trial(4), LIFETIME, at(889)), Entry::Held);
    }

    #[test]
    fn a_target_that_stopped_holds_nothing() {
        let (mut warm_up, now) = (WarmUp::default(), Instant::now());
        let other = Prefix { target: TargetPos(1), ..prefix("a") };
        for case in 0..3 {
            warm_up.ask(prefix("a"), trial(case), LIFETIME, now);
            warm_up.ask(other, PlannedTrial { target: TargetPos(1), ..trial(case) }, LIFETIME, now);
        }
        warm_up.forget_target(TargetPos(0));
        assert!(warm_up.held > 0);
        warm_up.warmed(other);
        assert_eq!(warm_up.held, 0);
        warm_up.forget_target(TargetPos(1));
        assert_eq!(warm_up.released(), None);
    }

    #[test]
    fn as_many_prefixes_as_cases_are_not_all_kept() {
        let (mut warm_up, now) = (WarmUp::default(), Instant::now());
        for case in 0..20_000 {
            let prefix = prefix(&case.to_string());
            assert_eq!(warm_up.ask(prefix, trial(case), LIFETIME, now), Entry::Lead);
            warm_up.warmed(prefix);
        }
        assert!(warm_up.prefixes.len() <= MAX_PREFIXES + 1);
    }

    proptest! {
        /// Whatever fails, every trial gets its turn, and no two of one cold prefix run at once.
        #[test]
        fn every_trial_comes_to_its_turn(
            prefixes in prop::collection::vec(0_u8..4, 1..60),
            fails in prop::collection::vec(any::<bool>(), 200),
        ) {
            let (mut warm_up, now) = (WarmUp::default(), Instant::now());
            let mut waiting: VecDeque<PlannedTrial> = (0..).take(prefixes.len()).map(trial).collect();
            let mut fails = fails.into_iter();
            let mut flying: VecDeque<(Prefix, PlannedTrial)> = VecDeque::new();
            let mut done = 0;
            loop {
                while let Some(next) = warm_up.released().or_else(|| waiting.pop_front()) {
                    let prefix = prefix(&prefixes[next.case.index()].to_string());
                    match warm_up.ask(prefix, next, LIFETIME, now) {
                        Entry::Held => {}
                        Entry::Lead => {
                            prop_assert!(flying.iter().all(|(other, _)| *other != prefix));
                            flying.push_back((prefix, next));
                        }
                        Entry::Follow => flying.push_back((prefix, next)),
                    }
                }
                let Some((prefix, trial)) = flying.pop_front() else { break };
                done += 1;
                if fails.next().unwrap_or(false) {
                    warm_up.failed(prefix, trial);
                } else {
                    warm_up.warmed(prefix);
                }
            }
            prop_assert_eq!(done, prefixes.len());
            prop_assert_eq!(warm_up.held, 0);
        }
    }
}
