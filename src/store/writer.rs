//! The one thread that writes while a run goes on.
//!
//! It owns the connection and takes what is to be written from a bounded channel. It commits
//! whenever it has nothing more to take, at the latest after 50 ms or 1,000 rows, and tells which
//! trials are then safe: only those are graded, and until then they count as in flight.

use std::{
    sync::{Arc, OnceLock},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tokio::{
    runtime,
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    claim::{HEARTBEAT_MS, RunClaim},
    error::{StoreError, failed_to},
    insert::Inserts,
    open::Store,
};
use crate::domain::{Attempt, RunStatus, Score, TrialKey, TrialRecord, UnixMillis, Verdict};

/// What may wait in the channel before senders wait.
const CHANNEL: usize = 4_096;

/// The longest transaction, in time.
const MAX_COMMIT_AGE: Duration = Duration::from_millis(50);

/// The longest transaction, in messages (each a row, but for scores).
const MAX_COMMIT_ROWS: usize = 1_000;

/// One thing to be written.
#[derive(Debug)]
pub enum Write {
    /// A trial that ended. A failed one of the same key makes room for it; one with an answer stays.
    Trial(Box<TrialRecord>),
    /// A request that was made.
    Attempt(Box<Attempt>),
    /// What the graders said of a stored trial; replaces what they said before.
    Scores {
        /// The trial.
        key: TrialKey,
        /// One score a grader, in the case's order.
        scores: Vec<Score>,
        /// What follows for the trial.
        verdict: Verdict,
    },
    /// Where a run stands.
    Status {
        /// The run's row.
        run: i64,
        /// Its status.
        status: RunStatus,
        /// Why it ended before all was done.
        stop_reason: Option<String>,
    },
    /// Answers once all that was sent before is committed.
    Flush(oneshot::Sender<()>),
}

/// The way into the writer's thread. When it is dropped, what was sent is still written.
#[derive(Debug)]
pub struct StoreWriter {
    /// `None` once the writer is asked to end.
    sender: Option<mpsc::Sender<Write>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<OnceLock<Arc<StoreError>>>,
}

impl StoreWriter {
    /// Starts the thread. After each commit, the keys of the trials in it go to `committed`. The
    /// claim's heartbeat is kept up until the writer ends, and the run is then given back.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        store: Store,
        claim: RunClaim,
        committed: Option<mpsc::UnboundedSender<Vec<TrialKey>>>,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel(CHANNEL);
        let failure = Arc::new(OnceLock::new());
        // Only its clock is needed: the channel alone cannot be waited on for a limited time.
        let runtime =
            runtime::Builder::new_current_thread().enable_time().build().map_err(StoreError::Thread)?;
        let work =
            Work { receiver, runtime, committed, claim, failure: Arc::clone(&failure), unwritten: None };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || work.run(&store.connection))
            .map_err(StoreError::Thread)?;
        Ok(Self { sender: Some(sender), thread: Some(thread), failure })
    }

    /// Sends something to be written; waits while the channel is full.
    ///
    /// # Errors
    /// The error at which the writer stopped.
    pub async fn send(&self, write: Write) -> Result<(), StoreError> {
        self.check()?;
        let sender = self.sender.as_ref().ok_or(StoreError::WriterGone)?;
        sender.send(write).await.map_err(|_| self.why_gone())
    }

    /// The same from a thread that may block; it must not be one of an async runtime.
    ///
    /// # Errors
    /// The error at which the writer stopped.
    pub fn blocking_send(&self, write: Write) -> Result<(), StoreError> {
        self.check()?;
        let sender = self.sender.as_ref().ok_or(StoreError::WriterGone)?;
        sender.blocking_send(write).map_err(|_| self.why_gone())
    }

    /// Waits until all that was sent is committed.
    ///
    /// # Errors
    /// The error at which the writer stopped.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let (done, wait) = oneshot::channel();
        self.send(Write::Flush(done)).await?;
        wait.await.map_err(|_| self.why_gone())?;
        self.check()
    }

    /// Writes all that was sent and ends the thread. Blocks for as long as that takes: at most the
    /// channel's content.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.end();
        self.check()
    }

    /// Closes the channel and waits for the thread.
    fn end(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            // A panic; whoever set an earlier failure wins.
            self.failure.get_or_init(|| Arc::new(StoreError::WriterGone));
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.failure.get() {
            Some(error) => Err(StoreError::Stopped(Arc::clone(error))),
            None => Ok(()),
        }
    }

    fn why_gone(&self) -> StoreError {
        self.check().err().unwrap_or(StoreError::WriterGone)
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread owns beside the connection.
struct Work {
    receiver: mpsc::Receiver<Write>,
    runtime: runtime::Runtime,
    committed: Option<mpsc::UnboundedSender<Vec<TrialKey>>>,
    claim: RunClaim,
    failure: Arc<OnceLock<Arc<StoreError>>>,
    /// Taken from the channel when no transaction could be begun.
    unwritten: Option<Write>,
}

impl Work {
    fn run(mut self, connection: &Connection) {
        if let Err(error) = self.write_all(connection) {
            // From here on every send returns it. What was sent before is paid for, and is still
            // written as far as it can be.
            self.failure.get_or_init(|| Arc::new(error));
            self.receiver.close();
            self.rescue(connection);
        }
        if let Err(source) = self.claim.release(connection) {
            let error = StoreError::Sql { doing: "give the run back", source };
            self.failure.get_or_init(|| Arc::new(error));
        }
    }

    /// Takes and writes until the channel is closed.
    fn write_all(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut inserts = Inserts::prepare(connection).map_err(failed_to("prepare the store's writer"))?;
        let mut batch = Batch::default();
        let mut last_beat = UnixMillis::now().0;
        while let Some(first) = self.take(connection, &mut last_beat)? {
            if let Err(error) = begin(connection) {
                self.unwritten = Some(first);
                return Err(error);
            }
            let began = Instant::now();
            let mut next = Some(first);
            while let Some(write) = next {
                if let Err(error) = batch.apply(write, &mut inserts) {
                    // The rows before the faulty one are good, unless SQLite took them back.
                    if commit(connection).is_ok() {
                        batch.tell(self.committed.as_ref());
                    }
                    return Err(error);
                }
                let is_full = batch.rows >= MAX_COMMIT_ROWS || began.elapsed() >= MAX_COMMIT_AGE;
                next = if is_full { None } else { self.receiver.try_recv().ok() };
            }
            if is_due(last_beat) {
                self.claim.beat(connection).map_err(failed_to("renew the claim on the run"))?;
                last_beat = UnixMillis::now().0;
            }
            commit(connection)?;
            batch.tell(self.committed.as_ref());
        }
        Ok(())
    }

    /// The next thing to write; `None` once the channel is closed and empty. While there is nothing
    /// to write, the heartbeat goes on.
    fn take(&mut self, connection: &Connection, last_beat: &mut i64) -> Result<Option<Write>, StoreError> {
        let wait = Duration::from_millis(HEARTBEAT_MS.unsigned_abs());
        loop {
            if let Ok(write) = self.receiver.try_recv() {
                return Ok(Some(write));
            }
            let receiver = &mut self.receiver;
            if let Ok(write) = self.runtime.block_on(async { timeout(wait, receiver.recv()).await }) {
                return Ok(write);
            }
            self.claim.beat(connection).map_err(failed_to("renew the claim on the run"))?;
            *last_beat = UnixMillis::now().0;
        }
    }

    /// Writes what is still in the channel after an error, each in a transaction of its own. The first
    /// error is the one that is told; others follow from it.
    fn rescue(&mut self, connection: &Connection) {
        let Ok(mut inserts) = Inserts::prepare(connection) else { return };
        let mut unwritten = self.unwritten.take();
        while let Some(write) = unwritten.or_else(|| self.receiver.try_recv().ok()) {
            unwritten = None;
            let mut batch = Batch::default();
            let stored = begin(connection)
                .and_then(|()| batch.apply(write, &mut inserts))
                .and_then(|()| commit(connection));
            match stored {
                Ok(()) => batch.tell(self.committed.as_ref()),
                // There may be no transaction to take back, which is as well.
                Err(_) => drop(execute(connection, "ROLLBACK")),
            }
        }
    }
}

/// What the present transaction holds.
#[derive(Default)]
struct Batch {
    rows: usize,
    trials: Vec<TrialKey>,
    flushes: Vec<oneshot::Sender<()>>,
}

impl Batch {
    fn apply(&mut self, write: Write, inserts: &mut Inserts<'_>) -> Result<(), StoreError> {
        self.rows += 1;
        match write {
            Write::Trial(trial) => {
                inserts.trial(&trial).map_err(failed_to("store a trial"))?;
                self.trials.push(trial.key);
            }
            Write::Attempt(attempt) => {
                inserts.attempt(&attempt).map_err(failed_to("store an attempt"))?;
            }
            Write::Scores { key, scores, verdict } => {
                inserts.scores(key, &scores, verdict).map_err(failed_to("store a trial's scores"))?;
            }
            Write::Status { run, status, stop_reason } => {
                inserts
                    .status(run, status, stop_reason.as_deref())
                    .map_err(failed_to("store the run's status"))?;
            }
            Write::Flush(done) => self.flushes.push(done),
        }
        Ok(())
    }

    /// Tells that all of it is committed, and starts anew. Whoever no longer listens misses nothing.
    fn tell(&mut self, committed: Option<&mpsc::UnboundedSender<Vec<TrialKey>>>) {
        self.rows = 0;
        let trials = std::mem::take(&mut self.trials);
        if let Some(committed) = committed.filter(|_| !trials.is_empty()) {
            let _ = committed.send(trials);
        }
        for done in self.flushes.drain(..) {
            let _ = done.send(());
        }
    }
}

fn is_due(last_beat: i64) -> bool {
    UnixMillis::now().0.saturating_sub(last_beat) >= HEARTBEAT_MS
}

fn begin(connection: &Connection) -> Result<(), StoreError> {
    // Immediate: the lock is waited for here, where SQLite calls the busy handler, and not at the
    // first row, where a stale snapshot would be refused at once.
    execute(connection, "BEGIN IMMEDIATE").map_err(failed_to("begin to write to the store"))
}

fn commit(connection: &Connection) -> Result<(), StoreError> {
    execute(connection, "COMMIT").map_err(failed_to("commit to the store"))
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
