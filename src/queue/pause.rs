//! The pause of a whole queue, and the gentle start after it. Pure.
//!
//! One `retry-after` holds back every new attempt of the account: the others must not each find out
//! for themselves. When the pause is over they come back a few at a time with random gaps, since 64
//! at once would only be refused again.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::time::Instant;

/// How long the attempts after a pause are spread over: as long as the pause, within these bounds.
const SPREAD: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// An extension by less than this is not news.
const NEWS: Duration = Duration::from_secs(1);

/// Until when nothing new starts.
#[derive(Debug)]
pub(super) struct Pause {
    /// The end of the pause that a server asked for.
    until: Option<Instant>,
    /// Before this nothing starts; after a pause it moves on with each start.
    next_start: Option<Instant>,
    /// Starts still to be spread.
    gaps_left: u32,
    mean_gap: Duration,
    rng: Pcg64,
}

impl Pause {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            until: None,
            next_start: None,
            gaps_left: 0,
            mean_gap: Duration::ZERO,
            rng: Pcg64::seed_from_u64(seed),
        }
    }

    /// Pauses for `wait` from `now`, or as long as before if that is longer; the next `crowd` starts
    /// after it are spread out. Whether that is news worth telling.
    pub(super) fn begin(&mut self, now: Instant, wait: Duration, crowd: u32) -> bool {
        let until = now + wait;
        let before = self.until.filter(|before| *before > now);
        if before.is_some_and(|before| before >= until) {
            return false;
        }
        self.until = Some(until);
        self.next_start = Some(until);
        self.gaps_left = crowd;
        self.mean_gap = wait.clamp(SPREAD.0, SPREAD.1) / crowd.max(1);
        before.is_none_or(|before| until - before >= NEWS)
    }

    /// How long the next start has to wait; `None` when it may go.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.next_start?.checked_duration_since(now).filter(|wait| !wait.is_zero())
    }

    /// An attempt has started: after a pause, the next one waits for a random gap.
    pub(super) fn started(&mut self, now: Instant) {
        if self.gaps_left > 0 {
            self.gaps_left -= 1;
            self.next_start = Some(now + self.mean_gap.mul_f64(2.0 * self.rng.random::<f64>()));
        }
    }

    /// The end of the pause, while it lasts.
    pub(super) fn until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn the_longest_of_several_pauses_counts() {
        let now = Instant::now();
        let mut pause = Pause::new(1);
        assert_eq!(pause.wait(now), None);
        assert!(pause.begin(now, secs(5), 64));
        assert!(!pause.begin(now, secs(2), 64));
        assert_eq!(pause.wait(now), Some(secs(5)));
        assert_eq!(pause.until(now), Some(now + secs(5)));
        assert!(!pause.begin(now + secs(1), secs(4) + Duration::from_millis(3), 64));
        assert_eq!(pause.wait(now + secs(1)), Some(secs(4) + Duration::from_millis(3)));
        assert!(pause.begin(now + secs(1), secs(3_600), 64));
        assert_eq!(pause.wait(now + secs(3_601)), None);
        assert_eq!(pause.until(now + secs(3_601)), None);
    }

    #[test]
    fn a_crowd_comes_back_over_about_a_second() {
        let start = Instant::now();
        let mut pause = Pause::new(1);
        pause.begin(start, secs(5), 64);
        let mut now = start + secs(5);
        let mut starts = vec![];
        for _ in 0..100 {
            now += pause.wait(now).unwrap_or_default();
            starts.push((now - start).as_secs_f64());
            pause.started(now);
        }
        assert_eq!(starts[0], 5.0);
        assert!(starts.windows(2).take(64).all(|pair| pair[1] > pair[0]), "no two at once");
        assert!((5.5..6.5).contains(&starts[64]), "{}", starts[64]);
        assert_eq!(starts[64], starts[99], "the spreading ends with the crowd");
    }

    #[test]
    fn a_short_pause_is_followed_by_a_short_spread() {
        let now = Instant::now();
        let mut pause = Pause::new(1);
        pause.begin(now, Duration::from_millis(10), 10);
        pause.started(now + secs(1));
        assert!(pause.wait(now + secs(1)).unwrap() <= Duration::from_millis(20));
    }
}
