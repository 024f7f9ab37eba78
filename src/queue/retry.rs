//! Waiting politely: one call's walk through its retries.
//!
//! Which failures are worth a retry is decided where the wire is read; this module only counts and
//! draws waits. It is the only place that knows the `backoff` crate, and takes no more from it than
//! the curve: the jitter is ours, drawn from the call's seed.

use std::time::Duration;

use backoff::{Clock, backoff::Backoff as _, exponential::ExponentialBackoff};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokio::time::Instant;

use super::RetryPolicy;
use crate::domain::Walk;

/// The waits before each retry of one call; ends when no retry is left.
///
/// Full jitter: each wait is uniform between 0 and the curve's value, which doubles from
/// `base_delay_ms` up to `max_delay_ms` (Brooker 2015, "Exponential Backoff and Jitter").
#[derive(Debug)]
pub(super) struct Backoff {
    retries: u32,
    max_retries: u32,
    curve: ExponentialBackoff<CallClock>,
    rng: Pcg64,
}

impl Backoff {
    /// Goes on with the walk of a call, which is at an attempt now.
    pub(super) fn new(policy: RetryPolicy, seed: u64, walk: Walk) -> Self {
        let clock = CallClock::default();
        let base = Duration::from_millis(policy.base_delay_ms);
        let mut curve = ExponentialBackoff {
            current_interval: base,
            initial_interval: base,
            randomization_factor: 0.0,
            multiplier: 2.0,
            max_interval: Duration::from_millis(policy.max_delay_ms),
            max_elapsed_time: Some(Duration::from_secs(policy.max_elapsed_s).saturating_sub(walk.took)),
            start_time: clock.now(),
            clock,
        };
        let retries = walk.retries.min(policy.max_retries);
        for _ in 0..retries {
            curve.next_backoff();
        }
        Self { retries, max_retries: policy.max_retries, curve, rng: Pcg64::seed_from_u64(seed) }
    }

    /// The retries that the call has had.
    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    /// Leaves `wait`, which was not the call's own doing, out of the time it may take.
    pub(super) fn exclude(&mut self, wait: Duration) {
        self.curve.clock.excluded += wait;
    }
}

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if self.retries == self.max_retries {
            return None;
        }
        self.retries += 1;
        let ceiling = self.curve.next_backoff()?;
        // The crate adds up to a nanosecond of its own randomness even when told to add none.
        let ceiling = Duration::from_millis(u64::try_from(ceiling.as_millis()).unwrap_or(u64::MAX));
        Some(ceiling.mul_f64(self.rng.random()))
    }
}

/// Tokio's clock, which tests can pause, less what is not to be counted.
#[derive(Clone, Copy, Debug, Default)]
struct CallClock {
    excluded: Duration,
}

impl Clock for CallClock {
    fn now(&self) -> std::time::Instant {
        (Instant::now() - self.excluded).into_std()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn policy(max_retries: u32) -> RetryPolicy {
        RetryPolicy { max_retries, ..RetryPolicy::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_lie_under_a_doubling_ceiling_and_are_as_many_as_the_retries() {
        for seed in 0..200 {
            let waits: Vec<_> = Backoff::new(policy(10), seed, Walk::default()).collect();
            assert_eq!(waits.len(), 10);
            for (wait, ceiling_ms) in
                waits.iter().zip([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
            {
                assert!(*wait < Duration::from_millis(ceiling_ms), "{wait:?} of {ceiling_ms} ms");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn waits_are_spread_over_the_whole_ceiling() {
        let firsts: Vec<f64> = (0..2_000)
            .filter_map(|seed| Some(Backoff::new(policy(1), seed, Walk::default()).next()?.as_secs_f64()))
            .collect();
        let mean = firsts.iter().sum::<f64>() / 2_000.0;
        assert!((mean - 0.25).abs() < 0.02, "mean {mean}");
        assert!(firsts.iter().any(|wait| *wait < 0.01) && firsts.iter().any(|wait| *wait > 0.49));
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_seed_draws_the_same_waits() {
        let waits = |seed| Backoff::new(policy(8), seed, Walk::default()).collect::<Vec<_>>();
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
    }

    #[tokio::test(start_paused = true)]
    async fn no_retry_means_no_wait() {
        assert_eq!(Backoff::new(policy(0), 1, Walk::default()).next(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_walk_ends_when_its_time_is_over_but_pauses_do_not_count() {
        let policy = RetryPolicy { max_elapsed_s: 100, ..policy(8) };
        let mut backoff = Backoff::new(policy, 1, Walk::default());
        advance(Duration::from_secs(600)).await;
        backoff.exclude(Duration::from_secs(550));
        assert!(backoff.next().is_some());
        advance(Duration::from_secs(51)).await;
        assert_eq!(backoff.next(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_on_has_the_retries_and_the_time_that_were_left() {
        let walk = Walk { retries: 6, took: Duration::from_secs(90), not_before: None };
        let ceilings = |walk| -> Vec<u64> {
            let mut ceilings = vec![0; 8];
            for seed in 0..500 {
                let waits = Backoff::new(policy(8), seed, walk);
                for (ceiling, wait) in ceilings.iter_mut().zip(waits) {
                    *ceiling = (*ceiling).max(wait.as_secs());
                }
            }
            ceilings
        };
        assert_eq!(ceilings(walk), [31, 59, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Backoff::new(policy(8), 1, Walk { retries: 9, ..walk }).next(), None);
        let policy = RetryPolicy { max_elapsed_s: 100, ..policy(8) };
        let late = Walk { retries: 1, took: Duration::from_secs(101), not_before: None };
        assert_eq!(Backoff::new(policy, 1, late).next(), None);
    }
}
