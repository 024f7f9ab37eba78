//! A token bucket: requests or tokens a minute, with a burst.

use std::time::Duration;

use tokio::time::Instant;

/// Requests or tokens a minute as providers count them: a bucket that holds a burst and is refilled
/// all the time.
#[derive(Debug)]
pub struct Bucket {
    per_second: f64,
    capacity: f64,
    level: f64,
    as_of: Instant,
}

/// What a bucket said to one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// `None`: let in. Otherwise how long until there is room for one more.
    pub wait: Option<Duration>,
    /// Requests that could come at once just now.
    pub remaining: u64,
    /// How long until the bucket is full again.
    pub full_in: Duration,
}

impl Bucket {
    /// A full bucket for `per_minute` requests, which holds `burst_s` seconds' worth of them, at
    /// least one. Both must be above 0.
    pub fn new(per_minute: f64, burst_s: f64) -> Self {
        let per_second = per_minute / 60.0;
        let capacity = (per_second * burst_s).max(1.0);
        Self { per_second, capacity, level: capacity, as_of: Instant::now() }
    }

    /// Takes one request out of the bucket, if it has one at `now`.
    pub fn ask(&mut self, now: Instant) -> Admission {
        self.ask_for(1.0, now)
    }

    /// Takes `cells` out of the bucket, if it has them at `now`. What is more than it ever holds is let
    /// in when it is full, and the rest is owed.
    pub fn ask_for(&mut self, cells: f64, now: Instant) -> Admission {
        self.refill(now);
        let needed = cells.min(self.capacity);
        // A client that waits exactly as long as it was told must not miss by a rounding.
        let admitted = self.level >= needed - 1e-6;
        if admitted {
            self.level -= cells;
            if self.level.abs() < 1e-6 {
                self.level = 0.0;
            }
        }
        Admission {
            wait: (!admitted).then(|| self.time_for(needed - self.level)),
            remaining: super::settings::whole(self.level.max(0.0).floor()),
            full_in: self.time_for(self.capacity - self.level),
        }
    }

    /// Takes `cells` that were used without asking, whatever is left; a negative number gives back.
    pub fn charge(&mut self, cells: f64, now: Instant) {
        self.refill(now);
        self.level = (self.level - cells).min(self.capacity);
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.as_of).as_secs_f64();
        self.level = (self.level + passed * self.per_second).min(self.capacity);
        self.as_of = self.as_of.max(now);
    }

    fn time_for(&self, requests: f64) -> Duration {
        Duration::try_from_secs_f64((requests / self.per_second).max(0.0)).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_lets_a_burst_in_and_then_one_request_at_a_time() {
        let mut bucket = Bucket::new(600.0, 1.0);
        for left in (0..10).rev() {
            let admission = bucket.ask(Instant::now());
            assert_eq!((admission.wait, admission.remaining), (None, left));
        }
        let refused = bucket.ask(Instant::now());
        assert_eq!(refused.wait, Some(Duration::from_millis(100)));
        assert_eq!(refused.full_in, Duration::from_secs(1));
        tokio::time::advance(Duration::from_millis(100)).await;
        assert_eq!(bucket.ask(Instant::now()).wait, None);
        assert!(bucket.ask(Instant::now()).wait.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_charged_is_missing_and_more_than_a_bucket_is_owed() {
        let mut bucket = Bucket::new(6_000.0, 1.0);
        bucket.charge(150.0, Instant::now());
        assert_eq!(bucket.ask(Instant::now()).wait, Some(Duration::from_millis(510)));
        bucket.charge(-150.0, Instant::now());
        assert_eq!(bucket.ask_for(300.0, Instant::now()).wait, None);
        assert_eq!(bucket.ask(Instant::now()).wait, Some(Duration::from_millis(2_010)));
    }

    #[test]
    fn even_a_slow_bucket_holds_one_request() {
        let mut bucket = Bucket::new(6.0, 1.0);
        assert_eq!(bucket.ask(Instant::now()).wait, None);
    }
}
