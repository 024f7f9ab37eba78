//! The one thread that writes while a run goes on.
//!
//! It owns the connection and takes what is to be written from a bounded channel. When it commits is
//! decided in [`due`](super::due); it tells which trials are then safe: only those are graded, and until
//! then they count as in flight.

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use rayon::prelude::*;
use rusqlite::Connection;
use tokio::{
    runtime,
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    Write,
    claim::{HEARTBEAT, RunClaim},
    dictionary::Dictionaries,
    due::{Waiting, may_wait},
    insert::Inserts,
    packed::pack,
    patience::{Hurry, LockWait, Patience, is_busy},
};
use crate::domain::{RunEvent, RunRow, TrialKey};
use crate::store::{
    error::{StoreError, failed_to},
    open::{Store, wait_briefly},
    queue_log, reuse,
};

/// What may wait in the channel before senders wait: about one commit, since answers can be large.
const CHANNEL: usize = 1_024;

/// The longest transaction, in time.
const MAX_COMMIT_AGE: Duration = Duration::from_millis(10);

/// The longest transaction, in messages (each a row, but for scores).
const MAX_COMMIT_ROWS: usize = 1_000;

/// How many long answers are packed before a transaction begins: at about a millisecond each, they
/// must not keep what came before them from its commit.
const PACKED_AT_ONCE: usize = 64;

/// Who is told of commits.
#[derive(Debug)]
pub struct CommitListener {
    /// Gets the keys of the trials that were committed.
    pub committed: mpsc::UnboundedSender<Vec<TrialKey>>,
    /// So many trials may wait for their commit: whoever sends them may then wait for it, too.
    pub room: usize,
    /// Is told where the store stays locked.
    pub events: mpsc::UnboundedSender<RunEvent>,
}

/// The way into the writer's thread. When it is dropped, what was sent is still written.
#[derive(Debug)]
pub struct StoreWriter {
    /// `None` once the writer is asked to end.
    sender: Option<mpsc::Sender<Write>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<OnceLock<Arc<StoreError>>>,
    hurry: Hurry,
}

impl StoreWriter {
    /// Starts the thread. After each commit, the `listener` is told which trials were in it. The claim's
    /// heartbeat is kept up until the writer ends, and the run is then given back.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        store: Store,
        claim: RunClaim,
        listener: Option<CommitListener>,
    ) -> Result<Self, StoreError> {
        Self::start_with(store, claim, listener, Patience::default())
    }

    /// The same with another patience.
    pub(in crate::store) fn start_with(
        store: Store,
        claim: RunClaim,
        listener: Option<CommitListener>,
        patience: Patience,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = mpsc::channel(CHANNEL);
        let failure = Arc::new(OnceLock::new());
        // Only its clock is needed: the channel alone cannot be waited on for a limited time.
        let runtime =
            runtime::Builder::new_current_thread().enable_time().build().map_err(StoreError::Thread)?;
        let hurry = Hurry::default();
        let work = Work {
            receiver,
            runtime,
            listener,
            lock: LockWait::new(patience, hurry.clone()),
            claim,
            failure: Arc::clone(&failure),
            waiting: VecDeque::new(),
        };
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || work.run(&store.connection))
            .map_err(StoreError::Thread)?;
        Ok(Self { sender: Some(sender), thread: Some(thread), failure, hurry })
    }

    /// What ends the waiting for a locked store.
    pub fn hurry(&self) -> Hurry {
        self.hurry.clone()
    }

    /// The channel into the thread, for one who hears elsewhere why it is closed. The writer ends only
    /// once that is dropped, too.
    ///
    /// # Errors
    /// The error at which the writer stopped.
    pub fn sender(&self) -> Result<mpsc::Sender<Write>, StoreError> {
        self.check()?;
        self.sender.clone().ok_or(StoreError::WriterGone)
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
    /// Taken from the channel and not yet written. Taking many at once wakes waiting senders once.
    waiting: VecDeque<Waiting>,
    runtime: runtime::Runtime,
    listener: Option<CommitListener>,
    lock: LockWait,
    claim: RunClaim,
    failure: Arc<OnceLock<Arc<StoreError>>>,
}

impl Work {
    fn run(mut self, connection: &Connection) {
        // The lock is waited for in `begin`, where the waiting can be told and ended. Without this, SQLite
        // would go on waiting for it by itself.
        let _ = connection.busy_handler(Some(wait_briefly));
        if let Err(error) = self.write_all(connection) {
            // From here on every send returns it. What was sent before is paid for, and is still
            // written as far as it can be.
            self.failure.get_or_init(|| Arc::new(error));
            self.receiver.close();
            self.rescue(connection);
        }
        if let Err(error) = self.give_back(connection) {
            self.failure.get_or_init(|| Arc::new(error));
        }
    }

    fn give_back(&mut self, connection: &Connection) -> Result<(), StoreError> {
        // There is nothing more to tell of a store that stays locked.
        self.lock.begin(connection, |_| {}).map_err(failed_to("begin to write to the store"))?;
        self.claim.release(connection).map_err(failed_to("give the run back"))?;
        commit(connection)
    }

    /// Begins a transaction; whoever listens is told where that takes long.
    fn begin(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let Self { lock, waiting, listener, .. } = self;
        let is_trial = |waiting: &&Waiting| matches!(waiting.write, Write::Trial(..));
        let tell = |patience| {
            if let Some(listener) = listener {
                let answers = waiting.iter().filter(is_trial).count() as u64;
                // Whoever no longer listens misses nothing.
                let _ = listener.events.send(RunEvent::StoreLocked { answers, patience });
            }
        };
        lock.begin(connection, tell).map_err(failed_to("begin to write to the store"))
    }

    /// Takes and writes until the channel is closed and empty.
    fn write_all(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut inserts = Inserts::prepare(connection).map_err(failed_to("prepare the store's writer"))?;
        let mut dictionaries = Dictionaries::of(connection, !keeps_answers(connection, self.claim.run())?)
            .map_err(failed_to("read the store's dictionaries"))?;
        let mut batch = Batch::default();
        let mut last_beat = Instant::now();
        while self.wait(connection, &mut last_beat)? {
            self.gather();
            self.pack_some(&mut dictionaries);
            self.begin(connection)?;
            dictionaries.save(connection).map_err(failed_to("store a dictionary"))?;
            let began = Instant::now();
            while let Some(waiting) = self.next() {
                if let Err(error) = batch.apply(waiting, &mut inserts) {
                    // The rows before the faulty one are good, unless SQLite took them back.
                    if commit(connection).is_ok() {
                        batch.tell(self.listener.as_ref());
                    }
                    return Err(error);
                }
                if batch.rows >= MAX_COMMIT_ROWS || began.elapsed() >= MAX_COMMIT_AGE {
                    break;
                }
            }
            if last_beat.elapsed() >= HEARTBEAT {
                last_beat = Instant::now();
                self.claim.beat(connection)?;
            }
            commit(connection)?;
            batch.tell(self.listener.as_ref());
        }
        Ok(())
    }

    /// Waits until there is something to write; `false` once there will never be. The heartbeat goes
    /// on meanwhile.
    fn wait(&mut self, connection: &Connection, last_beat: &mut Instant) -> Result<bool, StoreError> {
        while self.waiting.is_empty() {
            match self.take_within(HEARTBEAT) {
                Some(0) => return Ok(false),
                Some(_) => {}
                None => {
                    *last_beat = Instant::now();
                    self.begin(connection)?;
                    self.claim.beat(connection)?;
                    commit(connection)?;
                }
            }
        }
        Ok(true)
    }

    /// Lets what waits gather others, as long as it may.
    fn gather(&mut self) {
        self.take();
        let room = self.listener.as_ref().map_or(usize::MAX, |listener| listener.room.max(1));
        loop {
            let wait = may_wait(&self.waiting, room, Instant::now());
            // Nothing came in time, or nothing will ever come.
            if wait.is_zero() || matches!(self.take_within(wait), None | Some(0)) {
                return;
            }
        }
    }

    /// Takes what comes next and says how much; zero: nothing ever will, `None`: nothing did in time.
    fn take_within(&mut self, wait: Duration) -> Option<usize> {
        let mut taken = vec![];
        let more = self.receiver.recv_many(&mut taken, MAX_COMMIT_ROWS);
        let count = self.runtime.block_on(async { timeout(wait, more).await }).ok()?;
        self.keep(taken);
        Some(count)
    }

    /// The next thing to write, if there is one now that needs no packing first.
    fn next(&mut self) -> Option<Waiting> {
        if self.waiting.is_empty() {
            self.take();
        }
        if self.waiting.front()?.is_heavy() { None } else { self.waiting.pop_front() }
    }

    /// Takes what the channel holds now.
    fn take(&mut self) {
        let mut taken = vec![];
        self.receiver.recv_many(&mut taken, MAX_COMMIT_ROWS).now_or_never();
        self.keep(taken);
    }

    fn keep(&mut self, taken: Vec<Write>) {
        let now = Instant::now();
        self.waiting.extend(taken.into_iter().map(|write| Waiting::new(write, now)));
    }

    /// Packs the long answers among what comes next, on all cores and before the store is locked.
    fn pack_some(&mut self, dictionaries: &mut Dictionaries) {
        let dictionary = dictionaries.current.clone();
        let dictionary = dictionary.as_deref();
        let (mut heavy, mut next) = (vec![], self.waiting.iter_mut());
        while heavy.len() < PACKED_AT_ONCE
            && let Some(waiting) = next.next()
        {
            heavy.extend(waiting.is_heavy().then_some(waiting));
        }
        match heavy.as_mut_slice() {
            [one] => one.pack(dictionary),
            many => many.par_iter_mut().for_each(|waiting| waiting.pack(dictionary)),
        }
        for waiting in heavy {
            if let (Write::Trial(trial, _), Some(packed)) = (&waiting.write, &waiting.packed) {
                let came_to = packed.zstd.as_ref().map_or(trial.answer.len(), Vec::len);
                dictionaries.note(trial.key, &trial.answer, came_to);
            }
        }
    }

    /// Writes what is left after an error, each in a transaction of its own, as long as the store is not
    /// locked for too long. The first error is the one that is told; others follow from it.
    fn rescue(&mut self, connection: &Connection) {
        if !connection.is_autocommit() {
            // A commit failed and left its transaction open.
            drop(execute(connection, "ROLLBACK"));
        }
        let Ok(mut inserts) = Inserts::prepare(connection) else { return };
        self.lock.begin_rescue();
        loop {
            self.take();
            if self.waiting.is_empty() {
                return;
            }
            let begun = self.begin(connection);
            if matches!(&begun, Err(StoreError::Sql { source, .. }) if is_busy(source)) {
                return;
            }
            let Some(mut waiting) = self.waiting.pop_front() else { return };
            // The dictionary of what is packed already may have gone with the transaction.
            waiting.packed = None;
            let mut batch = Batch::default();
            let stored =
                begun.and_then(|()| batch.apply(waiting, &mut inserts)).and_then(|()| commit(connection));
            match stored {
                Ok(()) => batch.tell(self.listener.as_ref()),
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
    fn apply(&mut self, waiting: Waiting, inserts: &mut Inserts<'_>) -> Result<(), StoreError> {
        self.rows += 1;
        match waiting.write {
            Write::Trial(trial, attempts) => {
                self.rows += attempts.len();
                for attempt in &attempts {
                    inserts.attempt(trial.key, attempt).map_err(failed_to("store an attempt"))?;
                }
                let packed = waiting.packed.unwrap_or_else(|| pack(&trial.answer, None));
                inserts.packed_trial(&trial, &packed).map_err(failed_to("store a trial"))?;
                self.trials.push(trial.key);
            }
            Write::Attempt { key, attempt } => {
                inserts.attempt(key, &attempt).map_err(failed_to("store an attempt"))?;
            }
            Write::Scores { key, scores, verdict } => {
                inserts.scores(key, &scores, verdict).map_err(failed_to("store a trial's scores"))?;
            }
            Write::Retrieval { key, score } => {
                inserts.retrieval(key, &score).map_err(failed_to("store what a retrieval was worth"))?;
            }
            Write::Status { run, status, stop_reason } => {
                inserts
                    .status(run, status, stop_reason.as_deref())
                    .map_err(failed_to("store the run's status"))?;
            }
            Write::Asked { key, hash, reused } => {
                reuse::note(inserts.connection(), key, hash, reused.as_deref())
                    .map_err(failed_to("store what a trial was asked"))?;
            }
            Write::Queues { run, records } => {
                queue_log::insert(inserts.connection(), run, &records)?;
            }
            Write::Flush(done) => self.flushes.push(done),
        }
        Ok(())
    }

    /// Tells that all of it is committed, and starts anew. Whoever no longer listens misses nothing.
    fn tell(&mut self, listener: Option<&CommitListener>) {
        self.rows = 0;
        let trials = std::mem::take(&mut self.trials);
        if let Some(listener) = listener.filter(|_| !trials.is_empty()) {
            let _ = listener.committed.send(trials);
        }
        for done in self.flushes.drain(..) {
            let _ = done.send(());
        }
    }
}

/// Whether the run keeps its answers, so that they may be quoted in a dictionary.
fn keeps_answers(connection: &Connection, run: RunRow) -> Result<bool, StoreError> {
    connection
        .query_row("SELECT store_answers = 'full' FROM run WHERE id = ?", [run], |row| row.get(0))
        .map_err(failed_to("prepare the store's writer"))
}

fn commit(connection: &Connection) -> Result<(), StoreError> {
    execute(connection, "COMMIT").map_err(failed_to("commit to the store"))
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
