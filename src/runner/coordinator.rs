//! The coordinator: one loop that owns a run's state, takes one event at a time and handles it.
//!
//! A trial's way: planned → made → handed to a lane → landed → stored → graded → score stored. Grading
//! waits for the store's word that the answer is committed, so that no broken grader can lose it.
//! Where trials come from is a [`Source`]'s, where calls go a [`Lane`]'s.

use std::{collections::HashMap, future::poll_fn};

use tokio::sync::{mpsc, watch};

use super::{
    account::{Account, Begins, Made, Next, trial_key},
    early_stop::EarlyStop,
    error::RunError,
    grading::{Graded, GradingPool, Ungraded},
    lane::{Flight, Landed, Lane},
    plan::TrialPlan,
    progress::{Progress, RunSummary},
    shutdown::Shutdown,
    source::{Source, StoredAnswer},
    warm_up::Prefix,
};
use crate::{
    config::Experiment,
    domain::{Begun, Purpose, Retrieved, RunEvent, RunRow, StopReason, TrialKey, Verdict},
    spend::{Ledger, Prices, Refusal},
    store::{StoreError, Write},
};

mod landing;
mod stopping;
mod waiting;
#[cfg(test)]
mod tests;

/// What a coordinator works on, and with.
pub(super) struct Work<'a> {
    pub(super) run: RunRow,
    pub(super) experiment: &'a Experiment,
    pub(super) plan: TrialPlan,
    /// The accounts of the settings, in their order; none where nothing is asked.
    pub(super) accounts: Vec<Account>,
    /// One an account, in their order; then, where answers may be used again, that of earlier answers.
    pub(super) lanes: Vec<Box<dyn Lane>>,
    /// One an account, in their order; or the stored answers alone.
    pub(super) sources: Vec<Source>,
    /// What each target costs, by the price rows of the run.
    pub(super) prices: Vec<Prices>,
    pub(super) ledger: Ledger,
    pub(super) early_stop: Option<EarlyStop>,
    /// The way to the writer.
    pub(super) writes: mpsc::Sender<Write>,
    /// The writer's word on what is committed.
    pub(super) committed: mpsc::UnboundedReceiver<Vec<TrialKey>>,
    /// Where to tell what happens.
    pub(super) events: mpsc::UnboundedSender<RunEvent>,
    pub(super) progress: Progress,
}

/// The loop and what only it knows.
pub(super) struct Coordinator<'a> {
    pub(super) work: Work<'a>,
    /// Trials that ended and are not yet committed: their account, and what is then to be graded.
    uncommitted: HashMap<TrialKey, (usize, Option<Ungraded>)>,
    pool: GradingPool,
    /// Answers that write a shared prefix and have begun.
    begun: mpsc::UnboundedReceiver<(usize, Prefix)>,
    begins: Begins,
}

/// One thing that happened.
enum Event {
    Stop(Shutdown),
    Landed(Vec<Result<Landed, RunError>>),
    Begun(usize, Prefix),
    Committed(Vec<TrialKey>),
    Graded(Vec<Graded>),
    Stored(Vec<StoredAnswer>),
    /// A lane may have room without any of its calls being back.
    Room,
    /// Nothing is under way, and nothing can start.
    Done,
}

impl<'a> Coordinator<'a> {
    pub(super) fn new(work: Work<'a>) -> Self {
        let (begins, begun) = mpsc::unbounded_channel();
        Self { work, uncommitted: HashMap::new(), pool: GradingPool::new(), begun, begins }
    }

    /// Works until all is done, or nothing more can be.
    pub(super) async fn work(&mut self, mut shutdown: watch::Receiver<Shutdown>) -> Result<(), RunError> {
        loop {
            self.start_calls();
            // The one place that waits for news: the user's word first.
            let event = tokio::select! {
                biased;
                Ok(()) = shutdown.changed() => Event::Stop(*shutdown.borrow_and_update()),
                event = poll_fn(|context| self.poll_event(context)) => event,
            };
            match event {
                Event::Stop(how) => self.stop(how),
                Event::Landed(landed) => {
                    for landed in landed {
                        self.on_landed(landed?).await?;
                    }
                }
                Event::Begun(at, prefix) => self.work.accounts[at].warm_up.warmed(prefix),
                Event::Committed(keys) => self.on_committed(keys),
                Event::Graded(graded) => self.on_graded(graded).await?,
                Event::Stored(answers) => self.on_stored(answers),
                Event::Room => {}
                Event::Done => return Ok(()),
            }
        }
    }

    /// Ends what is still under way, and says what the session came to.
    pub(super) fn finish(self) -> RunSummary {
        self.work.progress.summary(&self.work.plan)
    }

    /// Starts what the lanes have room for.
    fn start_calls(&mut self) {
        self.note_decision();
        if self.pool.is_full() {
            return;
        }
        for at in 0..self.work.accounts.len() {
            while self.has_room(at) && self.start_next(at) {}
        }
    }

    fn has_room(&self, at: usize) -> bool {
        let Account { looking, uncommitted, .. } = self.work.accounts[at];
        !self.work.progress.is_closed() && self.work.lanes[at].room(uncommitted) > looking
    }

    /// Sends the account's next trial on its way; whether there was one that could go.
    fn start_next(&mut self, at: usize) -> bool {
        let looks_up = self.work.lanes.len() > self.work.accounts.len();
        if !looks_up && !self.may_ask_any(at) {
            return false;
        }
        let Work { run, experiment, accounts, sources, plan, .. } = &mut self.work;
        let Some(next) = accounts[at].next(&mut sources[at], plan) else { return false };
        let (run, experiment, target) = (*run, *experiment, next.target());
        if let Next::New(planned) = next
            && looks_up
            && experiment.reuses(target)
        {
            let made = accounts[at].make(experiment, run, planned);
            self.look_up(at, made);
            return true;
        }
        if !self.may_ask(at, target) {
            self.work.accounts[at].warm_up.forget_target(target);
            return true;
        }
        let made = match next {
            Next::Made(made) => made,
            Next::Known(planned) | Next::New(planned) => {
                self.work.accounts[at].make(experiment, run, planned)
            }
        };
        self.start(at, made)
    }

    /// Looks for an earlier answer, which costs nothing: also where nothing more may be asked.
    fn look_up(&mut self, at: usize, made: Made) {
        let call = self.work.accounts[at].look_up(made);
        let flight = Flight { call, reservation: None, begun: Begun::NOBODY };
        self.work.lanes.last_mut().expect("there is a lane of earlier answers").start(flight);
    }

    /// Hands a call to its lane, unless it is held for its prefix; `false` where the budget has no room
    /// before others are back.
    fn start(&mut self, at: usize, made: Made) -> bool {
        let account = &mut self.work.accounts[at];
        let Some(begun) = account.enter(at, &made, &self.begins) else { return true };
        let reservation = match self.work.ledger.reserve(made.call.worst) {
            Ok(reservation) => Some(reservation),
            Err(Refusal::Later) => {
                account.put_back(made);
                return false;
            }
            Err(Refusal::Never { spent, limit }) => {
                self.note_stop(StopReason::Budget { spent, limit });
                return true;
            }
            Err(Refusal::Unbounded) => {
                let target = &self.work.experiment.targets[trial_key(&made.call).target.index()];
                self.note_stop(StopReason::Unbounded { target: target.name.clone() });
                return true;
            }
        };
        let (provider, call) = (account.name.clone(), account.take_off(made));
        self.tell(RunEvent::Queued { provider, call: call.purpose });
        self.work.lanes[at].start(Flight { call, reservation, begun });
        true
    }

    fn on_committed(&mut self, keys: Vec<TrialKey>) {
        let mut batch = vec![];
        for key in keys {
            if let Some((at, ungraded)) = self.uncommitted.remove(&key) {
                self.work.accounts[at].uncommitted -= 1;
                batch.extend(ungraded);
            }
        }
        self.pool.grade(batch);
    }

    fn on_stored(&mut self, answers: Vec<StoredAnswer>) {
        let ungraded = |stored: StoredAnswer| self.ungraded(stored.key, stored.answer, stored.retrieved);
        let batch = answers.into_iter().map(ungraded).collect();
        self.pool.grade(batch);
    }

    fn ungraded(&self, key: TrialKey, answer: String, retrieved: Option<Vec<Retrieved>>) -> Ungraded {
        let experiment = self.work.experiment;
        let case = experiment.cases[key.case.index()].clone();
        Ungraded { key, answer, retrieved, case, retrieval_k: experiment.settings.retrieval_k }
    }

    async fn on_graded(&mut self, graded: Vec<Graded>) -> Result<(), RunError> {
        for Graded { key, scores, verdict, retrieval } in graded {
            if let Some(stop) = &mut self.work.early_stop {
                let passed = (verdict != Verdict::Unscored).then_some(verdict == Verdict::Pass);
                stop.ended(key.target, key.case, passed);
            }
            self.tell(RunEvent::Graded { call: Purpose::Trial(key), verdict });
            self.write(Write::Scores { key, scores, verdict }).await?;
            if let Some(score) = retrieval {
                self.write(Write::Retrieval { key, score }).await?;
            }
        }
        Ok(())
    }

    async fn write(&mut self, write: Write) -> Result<(), RunError> {
        self.work.writes.send(write).await.map_err(|_| StoreError::WriterGone.into())
    }

    /// The listener may be gone (`--quiet`): the run goes on.
    fn tell(&self, event: RunEvent) {
        let _ = self.work.events.send(event);
    }
}
