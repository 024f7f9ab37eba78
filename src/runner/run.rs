//! A session of a run from its parts to its end, and stored answers graded through the same loop.

use std::{sync::Arc, thread};

use tokio::{
    sync::{mpsc, watch},
    task,
};

use super::{
    account::Account,
    coordinator::{Coordinator, Work},
    early_stop::EarlyStop,
    error::RunError,
    lane::Lane,
    live::Live,
    plan::TrialPlan,
    progress::{Progress, RunSummary},
    reused::Reused,
    shutdown::Shutdown,
    source::{Cursor, Source, StoredAnswer},
};
use crate::{
    config::Experiment,
    domain::{CasePos, Cost, RunEvent, RunRow, StopReason, TargetPos, TrialKey},
    queue::ProviderQueue,
    spend::{Ledger, Prices},
    store::{Hurry, RunClaim, Store, StoreError, StoreWriter, ToGrade, Write},
};

/// How many stored answers are read ahead of their grading.
const READ_AHEAD: usize = 4_096;

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
    /// What each target costs, by the price rows of the run.
    pub prices: Vec<Prices>,
    /// What the run may spend, and has spent in earlier sessions.
    pub ledger: Ledger,
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

/// Runs every trial of the plan that is not done and returns how it went.
///
/// `shutdown` says how far the user wants it to go on.
///
/// # Errors
/// The store failed, or a task panicked. What was committed stays.
pub async fn run(parts: RunParts, shutdown: watch::Receiver<Shutdown>) -> Result<RunSummary, RunError> {
    let RunParts { run, experiment, plan, queues, early_stop, prices, ledger, earlier, failed, .. } = parts;
    let RunParts { writer, committed, events, .. } = parts;
    let mut lanes: Vec<Box<dyn Lane>> = vec![];
    for queue in &queues {
        lanes.push(Box::new(Live::new(Arc::clone(queue))));
    }
    if let Some(store) = earlier {
        lanes.push(Box::new(look_in(store, run)?));
    }
    let order = early_stop.as_ref().map(|stop| stop.order().into());
    let sources = (0..queues.len()).map(|at| Source::Plan(cursor(&experiment, at, order.clone())));
    let names = experiment.settings.providers.iter().map(|provider| provider.name.clone());
    let accounts = names.zip(&queues).map(|(name, queue)| Account::new(name, Arc::clone(queue)));
    let mut coordinator = Coordinator::new(Work {
        run,
        experiment: &experiment,
        plan,
        accounts: accounts.collect(),
        lanes,
        sources: sources.collect(),
        prices,
        ledger,
        early_stop,
        writes: writer.sender()?,
        committed,
        events,
        progress: Progress::new(failed),
    });
    let hurrying = tokio::spawn(hurry_up(writer.hurry(), shutdown.clone()));
    let result = coordinator.work(shutdown).await;
    let summary = coordinator.finish();
    if result.is_ok() {
        let stop_reason = summary.stops.first().map(StopReason::to_string);
        let records = queues.iter().map(|queue| queue.record()).collect();
        writer.send(Write::Queues { run, records }).await?;
        writer.send(Write::Status { run, status: summary.status, stop_reason }).await?;
    }
    // Not on this thread: where the store is locked, the user's word must still be heard.
    let finished = task::spawn_blocking(move || writer.finish()).await;
    hurrying.abort();
    finished.map_err(|error| RunError::Task(error.to_string()))??;
    result?;
    Ok(summary)
}

/// A store that is locked is waited for no longer once the user wants to stop at once.
async fn hurry_up(hurry: Hurry, mut shutdown: watch::Receiver<Shutdown>) {
    if shutdown.wait_for(|how| *how == Shutdown::Now).await.is_ok() {
        hurry.up();
    }
}

/// The trials of the targets of the account at `at`.
fn cursor(experiment: &Experiment, at: usize, order: Option<Arc<[CasePos]>>) -> Cursor {
    let targets = experiment.targets.iter().enumerate().filter(|(_, target)| target.provider == at);
    let positions = targets.map(|(position, _)| TargetPos::at(position)).collect();
    match order {
        Some(order) => Cursor::in_order(positions, order),
        None => Cursor::new(positions),
    }
}

/// The lane of the answers that `store` holds from runs before `run`. A store that cannot be read has
/// none: the trial is then asked.
fn look_in(store: Store, run: RunRow) -> Result<Reused, StoreError> {
    let find = move |hash: &_| {
        store.find_answer(run, hash).unwrap_or_else(|error| {
            tracing::warn!(%error, "an earlier answer cannot be looked for");
            None
        })
    };
    Reused::start(find).map_err(StoreError::Thread)
}

/// Grades the stored answers of a run and stores their scores; how many.
///
/// # Errors
/// The store failed, or the thread that reads it panicked.
pub async fn grade(
    store: Store,
    claim: RunClaim,
    run: RunRow,
    experiment: &Experiment,
    which: ToGrade,
) -> Result<u64, RunError> {
    let (answers, stored) = mpsc::channel(READ_AHEAD);
    let reader = Store::open_to_read(store.path())?;
    let writer = StoreWriter::start(store, claim, None)?;
    let reading = thread::Builder::new()
        .name("stored-answers".to_owned())
        .spawn(move || read_answers(&reader, run, which, &answers))
        .map_err(StoreError::Thread)?;
    let mut coordinator = Coordinator::new(Work {
        run,
        experiment,
        plan: TrialPlan::new(0, vec![]),
        accounts: vec![],
        lanes: vec![],
        sources: vec![Source::Stored(stored)],
        prices: vec![],
        ledger: Ledger::new(None, Cost::ZERO),
        early_stop: None,
        writes: writer.sender()?,
        committed: mpsc::unbounded_channel().1,
        events: mpsc::unbounded_channel().0,
        progress: Progress::new(0),
    });
    let result = coordinator.work(watch::channel(Shutdown::No).1).await;
    coordinator.finish();
    let panicked = |_| RunError::Task("the thread that reads stored answers panicked".to_owned());
    // It has read all, or nobody takes what it reads.
    let read = reading.join().map_err(panicked)?;
    writer.finish()?;
    result?;
    Ok(read?)
}

/// Hands the answers that are to be graded to `answers`, and counts them.
fn read_answers(
    store: &Store,
    run: RunRow,
    which: ToGrade,
    answers: &mpsc::Sender<StoredAnswer>,
) -> Result<u64, StoreError> {
    let mut read = 0;
    store.for_each_to_grade(run, which, |key, outcome, answer| {
        if outcome.is_graded(answer) {
            let (answer, retrieved) = (answer.to_owned(), store.retrieved(key)?);
            read += 1;
            let stored = StoredAnswer { key, answer, retrieved };
            // Nobody takes it any more: the writer has failed, and itself says why.
            answers.blocking_send(stored).map_err(|_| StoreError::WriterGone)?;
        }
        Ok::<_, StoreError>(())
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, sync::Mutex, time::Duration};

    use tempfile::TempDir;

    use super::*;
    use crate::{
        domain::{Repeat, Reply, RunStatus, TargetName, Verdict},
        runner::fixtures::{CASES, EXPERIMENT_OF_TESTS, experiment, new_run, queue_named},
        store::CommitListener,
    };

    /// Two repeats of every case.
    const A_TARGET: u64 = 2 * CASES as u64;

    /// A store, and the targets of which its runs have asked anything.
    struct Stage {
        folder: TempDir,
        asked: Arc<Mutex<Vec<TargetName>>>,
    }

    impl Stage {
        fn new() -> Self {
            Self { folder: TempDir::new().unwrap(), asked: Arc::default() }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("test.db")
        }

        /// Works on a new run to its end, or as far as `wish` says; answers of earlier runs are looked for
        /// where `looks` says so.
        async fn run(&self, wish: Option<Shutdown>, looks: bool) -> (RunRow, RunSummary) {
            self.asked.lock().unwrap().clear();
            let mut store = Store::open(self.path()).unwrap();
            let created = new_run(&mut store);
            let asking = |name| {
                let asked = Arc::clone(&self.asked);
                queue_named(name, 4, move |question| {
                    asked.lock().unwrap().push(question.asked.by.clone());
                    (Duration::ZERO, Ok(Reply::answered("yes")))
                })
            };
            let (commits, committed) = mpsc::unbounded_channel();
            let events = mpsc::unbounded_channel().0;
            let listener = CommitListener { committed: commits, room: 4, events: events.clone() };
            let experiment = Arc::new(experiment());
            let parts = RunParts {
                run: created.id,
                plan: TrialPlan::new(3, vec![2; CASES as usize]),
                queues: vec![asking("p"), asking("q")],
                early_stop: None,
                prices: experiment.targets.iter().map(|target| target.prices.clone()).collect(),
                experiment,
                ledger: Ledger::new(None, Cost::ZERO),
                earlier: looks.then(|| Store::open_to_read(self.path()).unwrap()),
                failed: 0,
                writer: StoreWriter::start(store, created.claim, Some(listener)).unwrap(),
                committed,
                events,
            };
            let (word, shutdown) = watch::channel(Shutdown::No);
            wish.into_iter().for_each(|wish| word.send(wish).unwrap());
            (created.id, run(parts, shutdown).await.unwrap())
        }

        /// How many questions each of the three targets was asked.
        fn asked(&self) -> [u64; 3] {
            let asked = self.asked.lock().unwrap();
            ["a", "b", "c"].map(|name| asked.iter().filter(|target| target.as_str() == name).count() as u64)
        }

        fn stored(&self, sql: &str, run: RunRow) -> Option<String> {
            let connection = rusqlite::Connection::open(self.path()).unwrap();
            connection.query_row(sql, [run], |row| row.get(0)).unwrap()
        }
    }

    #[tokio::test]
    async fn every_trial_is_asked_once_graded_and_stored_with_where_the_run_stands() {
        let stage = Stage::new();
        let (run, summary) = stage.run(None, false).await;
        assert_eq!((summary.status, summary.ended, summary.pending), (RunStatus::Complete, 3 * A_TARGET, 0));
        assert_eq!(stage.asked(), [A_TARGET; 3]);
        let store = Store::open_to_read(stage.path()).unwrap();
        let detail = store.run_detail(run).unwrap();
        assert_eq!((detail.row.status, detail.row.stop_reason), (RunStatus::Complete, None));
        assert_eq!(store.queue_records(run).unwrap().len(), 2);
        let trial = store.trial(TrialKey { run, target: TargetPos(2), case: CasePos(5), repeat: Repeat(2) });
        assert_eq!(trial.unwrap().unwrap().verdict, Some(Verdict::Pass));
    }

    #[tokio::test]
    async fn a_target_that_uses_answers_again_takes_them_from_the_earlier_run() {
        let stage = Stage::new();
        stage.run(None, true).await;
        assert_eq!(stage.asked(), [A_TARGET; 3], "there was no earlier run");
        let (_, summary) = stage.run(None, true).await;
        assert_eq!((stage.asked(), summary.ended), ([A_TARGET, 0, A_TARGET], 3 * A_TARGET));
        stage.run(None, false).await;
        assert_eq!(stage.asked(), [A_TARGET; 3], "nobody looked");
    }

    #[tokio::test]
    async fn a_run_that_is_stopped_says_why_and_leaves_the_rest_to_do() {
        let stage = Stage::new();
        let (run, summary) = stage.run(Some(Shutdown::Drain), false).await;
        assert_eq!(summary.status, RunStatus::Interrupted);
        assert_eq!((summary.stops, summary.pending), (vec![StopReason::Interrupted], 3 * A_TARGET));
        assert_eq!(stage.asked(), [0; 3]);
        let why = stage.stored("SELECT stop_reason FROM run WHERE id = ?", run);
        assert_eq!(why, Some(StopReason::Interrupted.to_string()));
    }

    #[tokio::test]
    async fn stored_answers_are_graded_as_often_as_asked_for_and_nobody_is_asked() {
        let stage = Stage::new();
        let (run, _) = stage.run(None, false).await;
        stage.asked.lock().unwrap().clear();
        for (which, expected) in [(ToGrade::Ungraded, 0), (ToGrade::All, 3 * A_TARGET)] {
            let mut store = Store::open(stage.path()).unwrap();
            let claim = store.claim_run(run).unwrap();
            assert_eq!(grade(store, claim, run, &EXPERIMENT_OF_TESTS, which).await.unwrap(), expected);
        }
        assert_eq!(stage.asked(), [0; 3]);
        let scores = stage.stored("SELECT count(*) || '' FROM score WHERE run = ?", run);
        assert_eq!(scores, Some((3 * A_TARGET).to_string()), "one a trial, however often it is graded");
    }

    #[test]
    fn an_account_asks_its_own_targets_and_keeps_to_an_order() {
        let plan = TrialPlan::new(3, vec![1; CASES as usize]);
        let first = |at, order: Option<Arc<[CasePos]>>| {
            let trial = cursor(&EXPERIMENT_OF_TESTS, at, order).next(&plan).unwrap();
            (trial.target, trial.case)
        };
        assert_eq!(first(0, None), (TargetPos(0), CasePos(0)));
        assert_eq!(first(1, None), (TargetPos(2), CasePos(0)));
        assert_eq!(first(1, Some([CasePos(4), CasePos(1)].into())), (TargetPos(2), CasePos(4)));
    }
}
