//! How many requests may be on the wire at once. Pure.
//!
//! Nearly as TCP does it: fourfold at first, or at once to what the first headers say may go; one step at
//! a time after the first sign of pressure, and one halving an episode of it. An episode is over when the
//! attempts that were under way at the halving have come back: what they report is the same news again.
//! Failures of other kinds change nothing.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The first limit of an account of which nothing is known, unless `max_in_flight` is lower.
pub const SLOW_START: u32 = 32;

/// By what the limit grows until the first sign of pressure.
pub const GROWTH: u32 = 4;

/// Halvings are at least this far apart.
const COOL_DOWN: Duration = Duration::from_secs(1);

/// How many changes are kept.
const HISTORY: usize = 1_000;

/// Windows of fewer answers say too little about latency.
const TELLING_WINDOW: u32 = 8;

/// Latency that rose by this factor, ...
const SLOWER: f64 = 1.5;

/// ... without throughput that rose by this one, means that more at once would only queue up there.
const FASTER: f64 = 1.05;

/// Why the concurrency limit changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConcurrencyChange {
    /// The queue began.
    Start,
    /// A whole window was answered, and nothing had been refused yet: four times as many.
    Fourfold,
    /// The first headers told that more may go.
    Told,
    /// A whole window was answered: one more.
    OneMore,
    /// The provider said that it was too much: halved.
    Halved,
    /// The user set another ceiling.
    Set,
}

impl ConcurrencyChange {
    /// The name as the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Fourfold => "fourfold",
            Self::Told => "told",
            Self::OneMore => "one_more",
            Self::Halved => "halved",
            Self::Set => "set",
        }
    }
}

/// One change of the concurrency limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyStep {
    /// When, in milliseconds since the queue began.
    pub elapsed_ms: u64,
    /// The limit from then on.
    pub limit: u32,
    /// Why.
    pub why: ConcurrencyChange,
}

/// The limit on what is on the wire at once, and how it came about.
#[derive(Debug)]
pub(super) struct Concurrency {
    began: Instant,
    max: u32,
    limit: u32,
    /// Whether there has been no pressure yet.
    is_calm: bool,
    /// Whether headers have told what may go.
    is_told: bool,
    halved_at: Option<Instant>,
    window: Window,
    /// The pace of the window that led to the last increase.
    pace_before: Option<Pace>,
    history: VecDeque<ConcurrencyStep>,
}

/// Answers since the limit was last looked at.
#[derive(Debug)]
struct Window {
    since: Instant,
    answers: u32,
    latency: Duration,
    /// The most that was on the wire.
    peak: u32,
}

/// How fast answers came.
#[derive(Clone, Copy, Debug)]
struct Pace {
    latency_s: f64,
    per_second: f64,
}

impl Concurrency {
    pub(super) fn new(now: Instant, max: u32) -> Self {
        let mut concurrency = Self {
            began: now,
            max,
            limit: 0,
            is_calm: true,
            is_told: false,
            halved_at: None,
            window: Window::new(now),
            pace_before: None,
            history: VecDeque::new(),
        };
        concurrency.set(now, SLOW_START.min(max), ConcurrencyChange::Start);
        concurrency
    }

    /// Begins at `limit` instead, at which the account showed no pressure when it was last used.
    pub(super) fn start_at(&mut self, now: Instant, limit: u32) {
        self.history.clear();
        self.set(now, limit.clamp(SLOW_START.min(self.max), self.max), ConcurrencyChange::Start);
    }

    /// A response's headers said that `remaining` requests may still go. Only the first word counts: the
    /// bucket then paces what follows.
    pub(super) fn told(&mut self, now: Instant, remaining: u64) {
        if std::mem::replace(&mut self.is_told, true) || !self.is_calm {
            return;
        }
        let may_go = u32::try_from(remaining).unwrap_or(u32::MAX).min(self.max);
        if may_go > self.limit {
            self.window = Window::new(now);
            self.set(now, may_go, ConcurrencyChange::Told);
        }
    }

    /// How many may be on the wire at once.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// All changes so far, the newest thousand of them.
    pub(super) fn history(&self) -> Vec<ConcurrencyStep> {
        self.history.iter().copied().collect()
    }

    /// An attempt was answered after `latency`, being one of `in_flight`.
    pub(super) fn answered(&mut self, now: Instant, latency: Duration, in_flight: u32) {
        self.window.add(latency, in_flight);
        if self.window.answers < self.limit {
            return;
        }
        let window = std::mem::replace(&mut self.window, Window::new(now));
        // A limit that was not even half used was not what held the queue back.
        let used = window.peak.saturating_mul(2) > self.limit;
        let pace = window.pace(now);
        if self.limit >= self.max || !used || self.is_saturated(&window, pace) {
            return;
        }
        self.pace_before = pace;
        if self.is_calm {
            let more = self.limit.saturating_mul(GROWTH).min(self.max);
            self.set(now, more, ConcurrencyChange::Fourfold);
        } else {
            self.set(now, self.limit + 1, ConcurrencyChange::OneMore);
        }
    }

    /// An attempt that was sent at `sent_at` was refused for being too much. Whether this is a new
    /// episode, and not the same one told again.
    pub(super) fn refused(&mut self, now: Instant, sent_at: Instant) -> bool {
        self.is_calm = false;
        let known = self.halved_at.is_some_and(|halved| sent_at <= halved || now - halved < COOL_DOWN);
        if known {
            return false;
        }
        self.halved_at = Some(now);
        self.window = Window::new(now);
        self.pace_before = None;
        self.set(now, (self.limit / 2).max(1), ConcurrencyChange::Halved);
        true
    }

    /// Puts another ceiling over the limit. A lower one holds at once; to a higher one it climbs, from where
    /// it would have begun under that.
    pub(super) fn set_max(&mut self, now: Instant, max: u32) {
        self.max = max.max(1);
        let begins = if self.is_calm { SLOW_START } else { 1 };
        let limit = self.limit.max(begins).min(self.max);
        if limit != self.limit {
            self.set(now, limit, ConcurrencyChange::Set);
        }
    }

    fn is_saturated(&self, window: &Window, pace: Option<Pace>) -> bool {
        let (Some(before), Some(pace)) = (self.pace_before, pace) else { return false };
        window.answers >= TELLING_WINDOW
            && pace.latency_s > before.latency_s * SLOWER
            && pace.per_second < before.per_second * FASTER
    }

    fn set(&mut self, now: Instant, limit: u32, why: ConcurrencyChange) {
        self.limit = limit;
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        let elapsed_ms = u64::try_from((now - self.began).as_millis()).unwrap_or(u64::MAX);
        self.history.push_back(ConcurrencyStep { elapsed_ms, limit, why });
    }
}

impl Window {
    fn new(now: Instant) -> Self {
        Self { since: now, answers: 0, latency: Duration::ZERO, peak: 0 }
    }

    fn add(&mut self, latency: Duration, in_flight: u32) {
        self.answers += 1;
        self.latency += latency;
        self.peak = self.peak.max(in_flight);
    }

    /// `None` when no time has passed, as with recorded answers.
    fn pace(&self, now: Instant) -> Option<Pace> {
        let took_s = (now - self.since).as_secs_f64();
        let answers = f64::from(self.answers);
        (took_s > 0.0 && answers > 0.0)
            .then(|| Pace { latency_s: self.latency.as_secs_f64() / answers, per_second: answers / took_s })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: Duration = Duration::from_millis(100);

    /// One answered window of full use that took `took`.
    fn answer_window(concurrency: &mut Concurrency, now: &mut Instant, took: Duration) {
        let limit = concurrency.limit();
        *now += took;
        for _ in 0..limit {
            concurrency.answered(*now, took, limit);
        }
    }

    fn limits(concurrency: &Concurrency) -> Vec<u32> {
        concurrency.history().iter().map(|step| step.limit).collect()
    }

    #[test]
    fn it_grows_fourfold_from_32_up_to_the_most() {
        let mut now = Instant::now();
        let mut concurrency = Concurrency::new(now, 300);
        for _ in 0..6 {
            answer_window(&mut concurrency, &mut now, LATENCY);
        }
        assert_eq!(limits(&concurrency), [32, 128, 300]);
        assert_eq!(Concurrency::new(now, 4).limit(), 4);
    }

    #[test]
    fn an_account_that_is_known_begins_where_it_was_and_grows_on() {
        let mut now = Instant::now();
        let mut concurrency = Concurrency::new(now, 300);
        concurrency.start_at(now, 128);
        answer_window(&mut concurrency, &mut now, LATENCY);
        assert_eq!(limits(&concurrency), [128, 300]);
        for (was, most, now_at) in [(512, 300, 300), (3, 300, 32), (3, 8, 8)] {
            let mut concurrency = Concurrency::new(now, most);
            concurrency.start_at(now, was);
            assert_eq!(limits(&concurrency), [now_at]);
        }
    }

    #[test]
    fn the_first_headers_tell_what_may_go_at_once_and_later_ones_do_not() {
        let now = Instant::now();
        for (told, most, expected) in
            [(&[200, 900][..], 512, &[32, 200][..]), (&[900], 512, &[32, 512]), (&[10, 900], 512, &[32])]
        {
            let mut concurrency = Concurrency::new(now, most);
            told.iter().for_each(|remaining| concurrency.told(now, *remaining));
            assert_eq!(limits(&concurrency), expected, "{told:?}");
        }
        let mut pressed = Concurrency::new(now, 512);
        pressed.refused(now, now);
        pressed.told(now, 900);
        assert_eq!(limits(&pressed), [32, 16]);
    }

    #[test]
    fn one_episode_halves_once_however_many_report_it() {
        let sent = Instant::now();
        let mut concurrency = Concurrency::new(sent, 32);
        let now = sent + LATENCY;
        let news = (0..32).filter(|_| concurrency.refused(now, sent)).count();
        assert_eq!((news, concurrency.limit()), (1, 16));
        // Still from before the halving, however late it comes.
        assert!(!concurrency.refused(now + Duration::from_secs(60), sent));
        // Sent after it, but too soon for another step.
        assert!(!concurrency.refused(now + Duration::from_millis(900), now + LATENCY));
        assert!(concurrency.refused(now + Duration::from_millis(1_000), now + LATENCY));
        assert_eq!(limits(&concurrency), [32, 16, 8]);
    }

    #[test]
    fn after_the_first_refusal_it_grows_one_at_a_time() {
        let mut now = Instant::now();
        let mut concurrency = Concurrency::new(now, 64);
        concurrency.refused(now, now);
        for _ in 0..3 {
            answer_window(&mut concurrency, &mut now, LATENCY);
        }
        assert_eq!(limits(&concurrency), [32, 16, 17, 18, 19]);
    }

    #[test]
    fn it_never_falls_below_one() {
        let mut now = Instant::now();
        let mut concurrency = Concurrency::new(now, 2);
        for _ in 0..5 {
            now += Duration::from_secs(10);
            concurrency.refused(now, now);
        }
        assert_eq!(concurrency.limit(), 1);
    }

    #[test]
    fn a_limit_that_is_not_used_does_not_grow() {
        let now = Instant::now();
        let mut concurrency = Concurrency::new(now, 64);
        for _ in 0..1_000 {
            concurrency.answered(now, LATENCY, 16);
        }
        assert_eq!(concurrency.limit(), 32);
    }

    #[test]
    fn it_stops_growing_while_latency_rises_without_more_throughput() {
        let mut now = Instant::now();
        let mut concurrency = Concurrency::new(now, 1_024);
        answer_window(&mut concurrency, &mut now, LATENCY);
        // Four times as many at once take four times as long: the server is full.
        for _ in 0..5 {
            answer_window(&mut concurrency, &mut now, 4 * LATENCY);
        }
        assert_eq!(limits(&concurrency), [32, 128]);
        answer_window(&mut concurrency, &mut now, LATENCY);
        assert_eq!(concurrency.limit(), 512);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut now = Instant::now();
        let mut concurrency = Concurrency::new(now, 64);
        for _ in 0..2_000 {
            now += Duration::from_secs(2);
            concurrency.refused(now, now);
        }
        assert_eq!(concurrency.history().len(), HISTORY);
        assert_eq!(concurrency.history().last().unwrap().elapsed_ms, 4_000_000);
    }
}
