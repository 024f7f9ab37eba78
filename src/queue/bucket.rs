//! One limit: a bucket that refills continuously.
//!
//! `governor` decides (its generic cell rate algorithm keeps one number: the instant at which the
//! bucket will be full again). That number lives here rather than in governor's own store, for a
//! bucket has to do two things more than governor offers: tokens that were asked for and not used
//! come back (the instant moves to earlier), and what was used beyond the asking is owed (it moves
//! to later). Both leave exactly the bucket that would be if the right number had been taken.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{NotKeyed, StateStore},
};
use tokio::time::Instant;

const MINUTE_NS: u64 = 60_000_000_000;

/// One limit of so many cells (requests or tokens) a minute.
#[derive(Debug)]
pub(super) struct Bucket {
    governor: RateLimiter<NotKeyed, FullAt, TokioClock, NoOpMiddleware<Nanos>>,
    full_at: FullAt,
    clock: TokioClock,
    per_minute: u64,
    /// What it holds when full.
    burst: NonZeroU32,
    /// How long one cell takes to come back. Rounded up, so that a minute never gives too many.
    cell_ns: u64,
}

impl Bucket {
    /// A full bucket of `per_minute` cells a minute that holds `burst_s` seconds' worth, at least one.
    pub(super) fn new(per_minute: u64, burst_s: f64) -> Self {
        let cell_ns = MINUTE_NS.div_ceil(per_minute.max(1)).max(1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates: a burst beyond u32 is cut, and none is below zero"
        )]
        let burst = (per_minute as f64 * burst_s / 60.0) as u32;
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let full_at = FullAt::default();
        let clock = TokioClock { origin: Instant::now() };
        let quota = Quota::with_period(Duration::from_nanos(cell_ns))
            .expect("a cell takes at least one nanosecond")
            .allow_burst(burst);
        let governor = RateLimiter::new(quota, full_at.clone(), clock);
        Self { governor, full_at, clock, per_minute, burst, cell_ns }
    }

    /// The limit.
    pub(super) fn per_minute(&self) -> u64 {
        self.per_minute
    }

    /// What it holds when full.
    pub(super) fn burst(&self) -> u64 {
        u64::from(self.burst.get())
    }

    /// Takes `cells`, or says how long until they can be taken.
    ///
    /// More than the bucket holds is taken when it is full; the rest is then owed, so that the next
    /// taker waits for it. Over any time the cells taken are at most the refill plus the larger of
    /// the burst and the largest single taking.
    pub(super) fn take(&mut self, cells: u64) -> Result<(), Duration> {
        let now_part = u32::try_from(cells).unwrap_or(u32::MAX).min(self.burst.get());
        let Some(now_part) = NonZeroU32::new(now_part) else { return Ok(()) };
        match self.governor.check_n(now_part).expect("no more is asked than the bucket holds") {
            Ok(()) => {
                if cells > u64::from(now_part.get()) {
                    self.add_debt(cells - u64::from(now_part.get()));
                }
                Ok(())
            }
            Err(not_until) => {
                // Never zero: governor has just said that it is too early.
                Err(not_until.wait_time_from(self.clock.now()).max(Duration::from_nanos(1)))
            }
        }
    }

    /// Puts back `cells` that were taken and not used.
    pub(super) fn give_back(&mut self, cells: u64) {
        let full_at = self.full_at.0.load(Relaxed);
        self.full_at.0.store(full_at.saturating_sub(cells.saturating_mul(self.cell_ns)), Relaxed);
    }

    /// Takes `cells` that are already used, whatever is left; at most a minute's worth, since no
    /// number that a server sends may block the queue for longer.
    pub(super) fn owe(&mut self, cells: u64) {
        if cells > 0 {
            self.add_debt(cells.min(self.per_minute));
        }
    }

    fn add_debt(&mut self, cells: u64) {
        let full_at = self.full_at.0.load(Relaxed).max(self.clock.now().as_u64());
        self.full_at.0.store(full_at.saturating_add(cells.saturating_mul(self.cell_ns)), Relaxed);
    }

    /// The state, to be [`restored`](Self::restore) when another bucket cannot give its part.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.full_at.0.load(Relaxed))
    }

    pub(super) fn restore(&mut self, mark: Mark) {
        self.full_at.0.store(mark.0, Relaxed);
    }

    /// The same bucket under another limit: what is owed stays owed, in cells.
    pub(super) fn with_limit(&self, per_minute: u64, burst_s: f64) -> Self {
        let changed = Self::new(per_minute, burst_s);
        let missing = self.full_at.0.load(Relaxed).saturating_sub(self.clock.now().as_u64()) / self.cell_ns;
        let full_in = missing.saturating_mul(changed.cell_ns);
        changed.full_at.0.store(changed.clock.now().as_u64().saturating_add(full_in), Relaxed);
        changed
    }
}

/// How a bucket goes on when an account is shared among more or fewer processes.
impl Bucket {
    /// The same bucket under another limit, with what it holds now: what its neighbours do not use
    /// any more was never theirs to hand over, so nothing is gained but the pace.
    pub(super) fn with_level(&self, per_minute: u64, burst_s: f64) -> Self {
        let mut changed = Self::new(per_minute, burst_s);
        let missing = self.full_at.0.load(Relaxed).saturating_sub(self.clock.now().as_u64());
        let missing = missing.div_ceil(self.cell_ns);
        let (held, room) = (u64::from(self.burst.get()), u64::from(changed.burst.get()));
        let missing =
            if missing > held { room + (missing - held) } else { room.saturating_sub(held - missing) };
        if missing > 0 {
            changed.add_debt(missing);
        }
        changed
    }

    /// The same bucket under another limit, holding nothing yet.
    pub(super) fn drained(per_minute: u64, burst_s: f64) -> Self {
        let mut bucket = Self::new(per_minute, burst_s);
        bucket.add_debt(u64::from(bucket.burst.get()));
        bucket
    }
}

/// A bucket's state at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(u64);

/// When the bucket is full again, in nanoseconds since the clock's origin. A bucket is only ever
/// used through `&mut`, so nothing here races; the atomic makes it shareable with governor.
#[derive(Clone, Debug, Default)]
struct FullAt(Arc<AtomicU64>);

impl StateStore for FullAt {
    type Key = NotKeyed;

    fn measure_and_replace<T, F, E>(&self, _key: &NotKeyed, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let (decision, full_at) = decide(Some(Nanos::new(self.0.load(Relaxed))))?;
        self.0.store(full_at.as_u64(), Relaxed);
        Ok(decision)
    }
}

/// Tokio's clock, which tests can pause, as governor reads it.
#[derive(Clone, Copy, Debug)]
struct TokioClock {
    origin: Instant,
}

impl Clock for TokioClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.origin.elapsed().into()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn a_bucket_holds_a_seconds_worth_and_refills_continuously() {
        let mut bucket = Bucket::new(600, 1.0);
        for _ in 0..10 {
            assert_eq!(bucket.take(1), Ok(()));
        }
        assert_eq!(bucket.take(1), Err(ms(100)));
        advance(ms(40)).await;
        assert_eq!(bucket.take(1), Err(ms(60)));
        advance(ms(60)).await;
        assert_eq!(bucket.take(1), Ok(()));
        advance(ms(60_000)).await;
        assert_eq!(bucket.take(10), Ok(()));
        assert_eq!(bucket.take(1), Err(ms(100)));
    }

    #[tokio::test(start_paused = true)]
    async fn more_than_it_holds_is_taken_when_full_and_owed() {
        let mut bucket = Bucket::new(60_000, 1.0);
        assert_eq!(bucket.take(31_000), Ok(()));
        assert_eq!(bucket.take(1), Err(ms(30_001)));
        assert_eq!(bucket.take(1_000), Err(ms(31_000)));
        assert_eq!(bucket.take(31_000), Err(ms(31_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_back_can_be_taken_again_up_to_what_it_holds() {
        let mut bucket = Bucket::new(60_000, 1.0);
        assert_eq!(bucket.take(31_000), Ok(()));
        bucket.give_back(30_500);
        assert_eq!(bucket.take(500), Ok(()));
        assert_eq!(bucket.take(1), Err(ms(1)));
        bucket.give_back(1_000_000);
        assert_eq!(bucket.take(1_000), Ok(()));
        assert_eq!(bucket.take(1), Err(ms(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_debt_blocks_for_a_minute_at_most() {
        let mut bucket = Bucket::new(60_000, 1.0);
        bucket.owe(u64::MAX);
        assert_eq!(bucket.take(1_000), Err(ms(60_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_limit_keeps_the_debt_in_cells() {
        let mut bucket = Bucket::new(60_000, 1.0);
        advance(ms(5_000)).await;
        assert_eq!(bucket.take(11_000), Ok(()));
        let mut halved = bucket.with_limit(30_000, 1.0);
        assert_eq!(halved.per_minute(), 30_000);
        assert_eq!(halved.take(500), Err(ms(22_000)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_below_one_a_second_still_holds_one() {
        let mut bucket = Bucket::new(6, 1.0);
        assert_eq!(bucket.take(1), Ok(()));
        assert_eq!(bucket.take(1), Err(ms(10_000)));
    }
}
