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
