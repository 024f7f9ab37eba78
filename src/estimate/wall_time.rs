//! Wall time: the queues played in fast motion.
//!
//! One account is a line of requests before four token buckets and a limit on what is on the wire,
//! which starts slow and grows fourfold: the rules of [`queue`], with drawn latencies in the
//! place of a provider. Of very many requests the beginning is played and the rest follows at the
//! pace of its second half.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::history::PastTrial;
use crate::{
    queue::{self, Limits},
    stats::SplitMix64,
};

/// Requests that are played one by one.
pub const PLAYED: usize = 20_000;

/// Latency where nothing is known, in milliseconds: the first token, ...
const DEFAULT_FIRST_TOKEN_MS: f64 = 700.0;

/// ... and every further one.
const DEFAULT_TOKEN_MS: f64 = 12.0;

/// One request before it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The target's place among those of the account.
    pub target: usize,
    /// Input tokens.
    pub input: f64,
    /// The most output tokens.
    pub max_output: f64,
}

/// What one target's answers are like.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Earlier answers to draw from; never empty.
    pool: Vec<PastTrial>,
    /// Requests a trial.
    attempts: f64,
    /// How long a cached prefix can be read, in seconds; `None`: nothing is cached.
    pub cache_ttl_s: Option<f64>,
    /// Whether one request is sent first and the others wait until its answer begins.
    pub warm_up: bool,
    /// Input tokens a request that the limits do not count when read from the cache.
    pub cached_prefix: f64,
}

impl Answers {
    /// Answers like those of earlier runs; without any, by the mean output that is expected.
    pub fn new(past: &[PastTrial], attempts: f64, mean_output: f64) -> Self {
        let pool = if past.is_empty() {
            let guess = |factor: f64| PastTrial {
                latency_ms: factor * (DEFAULT_FIRST_TOKEN_MS + DEFAULT_TOKEN_MS * mean_output),
                output: mean_output,
            };
            [0.6, 0.8, 1.0, 1.2, 1.7].map(guess).to_vec()
        } else {
            past.to_vec()
        };
        Self { pool, attempts: attempts.max(1.0), cache_ttl_s: None, warm_up: false, cached_prefix: 0.0 }
    }

    /// The same with every latency `factor` times as long.
    #[must_use]
    pub fn slower(&self, factor: f64) -> Self {
        let slower = |trial: &PastTrial| PastTrial { latency_ms: trial.latency_ms * factor, ..*trial };
        Self { pool: self.pool.iter().map(slower).collect(), ..self.clone() }
    }

    /// The same earlier answers, drawn anew with replacement: what another sample of them would be.
    fn drawn_anew(&self, rng: &mut SplitMix64) -> Self {
        let pool = (0..self.pool.len()).map(|_| self.pool[rng.below(self.pool.len())]).collect();
        Self { pool, ..self.clone() }
    }
}

/// How often a shared prefix is written and read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CacheUse {
    /// Requests that write it.
    pub writes: f64,
    /// Requests that read it.
    pub reads: f64,
    /// By how much the writes differ from play to play (standard deviation).
    pub spread: f64,
    /// Whether the experiment caches as it stands.
    pub is_set_up: bool,
}

/// What a simulated account did.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// From the first request to the last answer, in seconds.
    pub wall_s: f64,
    /// When each target's last answer came, in seconds.
    pub ended_s: Vec<f64>,
    /// Writes and reads of each target's prefix.
    pub cache: Vec<CacheUse>,
    /// Seconds that one more request takes, once the queue is at its pace.
    pub seconds_a_request: f64,
}

/// One limit of so many a minute, as [`queue`](crate::queue) keeps it: the time at which it is full.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    cell_s: f64,
    burst: f64,
    full_at: f64,
}

impl Bucket {
    fn new(per_minute: Option<u64>, burst_s: f64) -> Option<Self> {
        let per_minute = per_minute? as f64;
        let burst = (per_minute * burst_s / 60.0).floor().max(1.0);
        Some(Self { cell_s: 60.0 / per_minute, burst, full_at: 0.0 })
    }

    /// When `cells` can be taken.
    fn ready_at(&self, cells: f64) -> f64 {
        if cells <= 0.0 {
            return 0.0;
        }
        self.full_at - (self.burst - cells.min(self.burst)) * self.cell_s
    }

    fn take(&mut self, now: f64, cells: f64) {
        self.full_at = self.full_at.max(now) + cells * self.cell_s;
    }

    /// What was taken and not used comes back; what was used beyond it is owed.
    fn settle(&mut self, now: f64, taken: f64, used: f64) {
        if used > taken {
            self.take(now, used - taken);
        } else {
            self.full_at -= (taken - used) * self.cell_s;
        }
    }
}

/// A request on the wire, by the time at which it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flying {
    ends_at: f64,
    target: usize,
    taken: [f64; 4],
    used: [f64; 4],
}

impl Eq for Flying {}

impl Ord for Flying {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.ends_at.total_cmp(&other.ends_at)
    }
}

impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Plays `total` requests of one account, the first of which are `jobs`.
pub fn play(
    limits: &Limits,
    jobs: impl Iterator<Item = Job>,
    total: u64,
    answers: &[Answers],
    seed: u64,
) -> Played {
    let mut rng = SplitMix64::new(seed);
    let answers: Vec<Answers> = answers.iter().map(|answers| answers.drawn_anew(&mut rng)).collect();
    let mut queue = Queue::new(limits, answers.len());
    for job in jobs.take(PLAYED) {
        let of_target = &answers[job.target];
        let drawn = of_target.pool[rng.below(of_target.pool.len())];
        let output = drawn.output.min(job.max_output);
        queue.send(job, of_target, drawn.latency_ms / 1e3, output);
    }
    while !queue.flying.is_empty() {
        queue.land_one();
    }
    queue.result(total)
}

struct Queue {
    /// Of requests, input, output, and of input and output together: all four are asked alike, so that the
    /// last need not stand beside a [`PerDimension`](crate::domain::PerDimension) of the others.
    buckets: [Option<Bucket>; 4],
    output_reserved: bool,
    cache_reads_count: bool,
    max: usize,
    limit: usize,
    answered: usize,
    now: f64,
    flying: BinaryHeap<Reverse<Flying>>,
    outputs: (f64, f64),
    landed: Vec<f64>,
    sent: u64,
    ended_s: Vec<f64>,
    cache: Vec<CacheUse>,
    /// When each target's prefix can first be read, and when it was last used.
    prefix: Vec<Option<(f64, f64)>>,
}

impl Queue {
    fn new(limits: &Limits, targets: usize) -> Self {
        let bursts = queue::bursts(limits.burst_s);
        let max = limits.max_in_flight.max(1) as usize;
        Self {
            buckets: [
                Bucket::new(limits.requests_per_minute, bursts.requests),
                Bucket::new(limits.input_tokens_per_minute, bursts.input),
                Bucket::new(limits.output_tokens_per_minute, bursts.output),
                Bucket::new(limits.tokens_per_minute, limits.burst_s),
            ],
            output_reserved: limits.output_reserved,
            cache_reads_count: limits.cache_reads_count,
            max,
            limit: (queue::SLOW_START as usize).min(max),
            answered: 0,
            now: 0.0,
            flying: BinaryHeap::new(),
            outputs: (0.0, 0.0),
            landed: vec![],
            sent: 0,
            ended_s: vec![0.0; targets],
            cache: vec![CacheUse::default(); targets],
            prefix: vec![None; targets],
        }
    }

    fn send(&mut self, job: Job, answers: &Answers, latency_s: f64, output: f64) {
        while self.flying.len() >= self.limit {
            self.land_one();
        }
        // Answers that come while the buckets fill give back what they did not use.
        loop {
            let taken = self.taken(job);
            let ready = self.ready_at(taken).max(self.now);
            match self.flying.peek() {
                Some(Reverse(next)) if next.ends_at <= ready => self.land_one(),
                _ => {
                    self.now = ready;
                    self.start(job, answers, taken, latency_s, output);
                    return;
                }
            }
        }
    }

    /// Requests, input, output, and both: what is asked of the buckets.
    fn taken(&self, job: Job) -> [f64; 4] {
        let (sum, count) = self.outputs;
        let output = if self.output_reserved || count == 0.0 {
            job.max_output
        } else {
            (sum / count).ceil().min(job.max_output)
        };
        [1.0, job.input, output, job.input + output]
    }

    fn ready_at(&self, taken: [f64; 4]) -> f64 {
        let readies = self
            .buckets
            .iter()
            .zip(taken)
            .filter_map(|(bucket, cells)| bucket.as_ref().map(|bucket| bucket.ready_at(cells)));
        readies.fold(0.0, f64::max)
    }

    fn start(&mut self, job: Job, answers: &Answers, taken: [f64; 4], latency_s: f64, output: f64) {
        let occupied = latency_s * answers.attempts;
        let ends_at = self.now + occupied;
        let read = self.visit_prefix(job.target, answers, ends_at);
        let free = if self.cache_reads_count { 0.0 } else { read };
        let input = (job.input - free).max(0.0);
        for (bucket, cells) in self.buckets.iter_mut().zip(taken) {
            if let Some(bucket) = bucket {
                bucket.take(self.now, cells);
            }
        }
        // A failed attempt is a request, too.
        if let Some(requests) = &mut self.buckets[0] {
            requests.take(self.now, answers.attempts - 1.0);
        }
        let used = [1.0, input, output, input + output];
        self.flying.push(Reverse(Flying { ends_at, target: job.target, taken, used }));
        self.sent += 1;
    }

    /// Tokens read from the cache: a prefix can be read once the first answer with it has come, and
    /// for a while after its last use.
    fn visit_prefix(&mut self, target: usize, answers: &Answers, ends_at: f64) -> f64 {
        let Some(ttl) = answers.cache_ttl_s else { return 0.0 };
        let now = self.now;
        let (readable, last_use) = match self.prefix[target] {
            Some((readable, last_use)) if now - last_use <= ttl => (readable.min(ends_at), last_use),
            _ => (ends_at, now),
        };
        self.prefix[target] = Some((readable, last_use.max(now)));
        let waited_for = answers.warm_up && self.cache[target].writes > 0.0;
        if readable <= now || waited_for {
            self.cache[target].reads += 1.0;
            answers.cached_prefix
        } else {
            self.cache[target].writes += 1.0;
            0.0
        }
    }

    fn land_one(&mut self) {
        let Some(Reverse(landed)) = self.flying.pop() else { return };
        self.now = self.now.max(landed.ends_at);
        for (at, bucket) in self.buckets.iter_mut().enumerate().skip(1) {
            if let Some(bucket) = bucket {
                bucket.settle(self.now, landed.taken[at], landed.used[at]);
            }
        }
        self.outputs.0 += landed.used[2];
        self.outputs.1 += 1.0;
        self.ended_s[landed.target] = self.ended_s[landed.target].max(landed.ends_at);
        self.landed.push(landed.ends_at);
        self.answered += 1;
        if self.answered >= self.limit {
            self.answered = 0;
            self.limit = (self.limit * queue::GROWTH as usize).min(self.max);
        }
    }

    fn result(mut self, total: u64) -> Played {
        self.landed.sort_by(f64::total_cmp);
        let ends = &self.landed;
        let played = ends.len();
        let wall = ends.last().copied().unwrap_or(0.0);
        // The pace of the second half, without the last few answers: nobody waits behind them.
        let (from, to) = (played / 2, played - played / 20);
        let pace = if to > from + 1 {
            (ends[to - 1] - ends[from]) / (to - 1 - from) as f64
        } else {
            wall / played.max(1) as f64
        };
        let grown = if played > 0 { (total as f64 / played as f64).max(1.0) } else { 1.0 };
        let more_s = (total as f64 - played as f64).max(0.0) * pace;
        Played {
            wall_s: wall + more_s,
            ended_s: self.ended_s.iter().map(|ended| ended + more_s).collect(),
            cache: self
                .cache
                .iter()
                // Writes belong to the beginning; what is not played reads.
                .map(|used| CacheUse { reads: (used.reads + used.writes) * grown - used.writes, ..*used })
                .collect(),
            seconds_a_request: pace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(count: usize) -> impl Iterator<Item = Job> {
        (0..count).map(|_| Job { target: 0, input: 100.0, max_output: 50.0 })
    }

    fn fixed(latency_ms: f64) -> Vec<Answers> {
        vec![Answers::new(&[PastTrial { latency_ms, output: 50.0 }], 1.0, 50.0)]
    }

    #[test]
    fn sixty_a_minute_are_one_a_second() {
        let limits = Limits { requests_per_minute: Some(60), ..Limits::default() };
        let played = play(&limits, jobs(120), 120, &fixed(500.0), 1);
        assert!((played.wall_s - 119.5).abs() < 1e-6, "{}", played.wall_s);
        assert!((played.seconds_a_request - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_wire_starts_slow_and_grows_fourfold() {
        let limits = Limits { max_in_flight: 200, ..Limits::default() };
        // 32 in the first second, 128 in the next, then 200 a second.
        let total = 32 + 128 + 2 * 200;
        let played = play(&limits, jobs(total), total as u64, &fixed(1_000.0), 1);
        assert!((played.wall_s - 4.0).abs() < 1e-6, "{}", played.wall_s);
    }

    #[test]
    fn a_thousand_output_tokens_a_minute_reserved_by_max_tokens_hold_back_the_third() {
        let limits = Limits {
            output_tokens_per_minute: Some(1_000),
            burst_s: 60.0,
            output_reserved: true,
            ..Limits::default()
        };
        let jobs = (0..3).map(|_| Job { target: 0, input: 1.0, max_output: 400.0 });
        let played = play(&limits, jobs, 3, &fixed(1_000.0), 1);
        assert!((played.wall_s - 2.0).abs() < 1e-6, "{}", played.wall_s);
    }

    #[test]
    fn a_prefix_is_written_by_all_that_start_before_the_first_answer() {
        let mut answers = fixed(1_000.0);
        answers[0].cache_ttl_s = Some(300.0);
        let played = play(&Limits::default(), jobs(500), 500, &answers, 1);
        assert_eq!((played.cache[0].writes, played.cache[0].reads), (32.0, 468.0));
    }

    #[test]
    fn what_is_not_played_follows_at_the_same_pace() {
        let limits = Limits { requests_per_minute: Some(600), ..Limits::default() };
        let played = play(&limits, jobs(100_000), 100_000, &fixed(200.0), 1);
        assert!((played.wall_s / 10_000.0 - 1.0).abs() < 0.01, "{}", played.wall_s);
    }
}
