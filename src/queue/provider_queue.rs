//! The queue itself: takes a call to its end through limits, pauses, retries and refusals.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    time::{Instant, sleep, timeout},
};

use crate::{
    domain::{
        AskerPos, Attempt, AttemptEnd, Begun, Call, ErrorClass, Failure, FailureKind, LimitReport, Outcome,
        ProviderName, Purpose, Reply, RunEvent, Settled, Settlement, StopReason, Tariff, UnixMillis, Walk,
    },
    providers::{Provider, Rejection},
};

use super::{
    ConcurrencyStep, LearntLimits, QueueSettings,
    breaker::Breaker,
    halt::{Halted, Halts},
    limiter::Used,
    line::{Line, Order, Place},
    retry::Backoff,
    shared_account::Membership,
};

/// What a caller lends the queue for one call.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Asked after each failed attempt that would be repeated, with that attempt; where it says no, the
    /// call is postponed.
    pub may_repeat: &'a (dyn Fn(&Attempt) -> bool + Send + Sync),
    /// Told when a streamed answer begins.
    pub begun: &'a Begun,
}

impl Hooks<'_> {
    /// Everything may be repeated, and nobody listens.
    pub const NONE: Hooks<'static> = Hooks { may_repeat: &|_| true, begun: &Begun::NOBODY };
}

/// Everything between a call and the wire for one rate-limited account.
///
/// Any number of calls may be handed over at once; they are sent in the order of their coming.
pub struct ProviderQueue {
    pub(super) name: ProviderName,
    provider: Box<dyn Provider>,
    pub(super) settings: QueueSettings,
    pub(super) line: Line,
    halts: Halts,
    breaker: Mutex<Breaker>,
    events: UnboundedSender<RunEvent>,
    /// The ceiling over what is on the wire, as it stands now.
    pub(super) max_in_flight: watch::Sender<u32>,
    /// Its place among the processes that share the account.
    pub(super) membership: OnceLock<Arc<Membership>>,
}

impl fmt::Debug for ProviderQueue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ProviderQueue({})", self.name)
    }
}

/// How a queue stands at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueStatus {
    /// Requests on the wire.
    pub in_flight: u32,
    /// How many may be there at once just now.
    pub concurrency_limit: u32,
    /// How long the whole queue still pauses.
    pub paused_for: Option<Duration>,
    /// Why it has stopped, if it has.
    pub stopped: Option<StopReason>,
}

impl ProviderQueue {
    /// A queue before `provider`; `seed` draws the gaps after a pause. What happens is told to
    /// `events`: attempts, their failures, and pauses. `settings` must have no faults.
    pub fn new(
        name: ProviderName,
        provider: Box<dyn Provider>,
        settings: QueueSettings,
        seed: u64,
        events: UnboundedSender<RunEvent>,
    ) -> Self {
        Self {
            name,
            provider,
            line: Line::new(&settings, seed),
            halts: Halts::default(),
            breaker: Mutex::new(Breaker::new(&settings)),
            max_in_flight: watch::Sender::new(settings.limits.max_in_flight),
            membership: OnceLock::new(),
            settings,
            events,
        }
    }

    /// Takes one call to its end, whatever it takes, unless the queue or its asker stops.
    ///
    /// Dropping the future before its first request takes nothing.
    pub async fn settle(&self, call: &Call, hooks: Hooks<'_>) -> Settlement {
        let mut own_time = call.walk.took;
        let seed = call.seed.wrapping_add(u64::from(call.first_attempt));
        let mut backoff = Backoff::new(self.settings.retry, seed, call.walk);
        let mut attempts: Vec<Attempt> = vec![];
        let mut queue_wait_ms = 0.0;
        let mut retry = Retry::of(call.walk);
        loop {
            let waiting_since = Instant::now();
            let order = if backoff.retries() == 0 { Order::First } else { Order::Again };
            let Ok(place) = self.place(call, retry.wait, order).await else {
                return Settlement::Returned { attempts };
            };
            let waited = waiting_since.elapsed();
            backoff.exclude(waited.saturating_sub(retry.own_wait));
            let backoff_ms = match order {
                Order::First => {
                    queue_wait_ms = millis(waited);
                    0.0
                }
                Order::Again => millis(waited),
            };

            let made = u32::try_from(attempts.len()).unwrap_or(u32::MAX);
            let number = call.first_attempt.saturating_add(made);
            self.tell(RunEvent::Sent { provider: self.name.clone(), call: call.purpose, attempt: number });
            let started_at = UnixMillis::now();
            let sent = Instant::now();
            let left = self.settings.trial_timeout().map(|limit| limit.saturating_sub(own_time));
            let answer = self.send(call, hooks.begun, left).await;
            let took = sent.elapsed();
            own_time += took;
            let left = left.map(|left| left.saturating_sub(took));
            let duration_ms = millis(took);
            attempts.push(record(number, started_at, duration_ms, backoff_ms, &answer));

            let end = match answer {
                Ok(reply) => {
                    self.answered(place, &reply);
                    Ok((reply, duration_ms))
                }
                Err(rejection) => {
                    let mut next = self.failed(place, call, &rejection, &mut backoff, left);
                    if let Next::Retry(retry) = next
                        && !attempts.last().is_some_and(hooks.may_repeat)
                    {
                        next = Next::Postpone(retry);
                    }
                    self.tell_failure(call, number, &rejection.failure, &next);
                    match next {
                        Next::Retry(next) => {
                            own_time += next.own_wait;
                            retry = next;
                            continue;
                        }
                        Next::Postpone(next) => {
                            let walk = next.walk(&backoff, own_time);
                            return Settlement::Postponed { attempts, walk };
                        }
                        Next::Return => return Settlement::Returned { attempts },
                        Next::GiveUp => Err(rejection.failure),
                    }
                }
            };
            return Settlement::Ended(Box::new(settled(end, attempts, queue_wait_ms)));
        }
    }

    /// Stops the queue: nothing new starts, all that wait return at once, what is in flight goes on.
    pub fn stop(&self, reason: StopReason) {
        if self.halts.stop_queue(reason) {
            tracing::info!(provider = %self.name, "the queue stops; why is told at the end of the run");
        }
    }

    /// Stops the queue at once: beside that, what is in flight ends as a cancelled attempt, which may be
    /// billed.
    pub fn cancel(&self, reason: StopReason) {
        self.stop(reason);
        self.halts.cancel();
    }

    /// Why the queue has stopped, if it has.
    pub fn stopped(&self) -> Option<StopReason> {
        self.halts.queue()
    }

    /// The provider's words at which an asker stopped, if it has.
    pub fn asker_stopped(&self, asker: AskerPos) -> Option<Failure> {
        self.halts.asker(asker)
    }

    /// How the queue stands.
    pub fn status(&self) -> QueueStatus {
        let line = self.line.status();
        QueueStatus {
            in_flight: line.in_flight,
            concurrency_limit: line.concurrency_limit,
            paused_for: line.paused_for,
            stopped: self.stopped(),
        }
    }

    /// Takes in limits told by a response that did not come through this queue's own calls.
    pub fn learn(&self, report: &LimitReport) {
        self.take_in(report);
    }

    /// The limits that the server's headers have told so far.
    pub fn learnt(&self) -> LearntLimits {
        self.line.learnt()
    }

    /// How the concurrency limit came about: its newest thousand changes.
    pub fn concurrency_history(&self) -> Vec<ConcurrencyStep> {
        self.line.concurrency_history()
    }

    /// The provider behind the queue.
    pub fn provider(&self) -> &dyn Provider {
        &*self.provider
    }

    async fn place(&self, call: &Call, wait: Duration, order: Order) -> Result<Place<'_>, Halted> {
        let room = async {
            if !wait.is_zero() {
                sleep(wait).await;
            }
            self.line.pass(order, call.demand).await
        };
        self.halts.unless_halted(call.asker, room).await
    }

    /// Sends once, within the attempt's limit and what is `left` of the trial's.
    async fn send(&self, call: &Call, begun: &Begun, left: Option<Duration>) -> Result<Reply, Rejection> {
        let limit = self.settings.attempt_timeout();
        let limit = left.map_or(limit, |left| limit.min(left));
        tokio::select! {
            biased;
            sent = timeout(limit, self.provider.send(&call.outgoing, begun)) => {
                sent.unwrap_or_else(|_| Err(timed_out(limit)))
            }
            () = self.halts.cancelled() => Err(cancelled()),
        }
    }

    fn answered(&self, mut place: Place<'_>, reply: &Reply) {
        self.take_in(&reply.limits);
        place.note_used(reply.metered.usage.map_or(Used::Unknown, Used::Counted));
        place.answered();
        self.breaker().succeeded();
    }

    /// What follows from a failed attempt. Stops come before the place is given up, so that no
    /// waiting trial slips into it.
    fn failed(
        &self,
        mut place: Place<'_>,
        call: &Call,
        rejection: &Rejection,
        backoff: &mut Backoff,
        left: Option<Duration>,
    ) -> Next {
        let failure = &rejection.failure;
        self.take_in(&rejection.limits);
        place.note_used(used_by(rejection));
        match failure.class {
            ErrorClass::StopQueue => {
                self.stop(StopReason::QueueRefused { provider: self.name.clone(), failure: failure.clone() });
                Next::Return
            }
            ErrorClass::StopTarget => {
                if self.halts.stop_asker(call.asker, failure.clone()) {
                    tracing::info!(provider = %self.name, asker = %call.asker, %failure, "an asker stops");
                }
                Next::Return
            }
            // It says nothing of the provider: no breaker opens, no retry follows.
            ErrorClass::Retry if failure.kind == FailureKind::Cancelled => Next::GiveUp,
            ErrorClass::ThisTrial => {
                // A case that is too large says nothing about its neighbours.
                if !matches!(failure.kind, FailureKind::ContextTooLong | FailureKind::TooLarge) {
                    self.count_failure(call.purpose, failure, true);
                }
                Next::GiveUp
            }
            ErrorClass::Retry | ErrorClass::RetrySlow => self.retry(place, call, rejection, backoff, left),
        }
    }

    fn retry(
        &self,
        place: Place<'_>,
        call: &Call,
        rejection: &Rejection,
        backoff: &mut Backoff,
        left: Option<Duration>,
    ) -> Next {
        let failure = &rejection.failure;
        let asked = failure.retry_after.filter(|asked| !asked.is_zero());
        if let Some(wait) = asked.filter(|asked| *asked > self.settings.max_wait()) {
            let millis = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
            let until = UnixMillis(UnixMillis::now().0.saturating_add(millis));
            self.stop(StopReason::WaitTooLong { provider: self.name.clone(), wait, until });
            return Next::Return;
        }
        // No attempt could end within the trial's time after a longer wait.
        let own_wait = backoff.next().filter(|wait| left.is_none_or(|left| *wait < left));
        // A server without capacity is passing trouble like any other 5xx: unless it names a wait, it
        // neither pauses the queue nor shrinks its concurrency. Pressure on a limit does both.
        let slow = failure.class == ErrorClass::RetrySlow && failure.kind == FailureKind::RateLimit;
        let base = Duration::from_millis(self.settings.retry.base_delay_ms);
        let pause = asked.or_else(|| slow.then(|| own_wait.unwrap_or(base)));
        // Before the place is given up, so that the next one in line already meets the pause.
        if let Some(wait) = pause
            && self.line.pause(wait)
        {
            self.paused(wait);
        }
        // Refusals of one episode are one piece of news.
        let is_news = !slow || place.refused();
        if is_news {
            self.count_failure(call.purpose, failure, own_wait.is_none());
        }
        let Some(own_wait) = own_wait else { return Next::GiveUp };
        if self.halts.check(call.asker).is_err() {
            return Next::Return;
        }
        Next::Retry(Retry { wait: own_wait.max(asked.unwrap_or_default()), own_wait })
    }

    /// Tells the display and the log that an attempt failed, and what follows.
    fn tell_failure(&self, call: &Call, attempt: u32, failure: &Failure, next: &Next) {
        let retry_in = match next {
            Next::Retry(retry) => Some(retry.wait),
            Next::Postpone(_) | Next::GiveUp | Next::Return => None,
        };
        if let Some(wait) = retry_in {
            tracing::info!(provider = %self.name, %failure, ?wait, "an attempt failed and will be repeated");
        }
        let (provider, failure) = (self.name.clone(), failure.clone());
        self.tell(RunEvent::AttemptFailed { provider, call: call.purpose, attempt, failure, retry_in });
    }

    fn count_failure(&self, purpose: Purpose, failure: &Failure, lost: bool) {
        let opened = self.breaker().failed(purpose, Instant::now(), lost);
        if let Some(failures) = opened {
            let provider = self.name.clone();
            self.stop(StopReason::Breaker { provider, failures, failure: failure.clone() });
        }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the display, the log and the other processes of the account that the queue pauses.
    fn paused(&self, wait: Duration) {
        tracing::info!(provider = %self.name, ?wait, "the queue pauses");
        self.tell(RunEvent::Paused { provider: self.name.clone(), wait });
        let Some(membership) = self.membership.get().cloned() else { return };
        let name = self.name.clone();
        // Files are no business of the threads that wait for answers.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = membership.tell_pause(wait) {
                tracing::warn!(provider = %name, %error, "the account's other processes cannot be told");
            }
        });
    }

    fn take_in(&self, report: &LimitReport) {
        if self.line.learn(report) {
            tracing::info!(provider = %self.name, learnt = ?self.line.learnt(), "limits learnt from headers");
        }
    }

    pub(super) fn tell(&self, event: RunEvent) {
        // Nobody has to listen.
        let _ = self.events.send(event);
    }
}

/// What follows from a failed attempt.
enum Next {
    Retry(Retry),
    /// The same, once its caller hands it over again.
    Postpone(Retry),
    /// The trial has failed.
    GiveUp,
    /// The trial goes back to pending.
    Return,
}

/// The wait before an attempt.
#[derive(Clone, Copy)]
struct Retry {
    wait: Duration,
    /// The part of it that is the trial's own back-off, and not yet counted.
    own_wait: Duration,
}

impl Retry {
    /// What is left to wait for a call that was postponed.
    fn of(walk: Walk) -> Self {
        let now = Instant::now().into_std();
        let wait = walk.not_before.map_or(Duration::ZERO, |instant| instant.saturating_duration_since(now));
        Self { wait, own_wait: Duration::ZERO }
    }

    /// How far a call is that is postponed before this wait, having taken `own_time`.
    fn walk(self, backoff: &Backoff, own_time: Duration) -> Walk {
        Walk {
            retries: backoff.retries(),
            took: own_time + self.own_wait,
            not_before: Some((Instant::now() + self.wait).into_std()),
        }
    }
}

/// What is kept of one attempt. A reply does not tell its HTTP status, and recorded ones have none.
fn record(
    number: u32,
    started_at: UnixMillis,
    duration_ms: f64,
    backoff_ms: f64,
    answer: &Result<Reply, Rejection>,
) -> Attempt {
    let (end, status, request_id, metered, stderr) = match answer {
        Ok(reply) => (AttemptEnd::Answered, None, &reply.request_id, &reply.metered, &reply.stderr),
        Err(Rejection { failure, request_id, metered, stderr, .. }) => {
            (AttemptEnd::Failed(failure.clone()), failure.status, request_id, metered, stderr)
        }
    };
    let (request_id, metered, stderr) = (request_id.clone(), metered.clone(), stderr.clone());
    Attempt {
        number,
        started_at,
        duration_ms,
        backoff_ms,
        end,
        status,
        request_id,
        metered,
        cost: answer.as_ref().ok().and_then(|reply| reply.reported_cost),
        price: None,
        tariff: Tariff::Standard,
        stderr,
    }
}

fn settled(end: Result<(Reply, f64), Failure>, attempts: Vec<Attempt>, queue_wait_ms: f64) -> Settled {
    let backoff_wait_ms = attempts.iter().map(|attempt| attempt.backoff_ms).sum();
    let started_at = attempts.first().map_or_else(UnixMillis::now, |attempt| attempt.started_at);
    let finished_at = UnixMillis::now();
    let failed = Settled {
        outcome: Outcome::Failed,
        failure: None,
        reply: None,
        attempts,
        latency_ms: None,
        first_token_ms: None,
        queue_wait_ms,
        backoff_wait_ms,
        started_at,
        finished_at,
    };
    match end {
        Ok((reply, took_ms)) => Settled {
            outcome: reply.outcome,
            latency_ms: reply.latency.or_measured(took_ms),
            first_token_ms: reply.first_token_ms,
            reply: Some(reply),
            ..failed
        },
        Err(failure) if failure.kind == FailureKind::Cancelled => {
            Settled { outcome: Outcome::Cancelled, ..failed }
        }
        Err(failure) => Settled { failure: Some(failure), ..failed },
    }
}

fn used_by(rejection: &Rejection) -> Used {
    match (rejection.metered.usage, rejection.failure.kind) {
        (Some(usage), _) => Used::Counted(usage),
        (None, FailureKind::Connect) => Used::Nothing,
        (None, _) if rejection.failure.may_be_billed => Used::Unknown,
        (None, _) => Used::InputOnly,
    }
}

fn timed_out(limit: Duration) -> Rejection {
    let message = format!("no answer within {} s", limit.as_secs_f64());
    Rejection::from(Failure {
        may_be_billed: true,
        ..Failure::new(ErrorClass::Retry, FailureKind::Timeout, message)
    })
}

/// What was on its way when the user stopped everything: nobody knows how far it got.
fn cancelled() -> Rejection {
    Rejection::from(Failure {
        may_be_billed: true,
        ..Failure::new(ErrorClass::Retry, FailureKind::Cancelled, "stopped on its way")
    })
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests;
