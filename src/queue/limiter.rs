//! All limits of one account: what a call asks for, and what becomes of it when its answer comes.
//!
//! A call's tokens are asked for before it is sent, by estimate; its answer settles them. Who comes
//! first, and how waiting is done, is settled in [`line`](super::line).

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Demand, LimitReport, LiveLimits, PerDimension, Usage};

use super::{
    LearntLimits, Limits,
    bucket::{Bucket, Mark},
};

/// The share of the server's burst of requests that is used at once. Its bucket fills from when the first
/// request reaches it, and requests overtake each other on their way: a bucket as large as the server's
/// would be ahead of it now and then, and where waits are told in whole seconds each refusal costs one.
const BURST_SHARE: f64 = 0.9;

/// What was taken for one attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken(Demand);

/// What an attempt has really used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// It never reached the provider.
    Nothing,
    /// It reached the provider and brought no output; how much input was counted is not known.
    InputOnly,
    /// Nothing is known: what the provider has reserved stays taken.
    Unknown,
    /// The provider's own numbers.
    Counted(Usage),
}

/// The buckets of one account. Does not wait: it says how long a call would have to.
#[derive(Debug)]
pub(super) struct Limiter {
    configured: Limits,
    learnt: LearntLimits,
    buckets: Buckets,
    outputs: Mean,
    /// How many processes of this machine share the account; `None`: it is not shared.
    members: Option<u32>,
    unmetered: Unmetered,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        let mut limiter = Self {
            configured: limits,
            learnt: LearntLimits::default(),
            buckets: Buckets::default(),
            outputs: Mean::default(),
            members: None,
            unmetered: Unmetered::default(),
        };
        limiter.set_up_buckets();
        limiter
    }

    /// Takes what a call needs from every bucket at once, or from none: then says how long to wait
    /// before asking again.
    pub(super) fn take(&mut self, demand: Demand) -> Result<Taken, Duration> {
        // Where nothing is reserved the provider counts output as it is made, which is rarely as
        // much as `max_tokens`; before the first answer there is no better guess.
        let output = match self.outputs.value() {
            Some(mean) if !self.configured.output_reserved => mean.min(demand.output),
            _ => demand.output,
        };
        let taken = Demand { output, ..demand };
        self.buckets.take(taken)?;
        self.unmetered.add(taken);
        Ok(Taken(taken))
    }

    /// Settles what an attempt took with what it used.
    pub(super) fn settle(&mut self, Taken(taken): Taken, used: Used) {
        let used = match used {
            Used::Unknown if self.configured.output_reserved => taken,
            Used::Unknown => Demand { output: self.outputs.value().unwrap_or(0).min(taken.output), ..taken },
            Used::Nothing => {
                if let Some(requests) = &mut self.buckets.each.requests {
                    requests.give_back(1);
                }
                Demand::default()
            }
            Used::InputOnly => Demand { output: 0, ..taken },
            Used::Counted(usage) => {
                self.outputs.add(usage.output);
                Demand { input: self.counted_input(&usage), output: usage.output }
            }
        };
        self.buckets.settle(taken, used);
    }

    /// Takes in what a response's headers say; whether that was new.
    pub(super) fn learn(&mut self, report: &LimitReport) -> bool {
        let news = self.learnt.learn(report);
        if news {
            self.set_up_buckets();
        }
        news
    }

    /// Keeps to other ceilings from now on.
    pub(super) fn set_limits(&mut self, limits: &LiveLimits) {
        let Limits { requests_per_minute, input_tokens_per_minute, output_tokens_per_minute, .. } =
            &mut self.configured;
        let put = |own: &mut Option<u64>, new: Option<u64>| *own = new.or(*own);
        put(requests_per_minute, limits.per_minute.requests);
        put(input_tokens_per_minute, limits.per_minute.input);
        put(output_tokens_per_minute, limits.per_minute.output);
        self.set_up_buckets();
    }

    /// Keeps to one of `members` equal shares from now on. `drained`: with nothing in hand, since the
    /// others have not yet left room.
    pub(super) fn share(&mut self, members: u32, drained: bool) {
        self.members = Some(members.max(1));
        let change = if drained {
            |_: &Bucket, limit, burst_s| Bucket::drained(limit, burst_s)
        } else {
            Bucket::with_level
        };
        self.change_buckets(|bucket, limit, burst_s| Some(change(bucket, limit, burst_s)));
    }

    /// Whether any limit a minute is known.
    pub(super) fn has_rates(&self) -> bool {
        self.learnt.under(&self.configured) != LearntLimits::default()
    }

    /// What the headers have told so far.
    pub(super) fn learnt(&self) -> LearntLimits {
        self.learnt
    }

    fn counted_input(&self, usage: &Usage) -> u64 {
        let free = if self.configured.cache_reads_count { 0 } else { usage.cache_read };
        usage.input_total().saturating_sub(free)
    }

    fn set_up_buckets(&mut self) {
        self.change_buckets(|bucket, limit, burst_s| {
            (bucket.per_minute() != limit).then(|| bucket.with_limit(limit, burst_s))
        });
    }

    /// Puts every limit's bucket in order; `change` says what becomes of one that is there.
    fn change_buckets(&mut self, change: impl Fn(&Bucket, u64, f64) -> Option<Bucket>) {
        let limits = self.learnt.under(&self.configured);
        let members = u64::from(self.members.unwrap_or(1));
        let burst_s = self.configured.burst_s;
        let sent = self.unmetered;
        let set_up = |bucket: &mut Option<Bucket>, limit: Option<u64>, burst_s: f64, sent: u64| {
            let limit = limit.map(|limit| (limit / members).max(1));
            *bucket = match (bucket.take(), limit) {
                (_, None) => None,
                (None, Some(limit)) => {
                    // What went before the limit was known is missing in the server's bucket, too,
                    // which at worst is empty.
                    let mut bucket = Bucket::new(limit, burst_s);
                    let left = sent.saturating_sub(self.unmetered.refilled(limit));
                    bucket.owe(left.min(bucket.burst()));
                    Some(bucket)
                }
                (Some(bucket), Some(limit)) => change(&bucket, limit, burst_s).or(Some(bucket)),
            };
        };
        let bursts = bursts(burst_s);
        let each = self.buckets.each.as_mut().zip(limits.per_minute).zip(bursts.zip(sent.each));
        for ((bucket, limit), (burst_s, sent)) in each {
            set_up(bucket, limit, burst_s, sent);
        }
        let both = sent.each.input.saturating_add(sent.each.output);
        set_up(&mut self.buckets.tokens, limits.tokens, burst_s, both);
    }
}

/// The seconds' worth of each limit that are used at once, of the `burst_s` that are configured.
pub fn bursts(burst_s: f64) -> PerDimension<f64> {
    PerDimension { requests: burst_s * BURST_SHARE, input: burst_s, output: burst_s }
}

/// All that was sent since the first call.
#[derive(Clone, Copy, Debug, Default)]
struct Unmetered {
    since: Option<Instant>,
    each: PerDimension<u64>,
}

impl Unmetered {
    fn add(&mut self, taken: Demand) {
        self.since.get_or_insert_with(Instant::now);
        let taken = PerDimension { requests: 1, input: taken.input, output: taken.output };
        self.each = self.each.zip(taken).map(|(sent, more)| sent.saturating_add(more));
    }

    /// What a limit of `per_minute` has given back since.
    fn refilled(&self, per_minute: u64) -> u64 {
        let since = self.since.map_or(0, |since| since.elapsed().as_millis());
        u64::try_from(since.saturating_mul(u128::from(per_minute)) / 60_000).unwrap_or(u64::MAX)
    }
}

/// One bucket a limit; none where the limit is not known.
#[derive(Debug, Default)]
struct Buckets {
    each: PerDimension<Option<Bucket>>,
    /// Of input and output together.
    tokens: Option<Bucket>,
}

impl Buckets {
    fn take(&mut self, demand: Demand) -> Result<(), Duration> {
        let both = demand.input.saturating_add(demand.output);
        let marks = self.each().map(|bucket| bucket.as_ref().map(Bucket::mark));
        let mut wait = Duration::ZERO;
        for (bucket, cells) in self.each().into_iter().zip([1, demand.input, demand.output, both]) {
            if let Some(Err(longer)) = bucket.as_mut().map(|bucket| bucket.take(cells)) {
                wait = wait.max(longer);
            }
        }
        if wait.is_zero() {
            return Ok(());
        }
        self.restore(marks);
        Err(wait)
    }

    fn settle(&mut self, taken: Demand, used: Demand) {
        let all =
            |demand: Demand| [0, demand.input, demand.output, demand.input.saturating_add(demand.output)];
        for (bucket, (taken, used)) in self.each().into_iter().zip(all(taken).into_iter().zip(all(used))) {
            if let Some(bucket) = bucket {
                bucket.give_back(taken.saturating_sub(used));
                bucket.owe(used.saturating_sub(taken));
            }
        }
    }

    fn restore(&mut self, marks: [Option<Mark>; 4]) {
        for (bucket, mark) in self.each().into_iter().zip(marks) {
            if let (Some(bucket), Some(mark)) = (bucket, mark) {
                bucket.restore(mark);
            }
        }
    }

    fn each(&mut self) -> [&mut Option<Bucket>; 4] {
        let PerDimension { requests, input, output } = self.each.as_mut();
        [requests, input, output, &mut self.tokens]
    }
}

/// A mean of counts.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: u64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: u64) {
        self.sum = self.sum.saturating_add(value);
        self.count += 1;
    }

    /// Rounded up; `None` before the first value.
    fn value(self) -> Option<u64> {
        (self.count > 0).then(|| self.sum.div_ceil(self.count))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::time::advance;

    use super::*;

    fn limits() -> Limits {
        Limits::default()
    }

    fn demand(input: u64, output: u64) -> Demand {
        Demand { input, output }
    }

    fn counted(input_uncached: u64, cache_read: u64, output: u64) -> Used {
        Used::Counted(Usage { input_uncached, cache_read, output, ..Usage::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_one_limit_holds_back_takes_nothing_from_the_others() {
        let mut limiter = Limiter::new(Limits {
            requests_per_minute: Some(160),
            input_tokens_per_minute: Some(60_000),
            ..limits()
        });
        limiter.take(demand(2_000, 0)).unwrap();
        // The request bucket still holds one, however often the input bucket says no.
        for _ in 0..5 {
            assert_eq!(limiter.take(demand(1_000, 0)), Err(Duration::from_secs(2)));
        }
        limiter.take(demand(0, 0)).unwrap();
        assert_eq!(limiter.take(demand(0, 0)), Err(Duration::from_millis(375)));
    }

    #[tokio::test(start_paused = true)]
    async fn cached_input_counts_only_where_the_provider_counts_it() {
        for (cache_reads_count, wait_ms) in [(true, 30_000), (false, 3_000)] {
            let input_tokens_per_minute = Some(60_000);
            let mut limiter = Limiter::new(Limits { input_tokens_per_minute, cache_reads_count, ..limits() });
            let taken = limiter.take(demand(20_000, 0)).unwrap();
            limiter.settle(taken, counted(3_000, 27_000, 0));
            assert_eq!(limiter.take(demand(1_000, 0)), Err(Duration::from_millis(wait_ms)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn output_that_is_not_reserved_is_asked_for_by_its_mean() {
        let output_tokens_per_minute = Some(60_000);
        let mut limiter = Limiter::new(Limits { output_tokens_per_minute, ..limits() });
        let taken = limiter.take(demand(0, 4_096)).unwrap();
        limiter.settle(taken, counted(0, 0, 100));
        assert_eq!(limiter.take(demand(0, 4_096)), Ok(Taken(demand(0, 100))));

        let mut limiter =
            Limiter::new(Limits { output_tokens_per_minute, output_reserved: true, ..limits() });
        let taken = limiter.take(demand(0, 4_096)).unwrap();
        limiter.settle(taken, counted(0, 0, 100));
        // 900 are left; the rest is covered by the refill.
        assert_eq!(limiter.take(demand(0, 4_096)), Err(Duration::from_millis(100)));
    }

    #[tokio::test(start_paused = true)]
    async fn input_and_output_share_a_combined_limit() {
        let mut limiter =
            Limiter::new(Limits { tokens_per_minute: Some(60_000), output_reserved: true, ..limits() });
        let taken = limiter.take(demand(500, 1_500)).unwrap();
        assert_eq!(limiter.take(demand(500, 500)), Err(Duration::from_secs(2)));
        limiter.settle(taken, counted(400, 0, 100));
        assert_eq!(limiter.take(demand(400, 100)), Ok(Taken(demand(400, 100))));
        assert_eq!(limiter.take(demand(1, 0)), Err(Duration::from_millis(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_left_comes_back_whole() {
        let mut limiter = Limiter::new(Limits {
            requests_per_minute: Some(60),
            input_tokens_per_minute: Some(60_000),
            ..limits()
        });
        let taken = limiter.take(demand(1_000, 10)).unwrap();
        limiter.settle(taken, Used::Nothing);
        let taken = limiter.take(demand(1_000, 10)).unwrap();
        limiter.settle(taken, Used::InputOnly);
        assert_eq!(limiter.take(demand(1_000, 10)), Err(Duration::from_secs(1)));
    }

    proptest! {
        /// Over every window from one start to a later one, what was really used is at most the
        /// refill and the larger of burst and largest trial, whatever comes when, and whatever is
        /// asked for beyond the need and given back.
        #[test]
        fn no_window_holds_more_than_its_refill_and_one_burst(
            per_minute in 60_u64..2_000_000,
            burst_s in 0.1_f64..20.0,
            trials in prop::collection::vec((1_u64..5_000, 0.0_f64..=1.0, 0_u64..3_000), 1..80),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .start_paused(true)
                .build()
                .unwrap();
            let starts = runtime.block_on(async {
                let origin = Instant::now();
                let mut limiter =
                    Limiter::new(Limits { input_tokens_per_minute: Some(per_minute), burst_s, ..limits() });
                let mut starts = vec![];
                for (asked, used_share, idle_ms) in trials {
                    advance(Duration::from_millis(idle_ms)).await;
                    let taken = loop {
                        match limiter.take(demand(asked, 0)) {
                            Ok(taken) => break taken,
                            Err(wait) => advance(wait).await,
                        }
                    };
                    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of u64")]
                    let used = (asked as f64 * used_share) as u64;
                    starts.push((origin.elapsed().as_secs_f64(), used, asked));
                    limiter.settle(taken, counted(used, 0, 0));
                }
                starts
            });
            let largest = starts.iter().map(|start| start.2).max().unwrap_or(0) as f64;
            let rate = per_minute as f64 / 60.0;
            let burst = (rate * burst_s).max(1.0).max(largest);
            for (first, &(from, ..)) in starts.iter().enumerate() {
                let mut used = 0;
                for &(until, now_used, _) in &starts[first..] {
                    used += now_used;
                    let most = rate * (until - from) + burst;
                    prop_assert!(used as f64 <= most + 1e-3, "{used} from {from} to {until}, at most {most}");
                }
            }
        }
    }
}
