//! How long the writer waits for a store that another process has locked.
//!
//! Between two processes that write, a lock lasts milliseconds. One that lasts longer is somebody's open
//! transaction, and nobody knows when it ends: whoever looks on is told, and may end the waiting.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode};

use crate::store::open::BUSY_POLL;

/// How long the writer waits for a lock.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Patience {
    /// Until whoever looks on is told.
    pub(in crate::store) quiet: Duration,
    /// Until the session is over.
    pub(in crate::store) session: Duration,
    /// And then, until what was paid and is not stored is given up: all of it together.
    pub(in crate::store) rescue: Duration,
    /// Once the user wants an end: another process's ordinary write is still waited for.
    pub(in crate::store) hurried: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(5),
            session: Duration::from_secs(30),
            rescue: Duration::from_secs(300),
            hurried: Duration::from_secs(1),
        }
    }
}

/// Ends the waiting for a locked store: what then waits to be stored is lost.
#[derive(Clone, Debug, Default)]
pub struct Hurry(Arc<AtomicBool>);

impl Hurry {
    /// From now on no lock is waited for longer than other processes' ordinary writes take.
    pub fn up(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The writer's waits for the lock.
#[derive(Debug)]
pub(super) struct LockWait {
    patience: Patience,
    hurry: Hurry,
    /// When what is rescued must be stored.
    rescued_until: Option<Instant>,
}

impl LockWait {
    pub(super) fn new(patience: Patience, hurry: Hurry) -> Self {
        Self { patience, hurry, rescued_until: None }
    }

    /// From now on all waits together take no longer than a rescue may.
    pub(super) fn begin_rescue(&mut self) {
        self.rescued_until = Some(Instant::now() + self.patience.rescue);
    }

    /// Begins a transaction once nobody else writes. `tell` is told once, with how long it still waits.
    pub(super) fn begin(
        &self,
        connection: &Connection,
        mut tell: impl FnMut(Duration),
    ) -> rusqlite::Result<()> {
        let began = Instant::now();
        let until = self.rescued_until.unwrap_or(began + self.patience.session);
        let mut is_told = false;
        loop {
            // Immediate: the lock is waited for here, and not at the first row, where a stale snapshot
            // would be refused at once.
            match connection.prepare_cached("BEGIN IMMEDIATE")?.execute([]) {
                Err(error) if is_busy(&error) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() || (self.hurry.is_on() && began.elapsed() >= self.patience.hurried) {
                        return Err(error);
                    }
                    if !is_told && (self.rescued_until.is_some() || began.elapsed() >= self.patience.quiet) {
                        is_told = true;
                        tell(left);
                    }
                    thread::sleep(BUSY_POLL);
                }
                begun => return begun.map(drop),
            }
        }
    }
}

/// Whether another connection holds what this one needs.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
