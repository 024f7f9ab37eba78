//! The one ordered line in which attempts wait for the wire.
//!
//! First come, first served, and who was refused has come before whoever was not sent yet. Only the
//! attempt at the head asks for room (concurrency, pause, limits), takes all it needs at once, and leaves;
//! those behind it sleep without a timer. So a large one cannot be starved by small ones, and thousands of
//! waiters cost as much as one.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, timeout},
};

use crate::domain::{Demand, LimitDimension, LimitReport, LiveLimits, PauseRecord};

use super::{
    LearntLimits, QueueSettings,
    concurrency::{Concurrency, ConcurrencyStep},
    limiter::{Limiter, Taken, Used},
    pause::Pause,
};

/// The line and what its head asks.
#[derive(Debug)]
pub(super) struct Line {
    /// One permit each, which tokio hands on in order of arrival. Whoever has `head` is at the head of
    /// the line; a first attempt needs `door` before it may stand in it, so that at most one of them is
    /// ever ahead of a repeated one.
    door: Semaphore,
    head: Semaphore,
    /// Tells the head that it may be worth asking again.
    changed: Notify,
    room: Mutex<Room>,
}

#[derive(Debug)]
struct Room {
    in_flight: u32,
    concurrency: Concurrency,
    pause: Pause,
    limiter: Limiter,
    /// Whether the user lets nothing new start.
    held: bool,
    /// Whether the others on a shared account have yet to leave room.
    joining: bool,
    most_members: u32,
    began: Instant,
    /// The newest pauses.
    pauses: VecDeque<PauseRecord>,
}

/// How many pauses are kept.
const PAUSES: usize = 1_000;

/// Where an attempt stands in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A call's first attempt: behind all others.
    First,
    /// A repeated one: before all first attempts.
    Again,
}

/// How a line stands at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineStatus {
    pub(super) in_flight: u32,
    pub(super) concurrency_limit: u32,
    pub(super) paused_for: Option<Duration>,
}

impl Line {
    pub(super) fn new(settings: &QueueSettings, seed: u64) -> Self {
        let room = Room {
            in_flight: 0,
            concurrency: Concurrency::new(Instant::now(), settings.limits.max_in_flight),
            pause: Pause::new(seed),
            limiter: Limiter::new(settings.limits.clone()),
            held: false,
            joining: false,
            most_members: 0,
            began: Instant::now(),
            pauses: VecDeque::new(),
        };
        Self {
            door: Semaphore::new(1),
            head: Semaphore::new(1),
            changed: Notify::new(),
            room: Mutex::new(room),
        }
    }

    /// Waits for its turn and for room, and takes what `demand` says. Dropping the future before
    /// that takes nothing.
    pub(super) async fn pass(&self, order: Order, demand: Demand) -> Place<'_> {
        let _door = match order {
            Order::First => Some(self.door.acquire().await.expect("the door is never closed")),
            Order::Again => None,
        };
        let _head = self.head.acquire().await.expect("the line is never closed");
        loop {
            let now = Instant::now();
            let entered = self.room().enter(now, demand);
            match entered {
                Ok(taken) => return Place { line: self, taken, used: Used::Unknown, sent_at: now },
                // Whether the time is over or something has changed: ask again.
                Err(Wait::For(wait)) => drop(timeout(wait, self.changed.notified()).await),
                Err(Wait::ForChange) => self.changed.notified().await,
            }
        }
    }

    /// Holds back everything new for `wait`; whether that is news.
    pub(super) fn pause(&self, wait: Duration) -> bool {
        self.room().begin_pause(wait, false)
    }

    /// The same since another process on the account was told to wait.
    pub(super) fn pause_with_others(&self, wait: Duration) -> bool {
        self.room().begin_pause(wait, true)
    }

    /// Takes in what a response's headers say about limits; whether that was new.
    pub(super) fn learn(&self, report: &LimitReport) -> bool {
        if report.readings.is_empty() {
            return false;
        }
        let mut room = self.room();
        let news = room.limiter.learn(report);
        let requests = report.readings.iter().find(|reading| reading.dimension == LimitDimension::Requests);
        if let Some(remaining) = requests.and_then(|reading| reading.remaining) {
            room.concurrency.told(Instant::now(), remaining);
        }
        drop(room);
        self.changed.notify_one();
        news
    }

    /// Begins with so many on the wire, which the account is known to take.
    pub(super) fn start_at(&self, limit: u32) {
        self.room().concurrency.start_at(Instant::now(), limit);
    }

    /// Lets nothing new start, or lets it start again.
    pub(super) fn hold(&self, held: bool) {
        self.room().held = held;
        self.changed.notify_one();
    }

    /// Keeps to other ceilings from now on.
    pub(super) fn set_limits(&self, limits: &LiveLimits) {
        let mut room = self.room();
        room.limiter.set_limits(limits);
        if let Some(max) = limits.max_in_flight {
            room.concurrency.set_max(Instant::now(), max);
        }
        drop(room);
        self.changed.notify_one();
    }

    /// Keeps to one of `members` equal shares of the account. While `joining`, nothing starts: the
    /// others have yet to leave room.
    pub(super) fn share(&self, members: u32, joining: bool) {
        let mut room = self.room();
        let drained = joining || room.joining;
        room.joining = joining;
        room.most_members = room.most_members.max(members);
        room.limiter.share(members, drained);
        drop(room);
        self.changed.notify_one();
    }

    /// Whether the others on a shared account have yet to leave room.
    pub(super) fn is_joining(&self) -> bool {
        self.room().joining
    }

    /// Whether any limit a minute is known.
    pub(super) fn has_rates(&self) -> bool {
        self.room().limiter.has_rates()
    }

    /// The newest pauses, and the most processes that shared the account.
    pub(super) fn history(&self) -> (Vec<PauseRecord>, u32) {
        let room = self.room();
        (room.pauses.iter().copied().collect(), room.most_members)
    }

    pub(super) fn learnt(&self) -> LearntLimits {
        self.room().limiter.learnt()
    }

    pub(super) fn concurrency_history(&self) -> Vec<ConcurrencyStep> {
        self.room().concurrency.history()
    }

    pub(super) fn status(&self) -> LineStatus {
        let room = self.room();
        let now = Instant::now();
        LineStatus {
            in_flight: room.in_flight,
            concurrency_limit: room.concurrency.limit(),
            paused_for: room.pause.until(now).map(|until| until - now),
        }
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the head of the line waits for.
enum Wait {
    For(Duration),
    /// For an attempt to come back.
    ForChange,
}

impl Room {
    fn begin_pause(&mut self, wait: Duration, shared: bool) -> bool {
        let now = Instant::now();
        let crowd = self.concurrency.limit();
        let news = self.pause.begin(now, wait, crowd);
        if news {
            if self.pauses.len() == PAUSES {
                self.pauses.pop_front();
            }
            let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            let (at_ms, wait_ms) = (millis(now - self.began), millis(wait));
            self.pauses.push_back(PauseRecord { at_ms, wait_ms, shared });
        }
        news
    }

    fn enter(&mut self, now: Instant, demand: Demand) -> Result<Taken, Wait> {
        if self.held || self.joining || self.in_flight >= self.concurrency.limit() {
            return Err(Wait::ForChange);
        }
        if let Some(wait) = self.pause.wait(now) {
            return Err(Wait::For(wait));
        }
        let taken = self.limiter.take(demand).map_err(Wait::For)?;
        self.in_flight += 1;
        self.pause.started(now);
        Ok(taken)
    }
}

/// An attempt's place on the wire. Dropped, it is free again, and what was taken is settled with what is
/// known to be used: nothing stays taken, however the attempt ended.
#[derive(Debug)]
pub(super) struct Place<'a> {
    line: &'a Line,
    taken: Taken,
    used: Used,
    sent_at: Instant,
}

impl Place<'_> {
    /// The attempt has ended, having used what `used` says.
    pub(super) fn note_used(&mut self, used: Used) {
        self.used = used;
    }

    /// The attempt was answered.
    pub(super) fn answered(self) {
        let now = Instant::now();
        let mut room = self.line.room();
        let in_flight = room.in_flight;
        room.concurrency.answered(now, now - self.sent_at, in_flight);
    }

    /// The attempt was refused for being too much. Whether that is a new episode.
    pub(super) fn refused(self) -> bool {
        self.line.room().concurrency.refused(Instant::now(), self.sent_at)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut room = self.line.room();
        room.limiter.settle(self.taken, self.used);
        room.in_flight -= 1;
        drop(room);
        self.line.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Limits;
    use super::*;

    fn line(limits: Limits) -> Arc<Line> {
        Arc::new(Line::new(&QueueSettings { limits, ..QueueSettings::default() }, 1))
    }

    /// Starts `demands` in order and returns when each went, in milliseconds, in order of starting.
    async fn starts(line: &Arc<Line>, demands: impl IntoIterator<Item = Demand>) -> Vec<(usize, u128)> {
        let origin = Instant::now();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for (index, demand) in demands.into_iter().enumerate() {
            let (line, sender) = (line.clone(), sender.clone());
            tokio::spawn(async move {
                let _place = line.pass(Order::First, demand).await;
                sender.send((index, origin.elapsed().as_millis())).unwrap();
            });
        }
        drop(sender);
        let mut starts = vec![];
        while let Some(start) = receiver.recv().await {
            starts.push(start);
        }
        starts
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_in_the_room_takes_nobody_else_with_it() {
        let line = line(Limits { max_in_flight: 1, ..Limits::default() });
        let place = line.pass(Order::First, Demand::default()).await;
        let held = Arc::clone(&line);
        let panicked = std::thread::spawn(move || {
            let _room = held.room.lock().unwrap();
            panic!("as arithmetic that overflows would");
        });
        assert!(panicked.join().is_err());
        drop(place);
        drop(line.pass(Order::First, Demand::default()).await);
    }

    #[tokio::test(start_paused = true)]
    async fn thousands_wait_in_order_and_none_is_early_or_late() {
        let line = line(Limits { requests_per_minute: Some(6_000), ..Limits::default() });
        let starts = starts(&line, vec![Demand::default(); 5_000]).await;
        assert_eq!(starts.len(), 5_000);
        for (place, (index, at_ms)) in starts.into_iter().enumerate() {
            assert_eq!(index, place);
            // Nine tenths of a second's hundred go at once.
            let ideal_ms = 10 * u128::try_from(place.saturating_sub(89)).unwrap();
            assert!(at_ms.abs_diff(ideal_ms) <= 2, "{place} at {at_ms} ms, ideally {ideal_ms}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_trial_is_not_overtaken_by_small_ones() {
        let line = line(Limits { input_tokens_per_minute: Some(60_000), ..Limits::default() });
        let demand = |input| Demand { input, output: 0 };
        let sizes = [1_000, 30_000, 10, 10].map(demand);
        assert_eq!(starts(&line, sizes).await, [(0, 0), (1, 1_000), (2, 30_010), (3, 30_020)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_repeated_attempt_goes_before_first_ones() {
        let line = line(Limits { requests_per_minute: Some(60), ..Limits::default() });
        drop(line.pass(Order::First, Demand::default()).await);
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        for (index, order) in [Order::First, Order::First, Order::Again].into_iter().enumerate() {
            let (line, sender) = (line.clone(), sender.clone());
            tokio::spawn(async move {
                drop(line.pass(order, Demand::default()).await);
                sender.send(index).unwrap();
            });
        }
        drop(sender);
        let mut order = vec![];
        while let Some(index) = receiver.recv().await {
            order.push(index);
        }
        // The first of them was at the head already.
        assert_eq!(order, [0, 2, 1]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_dropped_lets_the_next_one_in() {
        let line = line(Limits { max_in_flight: 1, ..Limits::default() });
        let place = line.pass(Order::First, Demand::default()).await;
        let origin = Instant::now();
        let waiting = tokio::spawn({
            let line = line.clone();
            async move {
                drop(line.pass(Order::First, Demand::default()).await);
                origin.elapsed()
            }
        });
        let given_up = timeout(Duration::from_secs(1), line.pass(Order::First, Demand::default())).await;
        assert!(given_up.is_err());
        assert_eq!(line.status().in_flight, 1);
        drop(place);
        assert_eq!(waiting.await.unwrap(), Duration::from_secs(1));
        assert_eq!(line.status().in_flight, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_that_come_back_wake_the_head() {
        let line = line(Limits {
            output_tokens_per_minute: Some(600),
            output_reserved: true,
            burst_s: 60.0,
            ..Limits::default()
        });
        let demand = Demand { input: 0, output: 600 };
        let mut place = line.pass(Order::First, demand).await;
        let origin = Instant::now();
        let waiting = tokio::spawn({
            let line = line.clone();
            async move {
                drop(line.pass(Order::First, demand).await);
                origin.elapsed()
            }
        });
        tokio::time::sleep(Duration::from_secs(3)).await;
        place.note_used(Used::InputOnly);
        drop(place);
        assert_eq!(waiting.await.unwrap(), Duration::from_secs(3));
    }
}
