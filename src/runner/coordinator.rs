//! The coordinator: one loop that owns a run's state, makes one event at a time and handles it.
//!
//! A trial's way: planned → handed to its queue → ended → stored → graded → score stored. Grading
//! waits for the store's word that the answer is committed, so that no broken grader can lose it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout_at,
};

use super::{
    budget::{Admission, Budget, Reservation, SharedBudget},
    early_stop::EarlyStop,
    grading::{Graded, GradingPool, Ungraded},
    plan::{Cursor, PlannedTrial, TrialPlan},
    pricing,
    warm_up::{Entry, Prefix, WarmUp},
};
use crate::{
    config::Experiment,
    domain::{
        AskerPos, Attempt, Begun, CasePos, Cost, Outcome, ProviderName, Question, RunEvent, RunRow,
        RunStatus, Settlement, StopReason, TargetPos, TrialKey, TrialRecord, UnixMillis, Verdict,
    },
    queue::{Hooks, ProviderQueue},
    store::{RequestHash, Reusable, Store, StoreError, StoreWriter, Write},
};

/// How long what flies may take to end once everything is to stop at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// How far the user wants a run to go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shutdown {
    /// To its end.
    #[default]
    No,
    /// Start nothing new, finish what is in flight.
    Drain,
    /// Stop now; what is in flight is cancelled.
    Now,
}

/// What a run needs from outside.
#[derive(Debug)]
pub struct RunParts {
    /// The run's row in the store.
    pub run: RunRow,
    /// What is asked.
    pub experiment: Arc<Experiment>,
    /// Which trials are still to do.
    pub plan: TrialPlan,
    /// One queue an account, in the order of the settings.
    pub queues: Vec<Arc<ProviderQueue>>,
    /// The comparisons that may end the run early.
    pub early_stop: Option<EarlyStop>,
    /// What the run has spent before, in earlier sessions.
    pub spent: Cost,
    /// The store to look for earlier answers in, where a target uses them again.
    pub earlier: Option<Store>,
    /// Failed trials of earlier sessions that are not asked again.
    pub failed: u64,
    /// Where trials are stored.
    pub writer: StoreWriter,
    /// The writer's word on what is committed.
    pub committed: mpsc::UnboundedReceiver<Vec<TrialKey>>,
    /// Where to tell what happens.
    pub events: mpsc::UnboundedSender<RunEvent>,
}

/// How a session of a run ended.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Where the run stands now.
    pub status: RunStatus,
    /// Why it stopped early, if it did; each reason once.
    pub stops: Vec<StopReason>,
    /// Trials that ended in this session.
    pub ended: u64,
    /// Trials that failed, those of earlier sessions included.
    pub failed: u64,
    /// Trials still to do.
    pub pending: u64,
    /// How long the session took.
    pub wall: Duration,
}

/// Why a session of a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store failed: the store is the product, so the run ends.
    #[error("the store failed while the run went on")]
    Store(#[from] StoreError),
    /// A trial's task panicked.
    #[error("a trial's task failed: {0}")]
    Task(String),
}

/// Runs every trial of the plan that is not done and returns how it went.
///
/// `shutdown` says how far the user wants it to go on.
///
/// # Errors
/// The store failed, or a task panicked. What was committed stays.
pub async fn run(parts: RunParts, shutdown: watch::Receiver<Shutdown>) -> Result<RunSummary, RunError> {
    let mut coordinator = Coordinator::new(parts);
    let result = coordinator.work(shutdown).await;
    coordinator.tasks.shutdown().await;
    let Coordinator { run, writer, progress, stops, plan, lanes, .. } = coordinator;
    let summary = progress.summary(stops, &plan);
    if result.is_ok() {
        let stop_reason = summary.stops.first().map(StopReason::to_string);
        let records = lanes.iter().map(|lane| lane.queue.record()).collect();
        writer.send(Write::Queues { run, records }).await?;
        writer.send(Write::Status { run, status: summary.status, stop_reason }).await?;
    }
    // The writer's thread has at most its channel left to write: blocking for that is meant.
    writer.finish()?;
    result?;
    Ok(summary)
}

/// A trial that was handed to its queue.
struct Flight {
    planned: PlannedTrial,
    queue: usize,
    /// What identifies its request, where answers may be used again.
    hash: Option<RequestHash>,
    /// Its prefix in the provider's cache, where the target asks for one.
    prefix: Option<Prefix>,
    landing: Landing,
}

/// Where a trial's end came from.
enum Landing {
    /// Its queue.
    Queue(Settlement, Reservation),
    /// An earlier run.
    Earlier(Box<Reusable>),
}

/// What is known of one account's trials.
struct Lane {
    name: ProviderName,
    queue: Arc<ProviderQueue>,
    cursor: Cursor,
    /// A trial taken from the cursor that the budget did not yet admit.
    held: Option<PlannedTrial>,
    /// Trials that came back since the budget has no room to repeat them yet.
    again: Vec<PlannedTrial>,
    /// Trials that wait until a prefix they share is in the provider's cache.
    warm_up: WarmUp,
    /// Trials handed to the queue.
    in_flight: usize,
    /// Trials that ended and are not yet committed.
    uncommitted: usize,
    exhausted: bool,
}

impl Lane {
    /// A few more trials than fit on the wire stand ready, so that a place is never empty; sent and
    /// not yet committed are never more than twice the wire's.
    fn has_room(&self) -> bool {
        let max_in_flight = self.queue.max_in_flight() as usize;
        let ready = max_in_flight + max_in_flight.div_ceil(4).min(16);
        !self.exhausted
            && self.in_flight < ready
            && self.in_flight + self.uncommitted < 2 * max_in_flight.max(1)
    }
}

struct Progress {
    started: Instant,
    ended: u64,
    failed: u64,
    interrupted: bool,
    over_budget: bool,
    decided: bool,
}

impl Progress {
    fn summary(&self, stops: Vec<StopReason>, plan: &TrialPlan) -> RunSummary {
        let refused = stops.iter().any(|stop| {
            matches!(
                stop,
                StopReason::QueueRefused { .. }
                    | StopReason::TargetRefused { .. }
                    | StopReason::Breaker { .. }
            )
        });
        let pending = plan.pending();
        let status = if self.interrupted && pending > 0 {
            RunStatus::Interrupted
        } else if refused {
            RunStatus::Refused
        } else if self.over_budget {
            RunStatus::Budget
        } else if self.decided && self.failed == 0 {
            RunStatus::Complete
        } else if pending > 0 || self.failed > 0 {
            RunStatus::Incomplete
        } else {
            RunStatus::Complete
        };
        RunSummary {
            status,
            stops,
            ended: self.ended,
            failed: self.failed,
            pending,
            wall: self.started.elapsed(),
        }
    }
}

struct Coordinator {
    run: RunRow,
    experiment: Arc<Experiment>,
    plan: TrialPlan,
    lanes: Vec<Lane>,
    budget: SharedBudget,
    earlier: Option<Store>,
    writer: StoreWriter,
    committed: mpsc::UnboundedReceiver<Vec<TrialKey>>,
    events: mpsc::UnboundedSender<RunEvent>,
    tasks: JoinSet<Flight>,
    /// Trials handed to their queues, and since when.
    flying: HashMap<TrialKey, UnixMillis>,
    /// Trials that ended, by key: their lane, and what to grade once they are committed.
    uncommitted: HashMap<TrialKey, (usize, Option<Ungraded>)>,
    pool: GradingPool,
    early_stop: Option<EarlyStop>,
    /// Answers that write a shared prefix and have begun: their lane and the prefix.
    begun: mpsc::UnboundedReceiver<(usize, Prefix)>,
    begins: mpsc::UnboundedSender<(usize, Prefix)>,
    stops: Vec<StopReason>,
    progress: Progress,
}

impl Coordinator {
    fn new(parts: RunParts) -> Self {
        let RunParts { run, experiment, plan, queues, early_stop, spent, earlier, failed, .. } = parts;
        let RunParts { writer, committed, events, .. } = parts;
        let order: Option<Arc<[CasePos]>> = early_stop.as_ref().map(|stop| stop.order().into());
        let lanes = queues.into_iter().enumerate().map(|(at, queue)| {
            let targets = experiment.targets.iter().enumerate().filter(|(_, target)| target.provider == at);
            let positions = targets.map(|(position, _)| TargetPos::at(position));
            let settings = &experiment.settings.providers[at];
            Lane {
                name: settings.name.clone(),
                queue,
                cursor: match &order {
                    Some(order) => Cursor::in_order(positions.collect(), Arc::clone(order)),
                    None => Cursor::new(positions.collect()),
                },
                held: None,
                again: vec![],
                warm_up: WarmUp::default(),
                in_flight: 0,
                uncommitted: 0,
                exhausted: false,
            }
        });
        let (begins, begun) = mpsc::unbounded_channel();
        Self {
            lanes: lanes.collect(),
            budget: SharedBudget::new(Budget::new(experiment.settings.max_cost, spent)),
            earlier,
            run,
            experiment,
            plan,
            writer,
            committed,
            events,
            tasks: JoinSet::new(),
            flying: HashMap::new(),
            uncommitted: HashMap::new(),
            pool: GradingPool::new(),
            early_stop,
            begun,
            begins,
            stops: vec![],
            progress: Progress {
                started: Instant::now(),
                ended: 0,
                failed,
                interrupted: false,
                over_budget: false,
                decided: false,
            },
        }
    }

    async fn work(&mut self, mut shutdown: watch::Receiver<Shutdown>) -> Result<(), RunError> {
        loop {
            self.start_trials();
            if self.is_done() {
                return Ok(());
            }
            tokio::select! {
                biased;
                Ok(()) = shutdown.changed() => {
                    let wish = *shutdown.borrow_and_update();
                    self.on_shutdown(wish).await?;
                }
                Some(flight) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    self.on_flight(flight).await?;
                    while let Some(flight) = self.tasks.try_join_next() {
                        self.on_flight(flight).await?;
                    }
                }
                Some((lane, prefix)) = self.begun.recv(), if !self.tasks.is_empty() => {
                    self.lanes[lane].warm_up.warmed(prefix);
                }
                Some(keys) = self.committed.recv(), if !self.uncommitted.is_empty() => self.on_committed(keys),
                Some(graded) = self.pool.next() => self.on_graded(graded).await?,
                else => return Ok(()),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.tasks.is_empty()
            && self.uncommitted.is_empty()
            && self.pool.is_empty()
            && self.lanes.iter().all(|lane| lane.exhausted)
    }

    fn start_trials(&mut self) {
        self.note_decision();
        if self.progress.interrupted || self.progress.over_budget || self.progress.decided {
            self.lanes.iter_mut().for_each(|lane| lane.exhausted = true);
            return;
        }
        if self.pool.is_full() {
            return;
        }
        for at in 0..self.lanes.len() {
            while self.lanes[at].has_room() {
                if let Some(reason) = self.lanes[at].queue.stopped() {
                    self.note_stop(reason);
                    self.lanes[at].exhausted = true;
                } else if !self.start_next(at) {
                    break;
                }
            }
        }
    }

    /// Hands the lane's next trial to its queue; whether one was started.
    fn start_next(&mut self, at: usize) -> bool {
        let lane = &mut self.lanes[at];
        let mut next = lane.held.take().or_else(|| lane.warm_up.released()).or_else(|| lane.again.pop());
        if next.is_none() && !lane.warm_up.is_full() {
            next = lane.cursor.next(&self.plan);
        }
        let Some(planned) = next else {
            lane.exhausted = !lane.warm_up.holds_any();
            return false;
        };
        if lane.queue.asker_stopped(asker(planned.target)).is_some() {
            lane.warm_up.forget_target(planned.target);
            self.note_halt(at, planned.target);
            return true;
        }
        let question = self.experiment.question(planned.target, planned.case, planned.repeat);
        let hash = self.experiment.request_hash(planned.target, &question);
        if let Some(reusable) = self.earlier_answer(hash.as_ref()) {
            self.take_off(planned, at);
            let landing = Landing::Earlier(Box::new(reusable));
            self.tasks.spawn(async move { Flight { planned, queue: at, hash, prefix: None, landing } });
            return true;
        }
        let Some((prefix, begun)) = self.warm(at, planned, &question) else { return true };
        let queue = Arc::clone(&self.lanes[at].queue);
        let (key, first) = (self.key(planned), planned.first_attempt);
        let call = self.experiment.call(queue.provider(), key, first, question, hash);
        // Without a price there is no budget to keep: the plan refuses a budget on unpriced models.
        let worst = call.worst.unwrap_or(Cost::ZERO);
        let admitted = self.budget.admit(worst);
        let reservation = match admitted {
            Ok(reservation) => reservation,
            Err(Admission::Granted | Admission::Later) => {
                self.lanes[at].held = Some(planned);
                return false;
            }
            Err(Admission::Never) => {
                self.progress.over_budget = true;
                let (spent, limit) = {
                    let budget = self.budget.lock();
                    (budget.spent(), budget.limit().expect("only a limit refuses"))
                };
                self.note_stop(StopReason::Budget { spent, limit });
                self.lanes.iter_mut().for_each(|lane| lane.exhausted = true);
                return false;
            }
        };
        self.take_off(planned, at);
        self.tasks.spawn(async move {
            let may_repeat = |attempt: &_| reservation.allows_repeat(attempt);
            let hooks = Hooks { may_repeat: &may_repeat, begun: &begun };
            let settlement = queue.settle(&call, hooks).await;
            Flight { planned, queue: at, hash, prefix, landing: Landing::Queue(settlement, reservation) }
        });
        true
    }

    /// Notes that a trial is under way.
    fn take_off(&mut self, planned: PlannedTrial, at: usize) {
        self.lanes[at].in_flight += 1;
        self.tell(RunEvent::Started { provider: self.lanes[at].name.clone() });
        let key = self.key(planned);
        self.flying.insert(key, UnixMillis::now());
    }

    /// The answer that an earlier run got for the same request. A store that cannot be read has none:
    /// the trial is then asked.
    fn earlier_answer(&self, hash: Option<&RequestHash>) -> Option<Reusable> {
        self.earlier.as_ref()?.find_answer(self.run, hash?).unwrap_or_else(|error| {
            tracing::warn!(%error, "an earlier answer cannot be looked for");
            None
        })
    }

    /// The trial's prefix in the provider's cache, if its target asks for one, and who is told when its
    /// answer begins; `None` when the trial was held until another has written it there.
    fn warm(
        &mut self,
        at: usize,
        planned: PlannedTrial,
        question: &Question,
    ) -> Option<(Option<Prefix>, Begun)> {
        let Some(cache) = question.parameters.cache else { return Some((None, Begun::NOBODY)) };
        let Some(part) = question.prompt.cached_prefix(&question.model, cache.at) else {
            return Some((None, Begun::NOBODY));
        };
        let prefix = Prefix { target: planned.target, part };
        let now = tokio::time::Instant::now();
        let begun = match self.lanes[at].warm_up.ask(prefix, planned, cache.lifetime.duration(), now) {
            Entry::Held => return None,
            Entry::Follow => Begun::NOBODY,
            Entry::Lead => {
                let begins = self.begins.clone();
                Begun::new(move || {
                    // The run may have ended meanwhile.
                    let _ = begins.send((at, prefix));
                })
            }
        };
        Some((Some(prefix), begun))
    }

    /// Lets those go that wait for the prefix of a trial that ended, or another one lead.
    fn note_warmth(&mut self, flight: &Flight) {
        let Some(prefix) = flight.prefix else { return };
        let Lane { queue, warm_up, .. } = &mut self.lanes[flight.queue];
        let target = flight.planned.target;
        let has_stopped = queue.stopped().is_some() || queue.asker_stopped(asker(target)).is_some();
        let Landing::Queue(settlement, _) = &flight.landing else { return };
        match settlement {
            Settlement::Ended(settled) if settled.reply.is_some() => warm_up.warmed(prefix),
            Settlement::Returned { .. } if has_stopped => warm_up.forget_target(target),
            Settlement::Ended(_) | Settlement::Returned { .. } => warm_up.failed(prefix, flight.planned),
        }
    }

    async fn on_flight(&mut self, flight: Result<Flight, tokio::task::JoinError>) -> Result<(), RunError> {
        let flight = match flight {
            Ok(flight) => flight,
            Err(error) if error.is_cancelled() => return Ok(()),
            Err(error) => return Err(RunError::Task(error.to_string())),
        };
        self.lanes[flight.queue].in_flight -= 1;
        self.flying.remove(&self.key(flight.planned));
        self.note_warmth(&flight);
        match flight.landing {
            Landing::Earlier(reusable) => {
                let key = self.key(flight.planned);
                let record = pricing::reused(key, flight.planned.first_attempt, &reusable);
                self.on_ended(flight.planned, flight.queue, record, vec![]).await?;
                self.note_asked(key, flight.hash, Some(reusable)).await
            }
            Landing::Queue(Settlement::Ended(settled), reservation) => {
                let key = self.key(flight.planned);
                let price = self.experiment.targets[flight.planned.target.index()].price.as_ref();
                let (record, attempts) = pricing::priced(key, flight.planned.first_attempt, *settled, price);
                reservation.settle(pricing::spent_on(&attempts, reservation.worst()));
                if record.outcome == Outcome::Cancelled {
                    return self.on_cancelled(record, attempts).await;
                }
                self.on_ended(flight.planned, flight.queue, record, attempts).await?;
                self.note_asked(key, flight.hash, None).await
            }
            Landing::Queue(Settlement::Returned { mut attempts }, reservation) => {
                let price = self.experiment.targets[flight.planned.target.index()].price.as_ref();
                pricing::price_attempts(&mut attempts, price);
                reservation.settle(pricing::spent_on(&attempts, reservation.worst()));
                if reservation.is_refused() {
                    let made = u32::try_from(attempts.len()).expect("retries are few");
                    let first_attempt = flight.planned.first_attempt + made;
                    let lane = &mut self.lanes[flight.queue];
                    lane.again.push(PlannedTrial { first_attempt, ..flight.planned });
                    lane.exhausted = false;
                }
                self.note_attempts(self.key(flight.planned), attempts).await?;
                self.note_halt(flight.queue, flight.planned.target);
                let provider = self.lanes[flight.queue].name.clone();
                self.tell(RunEvent::Returned { provider });
                Ok(())
            }
        }
    }

    async fn on_ended(
        &mut self,
        planned: PlannedTrial,
        lane: usize,
        record: TrialRecord,
        attempts: Vec<Attempt>,
    ) -> Result<(), RunError> {
        let key = self.key(planned);
        self.plan.mark_done(planned.target, planned.case, planned.repeat);
        self.progress.ended += 1;
        self.progress.failed += u64::from(record.outcome == Outcome::Failed);
        self.lanes[lane].uncommitted += 1;
        let ungraded = record.outcome.is_graded(&record.answer).then(|| {
            let case = &self.experiment.cases[planned.case.index()];
            Ungraded {
                key,
                answer: record.answer.clone(),
                retrieved: record.retrieved.clone(),
                case: case.clone(),
                retrieval_k: self.experiment.settings.retrieval_k,
            }
        });
        if let (None, Some(stop)) = (&ungraded, &mut self.early_stop) {
            stop.ended(key.target, key.case, None);
        }
        self.uncommitted.insert(key, (lane, ungraded));
        self.tell(RunEvent::Ended {
            provider: self.lanes[lane].name.clone(),
            outcome: record.outcome,
            cost: record.cost,
        });
        self.note_attempts(key, attempts).await?;
        self.writer.send(Write::Trial(Box::new(record))).await?;
        Ok(())
    }

    /// Records a trial that was stopped on its way. It stays to be done, and what it may have cost stays
    /// beneath it.
    async fn on_cancelled(&self, record: TrialRecord, attempts: Vec<Attempt>) -> Result<(), RunError> {
        self.note_attempts(record.key, attempts).await?;
        self.writer.send(Write::Trial(Box::new(record))).await?;
        Ok(())
    }

    async fn note_attempts(&self, key: TrialKey, attempts: Vec<Attempt>) -> Result<(), RunError> {
        for attempt in attempts {
            self.writer.send(Write::Attempt { key, attempt: Box::new(attempt) }).await?;
        }
        Ok(())
    }

    async fn note_asked(
        &self,
        key: TrialKey,
        hash: Option<RequestHash>,
        reused: Option<Box<Reusable>>,
    ) -> Result<(), RunError> {
        if let Some(hash) = hash {
            self.writer.send(Write::Asked { key, hash, reused }).await?;
        }
        Ok(())
    }

    fn on_committed(&mut self, keys: Vec<TrialKey>) {
        let mut batch = vec![];
        for key in keys {
            if let Some((lane, ungraded)) = self.uncommitted.remove(&key) {
                self.lanes[lane].uncommitted -= 1;
                batch.extend(ungraded);
            }
        }
        self.pool.grade(batch);
    }

    async fn on_graded(&mut self, graded: Vec<Graded>) -> Result<(), RunError> {
        for Graded { key, scores, verdict, retrieval } in graded {
            if let Some(stop) = &mut self.early_stop {
                let passed = (verdict != Verdict::Unscored).then_some(verdict == Verdict::Pass);
                stop.ended(key.target, key.case, passed);
            }
            self.writer.send(Write::Scores { key, scores, verdict }).await?;
            if let Some(score) = retrieval {
                self.writer.send(Write::Retrieval { key, score }).await?;
            }
        }
        Ok(())
    }

    async fn on_shutdown(&mut self, wish: Shutdown) -> Result<(), RunError> {
        if wish == Shutdown::No {
            return Ok(());
        }
        if !self.progress.interrupted {
            self.progress.interrupted = true;
            self.note_stop(StopReason::Interrupted);
            for lane in &mut self.lanes {
                lane.exhausted = true;
                lane.queue.stop(StopReason::Interrupted);
            }
        }
        if wish == Shutdown::Now { self.cancel().await } else { Ok(()) }
    }

    /// Tells the queues to stop at once: what flies ends as a cancelled attempt. What does not listen is
    /// given up after a while, and that it was there is recorded: it may have been paid.
    async fn cancel(&mut self) -> Result<(), RunError> {
        self.lanes.iter().for_each(|lane| lane.queue.cancel(StopReason::Interrupted));
        let end = tokio::time::Instant::now() + PATIENCE;
        while let Ok(Some(flight)) = timeout_at(end, self.tasks.join_next()).await {
            self.on_flight(flight).await?;
        }
        self.tasks.abort_all();
        while let Some(flight) = self.tasks.join_next().await {
            self.on_flight(flight).await?;
        }
        for (key, started_at) in std::mem::take(&mut self.flying) {
            self.writer.send(Write::Trial(Box::new(pricing::cancelled(key, started_at)))).await?;
        }
        Ok(())
    }

    fn key(&self, planned: PlannedTrial) -> TrialKey {
        TrialKey { run: self.run, target: planned.target, case: planned.case, repeat: planned.repeat }
    }

    /// Starts nothing more once every comparison is decided.
    fn note_decision(&mut self) {
        if self.progress.decided {
            return;
        }
        let Some(decisions) = self.early_stop.as_ref().and_then(EarlyStop::decided) else { return };
        self.progress.decided = true;
        let of_target = |target: TargetPos| &self.experiment.targets[target.index()].name;
        let told: Vec<String> = decisions
            .iter()
            .map(|decision| format!("`{}`: {decision}", of_target(decision.target)))
            .collect();
        let in_flight: usize = self.lanes.iter().map(|lane| lane.in_flight).sum();
        let saved = self.plan.pending().saturating_sub(in_flight as u64);
        let share = 100.0 * saved as f64 / self.plan.total().max(1) as f64;
        let summary = format!("{}; {saved} trials ({share:.0} %) were saved", told.join("; "));
        self.note_stop(StopReason::Decided { summary });
    }

    /// Notes that a lane's queue, or one of its targets, has stopped.
    fn note_halt(&mut self, lane: usize, target: TargetPos) {
        let queue = Arc::clone(&self.lanes[lane].queue);
        if let Some(reason) = queue.stopped() {
            self.note_stop(reason);
        }
        if let Some(failure) = queue.asker_stopped(asker(target)) {
            let target = self.experiment.targets[target.index()].name.clone();
            self.note_stop(StopReason::TargetRefused { target, failure });
        }
    }

    /// Notes why something stopped, once.
    fn note_stop(&mut self, reason: StopReason) {
        let same = |known: &StopReason| match (known, &reason) {
            (StopReason::TargetRefused { target: a, .. }, StopReason::TargetRefused { target: b, .. }) => {
                a == b
            }
            (known, reason) => known == reason,
        };
        // A queue that the user's interrupt stopped says nothing new.
        if self.stops.iter().any(same) {
            return;
        }
        self.tell(RunEvent::Stopped(reason.clone()));
        self.stops.push(reason);
    }

    /// The listener may be gone (`--quiet`): the run goes on.
    fn tell(&self, event: RunEvent) {
        let _ = self.events.send(event);
    }
}

/// A target asks under its own number.
fn asker(target: TargetPos) -> AskerPos {
    AskerPos(target.0)
}
