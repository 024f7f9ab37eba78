//! One session of a run: from its queues to its end. A new run, a resume, a pilot, the fresh answers of a
//! confirmation and a rehearsal are all worked on here.

use std::{path::Path, sync::Arc};

use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{AppError, Ready, early_stop, known_accounts, new_run::create_run};
use crate::{
    config::{self, Experiment},
    domain::{Cost, ProviderName, RunEvent, RunId, RunRow, TargetPos, TrialKey},
    runner::{self, RunParts, RunSummary, Shutdown, TrialPlan},
    spend::Ledger,
    store::{CommitListener, CreatedRun, RunClaim, Store, StoreWriter},
};

/// Who is told what happens in a run.
pub type Listener = Box<dyn FnMut(&RunEvent) + Send>;

/// A run that is ready to be worked on. Nobody else can work on it before it was [worked on](Self::work)
/// or [given up](Self::give_up), or dropped.
#[derive(Debug)]
pub struct Session {
    pub(super) run: RunRow,
    pub(super) name: RunId,
    pub(super) claim: RunClaim,
    pub(super) experiment: Experiment,
    pub(super) plan: TrialPlan,
    /// What it may spend, and what earlier sessions spent.
    pub(super) ledger: Ledger,
    /// Failed trials of earlier sessions that this one does not ask again.
    pub(super) failed: u64,
    pub(super) store: Store,
}

/// What one queue has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueWork {
    /// Its account.
    pub provider: ProviderName,
    /// Trials of all its targets.
    pub total: u64,
    /// Those that earlier sessions did, or that are left for a later one.
    pub done: u64,
}

impl Session {
    /// Makes a run in its store of which nothing is done, estimated or checked yet.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn begin(ready: Ready) -> Result<Self, AppError> {
        let mut store = Store::open(&ready.store)?;
        let created = create_run(&mut store, &ready)?;
        Ok(Self::of_new(created, ready.experiment, store))
    }

    /// A new run, of which nothing is done yet.
    pub(super) fn of_new(created: CreatedRun, experiment: Experiment, store: Store) -> Self {
        let plan = empty_plan(&experiment);
        let ledger = Ledger::new(experiment.settings.max_cost, Cost::ZERO);
        Self {
            run: created.id,
            name: created.name,
            claim: created.claim,
            experiment,
            plan,
            ledger,
            failed: 0,
            store,
        }
    }

    /// The run's row.
    pub fn run(&self) -> RunRow {
        self.run
    }

    /// The run's name.
    pub fn name(&self) -> &RunId {
        &self.name
    }

    /// Where the run is stored.
    pub fn store_path(&self) -> &Path {
        self.store.path()
    }

    /// What is spent, whenever that is asked.
    pub fn ledger(&self) -> Ledger {
        self.ledger.clone()
    }

    /// What each queue has to do, in the order of the experiment's accounts.
    pub fn queues(&self) -> Vec<QueueWork> {
        let experiment = &self.experiment;
        let per_target: u64 = experiment.cases.iter().map(|planned| u64::from(planned.repeats)).sum();
        let work = |(at, provider): (usize, &config::ProviderSettings)| {
            let own =
                (0..).map(TargetPos).zip(&experiment.targets).filter(|(_, target)| target.provider == at);
            let targets: Vec<TargetPos> = own.map(|(position, _)| position).collect();
            let total = per_target * targets.len() as u64;
            let done = total - self.plan.pending_of(&targets);
            QueueWork { provider: provider.name.clone(), total, done }
        };
        experiment.settings.providers.iter().enumerate().map(work).collect()
    }

    /// Leaves the run as it is, to be resumed.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn give_up(self) -> Result<(), AppError> {
        Ok(self.store.give_back(self.claim)?)
    }

    /// Works on the run until it is done or must stop. What happens is told to all `listeners`, and all of
    /// it before this ends; `shutdown` says when to start nothing new, and when to stop at once.
    ///
    /// # Errors
    /// An account cannot be reached as the experiment says, or the store fails.
    pub async fn work(
        self,
        listeners: Vec<Listener>,
        shutdown: watch::Receiver<Shutdown>,
    ) -> Result<RunSummary, AppError> {
        let (events, receiver) = mpsc::unbounded_channel();
        let (committed, committed_receiver) = mpsc::unbounded_channel::<Vec<TrialKey>>();
        let queues = config::connect(&self.experiment, &events)?;
        let listening = listen(listeners, receiver);
        let told = events.clone();
        let early_stop = early_stop::of(&self.store, self.run, &self.experiment, &self.plan)?;
        for (queue, limit) in queues.iter().zip(known_accounts::limits(&self.store, &self.experiment)?) {
            limit.inspect(|limit| queue.start_at(*limit));
        }
        self.store.clear_controls(self.run)?;
        let named = self.experiment.settings.providers.iter().zip(&queues);
        let weak = named.map(|(provider, queue)| (provider.name.clone(), Arc::downgrade(queue)));
        let controls = Store::open_to_read(self.store.path())?;
        tokio::spawn(runner::follow_controls(controls, self.run, weak.collect()));
        let reuses = self.experiment.targets.iter().any(|target| target.settings.reuse);
        let earlier = reuses.then(|| Store::open_to_read(self.store.path())).transpose()?;
        let rows = self.store.prices(self.run)?;
        let prices = self.experiment.targets.iter().map(|target| target.prices.numbered(&rows)).collect();
        // Whoever listens, listens: nobody has to.
        let _ = told.send(self.started());
        // A queue of so many in flight starts no more than that until answers are committed.
        let room = queues.iter().map(|queue| queue.max_in_flight() as usize).min().unwrap_or(1);
        let listener = CommitListener { committed, room, events: events.clone() };
        let writer = StoreWriter::start(self.store, self.claim, Some(listener))?;
        let parts = RunParts {
            run: self.run,
            experiment: Arc::new(self.experiment),
            plan: self.plan,
            queues,
            early_stop,
            prices,
            ledger: self.ledger,
            earlier,
            failed: self.failed,
            writer,
            committed: committed_receiver,
            events,
        };
        let summary = runner::run(parts, shutdown).await;
        if let Ok(summary) = &summary {
            let _ = told.send(finished(summary));
        }
        drop(told);
        // The run and its queues are gone, and with them the events: the listener ends by itself.
        let _ = listening.await;
        Ok(summary?)
    }

    /// What is told first.
    fn started(&self) -> RunEvent {
        RunEvent::RunStarted {
            experiment: self.experiment.settings.name.clone(),
            planned: self.plan.total(),
            to_do: self.plan.pending() - self.plan.left_for_later(),
        }
    }
}

/// What is told last.
fn finished(summary: &RunSummary) -> RunEvent {
    let RunSummary { status, ended, failed, pending, wall, .. } = *summary;
    RunEvent::RunFinished { status, ended, failed, pending, wall }
}

/// The plan of an experiment of which nothing is done yet.
pub(super) fn empty_plan(experiment: &Experiment) -> TrialPlan {
    let targets = u32::try_from(experiment.targets.len()).expect("targets are few");
    TrialPlan::new(targets, experiment.cases.iter().map(|planned| planned.repeats).collect())
}

fn listen(mut listeners: Vec<Listener>, mut events: mpsc::UnboundedReceiver<RunEvent>) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut batch = Vec::new();
        while events.recv_many(&mut batch, 1024).await > 0 {
            for event in batch.drain(..) {
                listeners.iter_mut().for_each(|listener| listener(&event));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use tokio::runtime::Runtime;

    use super::*;
    use crate::{
        app::{run, testing::Stored},
        domain::RunStatus,
    };

    #[test]
    fn what_happens_is_told_and_all_of_it_before_the_end() {
        let stored = Stored::empty("");
        let session = run::begin(stored.ready()).unwrap();
        let work = QueueWork { provider: "simulator".into(), total: 32, done: 0 };
        assert_eq!(session.queues(), [work]);
        assert_eq!(session.store_path(), stored.path());
        let ended = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&ended);
        let listener: Listener = Box::new(move |event| {
            counted.fetch_add(u64::from(matches!(event, RunEvent::Ended { .. })), Ordering::Relaxed);
        });
        let (_stop, shutdown) = watch::channel(Shutdown::No);
        let summary = Runtime::new().unwrap().block_on(session.work(vec![listener], shutdown)).unwrap();
        assert_eq!((summary.ended, ended.load(Ordering::Relaxed)), (32, 32));
    }

    #[test]
    fn a_session_that_fails_before_it_asks_gives_its_run_back() {
        let stored = Stored::empty("");
        let session = run::begin(stored.ready()).unwrap();
        let (run, told) = (session.run(), Arc::new(AtomicU64::new(0)));
        // Somebody else broke what it is about to read.
        let store = rusqlite::Connection::open(stored.path()).unwrap();
        store.execute_batch("ALTER TABLE run_control RENAME TO gone").unwrap();
        assert!(stored.open().is_worked_on(run).unwrap());
        let counted = Arc::clone(&told);
        let listener: Listener = Box::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        let (_stop, shutdown) = watch::channel(Shutdown::No);
        let work = session.work(vec![listener], shutdown);
        assert!(Runtime::new().unwrap().block_on(work).is_err());
        assert!(!stored.open().is_worked_on(run).unwrap());
        assert_eq!(told.load(Ordering::Relaxed), 0, "it never began");
    }

    #[test]
    fn a_session_that_is_to_stop_starts_nothing_and_can_be_resumed() {
        let stored = Stored::empty("");
        let session = run::begin(stored.ready()).unwrap();
        let (stop, shutdown) = watch::channel(Shutdown::No);
        stop.send(Shutdown::Drain).unwrap();
        let summary = Runtime::new().unwrap().block_on(session.work(vec![], shutdown)).unwrap();
        assert_eq!(summary.status, RunStatus::Interrupted);
        assert!(summary.pending > 0);
    }
}
