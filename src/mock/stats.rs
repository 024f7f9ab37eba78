//! What came in and went out.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tokio::time::Instant;

use crate::domain::{Cost, Rates, Usage};

/// Milliseconds in the window over which requests are counted.
const MINUTE_MS: usize = 60_000;

/// What the mock server saw since it started or was reset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MockStats {
    /// Requests that came to a provider's route.
    pub requests: u64,
    /// Answers of status 200 that were whole and well-formed.
    pub answered: u64,
    /// Answers by status, malformed ones included.
    pub by_status: BTreeMap<u16, u64>,
    /// Connections reset in place of an answer.
    pub dropped: u64,
    /// Answers of status 200 that were not valid JSON.
    pub malformed: u64,
    /// Streams that an error event ended.
    pub broken: u64,
    /// Answers that fell silent, for a time or for ever.
    pub stalled: u64,
    /// Answers that were asked for as a stream.
    pub streamed: u64,
    /// Requests whose client went away before the answer.
    pub abandoned: u64,
    /// Requests being answered now.
    pub in_flight: u64,
    /// The most at once.
    pub max_in_flight: u64,
    /// The most requests in any 60 seconds, refused ones included (to a millisecond).
    pub max_requests_per_minute: u64,
    /// Different request bodies.
    pub distinct_bodies: u64,
    /// Requests let in whose question is no case's.
    pub without_case: u64,
    /// Tokens of all whole answers.
    pub usage: Usage,
    /// Input tokens of all whole answers, cached or not.
    pub input_tokens: u64,
    /// Output tokens of all whole answers.
    pub output_tokens: u64,
    /// What they cost, if prices were given for all that was used.
    pub cost_usd: Option<Cost>,
    /// From the first request to the last answer, in seconds.
    pub sending_s: Option<f64>,
}

/// How a request ended, as far as counting goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// A whole answer.
    Answered(Usage),
    /// An error of this status.
    Status(u16),
    /// The connection was reset.
    Dropped,
    /// 200 and not valid JSON.
    Malformed,
    /// 200 and an error in the middle of the stream.
    Broken,
    /// The client went away.
    Abandoned,
}

/// The counters behind [`MockStats`]. Their size grows by a few bytes with each different body and
/// with nothing else.
#[derive(Debug)]
pub(super) struct Counters {
    requests: u64,
    answered: u64,
    by_status: BTreeMap<u16, u64>,
    dropped: u64,
    malformed: u64,
    broken: u64,
    stalled: u64,
    streamed: u64,
    abandoned: u64,
    in_flight: u64,
    max_in_flight: u64,
    without_case: u64,
    usage: Usage,
    bodies: HashMap<u64, u32>,
    window: Window,
    first_request: Option<Instant>,
    last_answer: Option<Instant>,
}

impl Counters {
    pub(super) fn new() -> Self {
        Self {
            requests: 0,
            answered: 0,
            by_status: BTreeMap::new(),
            dropped: 0,
            malformed: 0,
            broken: 0,
            stalled: 0,
            streamed: 0,
            abandoned: 0,
            in_flight: 0,
            max_in_flight: 0,
            without_case: 0,
            usage: Usage::default(),
            bodies: HashMap::new(),
            window: Window::new(Instant::now()),
            first_request: None,
            last_answer: None,
        }
    }

    /// Forgets everything but what is in flight.
    pub(super) fn reset(&mut self) {
        let in_flight = self.in_flight;
        *self = Self { in_flight, max_in_flight: in_flight, ..Self::new() };
    }

    /// Counts a request that arrived, and says how many arrived in the last minute.
    pub(super) fn arrived(&mut self, now: Instant) -> u64 {
        self.requests += 1;
        self.in_flight += 1;
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
        self.first_request.get_or_insert(now);
        self.window.count(now)
    }

    /// Counts a body by its hash, and says how often it came before.
    pub(super) fn body(&mut self, hash: u64) -> u32 {
        let times = self.bodies.entry(hash).or_default();
        let earlier = *times;
        *times = times.saturating_add(1);
        earlier
    }

    /// Counts a question that is no case's.
    pub(super) fn no_case(&mut self) {
        self.without_case += 1;
    }

    /// Counts an answer that falls silent.
    pub(super) fn fell_silent(&mut self) {
        self.stalled += 1;
    }

    /// Counts a streamed answer.
    pub(super) fn streams(&mut self) {
        self.streamed += 1;
    }

    /// Counts how a request ended.
    pub(super) fn ended(&mut self, ending: Ending, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let status = match ending {
            Ending::Answered(usage) => {
                self.answered += 1;
                self.usage += usage;
                Some(200)
            }
            Ending::Malformed => {
                self.malformed += 1;
                Some(200)
            }
            Ending::Broken => {
                self.broken += 1;
                Some(200)
            }
            Ending::Status(status) => Some(status),
            Ending::Dropped => {
                self.dropped += 1;
                None
            }
            Ending::Abandoned => {
                self.abandoned += 1;
                return;
            }
        };
        self.last_answer = Some(now);
        if let Some(status) = status {
            *self.by_status.entry(status).or_default() += 1;
        }
    }

    pub(super) fn snapshot(&self, price: Option<&Rates>) -> MockStats {
        MockStats {
            requests: self.requests,
            answered: self.answered,
            by_status: self.by_status.clone(),
            dropped: self.dropped,
            malformed: self.malformed,
            broken: self.broken,
            stalled: self.stalled,
            streamed: self.streamed,
            abandoned: self.abandoned,
            in_flight: self.in_flight,
            max_in_flight: self.max_in_flight,
            max_requests_per_minute: self.window.max,
            distinct_bodies: self.bodies.len() as u64,
            without_case: self.without_case,
            usage: self.usage,
            input_tokens: self.usage.input_total(),
            output_tokens: self.usage.output,
            cost_usd: price.and_then(|price| price.cost(&self.usage)),
            sending_s: self
                .first_request
                .zip(self.last_answer)
                .map(|(first, last)| last.saturating_duration_since(first).as_secs_f64()),
        }
    }
}

/// Counts over a sliding minute, one bin a millisecond: its size does not depend on the traffic.
#[derive(Debug)]
struct Window {
    start: Instant,
    bins: Vec<u32>,
    /// The newest bin, in milliseconds since `start`.
    newest: usize,
    sum: u64,
    max: u64,
}

impl Window {
    fn new(start: Instant) -> Self {
        Self { start, bins: vec![0; MINUTE_MS], newest: 0, sum: 0, max: 0 }
    }

    /// Counts one at `now` and gives the sum over the last minute.
    fn count(&mut self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.start).as_millis();
        let at = usize::try_from(passed).unwrap_or(usize::MAX);
        if at > self.newest {
            if at - self.newest >= MINUTE_MS {
                self.bins.fill(0);
                self.sum = 0;
            } else {
                for old in self.newest + 1..=at {
                    let bin = &mut self.bins[old % MINUTE_MS];
                    self.sum -= u64::from(*bin);
                    *bin = 0;
                }
            }
            self.newest = at;
        }
        self.bins[self.newest % MINUTE_MS] += 1;
        self.sum += 1;
        self.max = self.max.max(self.sum);
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_window_counts_the_last_sixty_seconds() {
        let start = Instant::now();
        let mut window = Window::new(start);
        let at = |ms| start + Duration::from_millis(ms);
        let sums: Vec<u64> =
            [0, 0, 30_000, 59_999, 60_000, 89_999, 90_000, 400_000].map(|ms| window.count(at(ms))).to_vec();
        assert_eq!(sums, [1, 2, 3, 4, 3, 4, 4, 1]);
        assert_eq!(window.max, 4);
    }

    #[test]
    fn a_reset_keeps_what_is_in_flight() {
        let mut counters = Counters::new();
        let now = Instant::now();
        counters.arrived(now);
        counters.arrived(now);
        counters.reset();
        counters.ended(Ending::Status(500), now);
        let stats = counters.snapshot(None);
        assert_eq!((stats.requests, stats.in_flight, stats.max_in_flight), (0, 1, 2));
        assert_eq!(stats.by_status, BTreeMap::from([(500, 1)]));
    }
}
