//! When what waits is committed: soon, since it was paid, but not one by one.
//!
//! A commit costs as much as writing ten trials. At a few hundred trials a second each would pay for two,
//! one for its answer and one for its scores; so answers wait a moment for others, and scores for the
//! next answers. Under load nothing waits.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::{Write, dictionary::Dictionary, packed::Packed, packed::is_long, packed::pack};

/// How long an answer waits for others. What `kill -9` repays grows by what arrives in this time.
pub(super) const ANSWERS_WAIT: Duration = Duration::from_millis(10);

/// How long scores wait for answers to be committed with: they can be made again.
const SCORES_WAIT: Duration = Duration::from_secs(1);

/// So many messages wait for no others (each a row, but for scores).
const ENOUGH: usize = 200;

/// Something to be written, with its answer packed once that is done.
pub(super) struct Waiting {
    pub(super) write: Write,
    pub(super) packed: Option<Packed>,
    since: Instant,
}

impl Waiting {
    pub(super) fn new(write: Write, since: Instant) -> Self {
        Self { write, packed: None, since }
    }

    /// Whether its answer is still to be packed, and long.
    pub(super) fn is_heavy(&self) -> bool {
        match &self.write {
            Write::Trial(trial, _) => self.packed.is_none() && is_long(&trial.answer),
            _ => false,
        }
    }

    pub(super) fn pack(&mut self, dictionary: Option<&Dictionary>) {
        if let Write::Trial(trial, _) = &self.write {
            self.packed = Some(pack(&trial.answer, dictionary));
        }
    }

    /// Until when it may wait for others; `None`: not at all.
    fn until(&self) -> Option<Instant> {
        match &self.write {
            Write::Trial(..) | Write::Attempt { .. } | Write::Asked { .. } => Some(self.since + ANSWERS_WAIT),
            Write::Scores { .. } | Write::Retrieval { .. } => Some(self.since + SCORES_WAIT),
            Write::Status { .. } | Write::Queues { .. } | Write::Flush(_) => None,
        }
    }
}

/// How long all that waits may still wait for others; zero: it is due. `room`: so many trials may wait,
/// since whoever sends them sends nothing more until some are committed.
pub(super) fn may_wait(waiting: &VecDeque<Waiting>, room: usize, now: Instant) -> Duration {
    let trials = waiting.iter().filter(|waiting| matches!(waiting.write, Write::Trial(..))).count();
    if waiting.len() >= ENOUGH || trials >= room {
        return Duration::ZERO;
    }
    let first = waiting.iter().map(Waiting::until).min_by_key(|until| until.unwrap_or(now));
    first.flatten().map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{RunRow, RunStatus, Verdict},
        store::fixtures::{answered, graded, key, trial},
    };

    const ROOM: usize = 64;

    fn answer(case: u32) -> Write {
        trial(answered(key(RunRow(1), 0, case, 1), "yes"))
    }

    fn scores(case: u32) -> Write {
        graded(key(RunRow(1), 0, case, 1), Verdict::Pass)
    }

    /// What is left to wait when each of these came so many milliseconds ago.
    fn left(writes: Vec<(Write, u64)>, room: usize) -> Duration {
        let now = Instant::now() + Duration::from_secs(60);
        let waiting =
            writes.into_iter().map(|(write, ago)| Waiting::new(write, now - Duration::from_millis(ago)));
        may_wait(&waiting.collect(), room, now)
    }

    #[test]
    fn an_answer_waits_ten_milliseconds_and_no_more() {
        assert_eq!(left(vec![(answer(0), 0)], ROOM), Duration::from_millis(10));
        assert_eq!(
            left(vec![(answer(0), 7), (answer(1), 0), (scores(2), 9)], ROOM),
            Duration::from_millis(3)
        );
        assert_eq!(left(vec![(answer(0), 11)], ROOM), Duration::ZERO);
    }

    #[test]
    fn scores_alone_wait_for_answers_or_a_second() {
        assert_eq!(left(vec![(scores(0), 400), (scores(1), 0)], ROOM), Duration::from_millis(600));
        assert_eq!(left(vec![(scores(0), 400), (answer(1), 2)], ROOM), Duration::from_millis(8));
    }

    #[test]
    fn many_rows_or_whoever_sends_nothing_more_wait_for_nothing() {
        assert_eq!(left((0..200).map(|case| (scores(case), 0)).collect(), ROOM), Duration::ZERO);
        assert_eq!(left((0..4).map(|case| (answer(case), 0)).collect(), 4), Duration::ZERO);
        assert_eq!(left((0..4).map(|case| (answer(case), 0)).collect(), 5), Duration::from_millis(10));
    }

    #[test]
    fn where_a_run_stands_is_written_at_once() {
        let status = Write::Status { run: RunRow(1), status: RunStatus::Complete, stop_reason: None };
        assert_eq!(left(vec![(scores(0), 0), (status, 0)], ROOM), Duration::ZERO);
    }
}
