//! Who works on a run: at most one live process, so that no trial is asked twice.
//!
//! A claim is a row that names its process. On the same machine the process is looked up, which is
//! exact; from another machine (or where processes cannot be looked up) its heartbeat tells.

use std::{
    fs,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

use crate::domain::{RunId, RunRow, UnixMillis};
use crate::store::{
    error::{StoreError, failed_to},
    open::Store,
};

/// How often the writer renews its heartbeat.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);

/// A claim whose heartbeat is older than this is dead, where its process cannot be looked up.
const STALE_MS: i64 = 30_000;

/// How long a locked store is waited for by whoever gives a run back in passing.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The right of this process to work on one run. The store's writer renews it while it lives and
/// gives it back when it ends; a process that died loses it at once. Dropped before that, since something
/// failed on the way to the writer, it is given back, too.
#[derive(Debug)]
pub struct RunClaim {
    run: RunRow,
    token: String,
    /// The store in whose file it stands; `None`: in no file, or not any more.
    file: Option<PathBuf>,
}

impl RunClaim {
    /// The run's row.
    pub fn run(&self) -> RunRow {
        self.run
    }

    /// Renews the heartbeat.
    ///
    /// # Errors
    /// The store cannot be written, or the claim is not there any more: two would ask the same trials.
    pub(super) fn beat(&self, connection: &Connection) -> Result<(), StoreError> {
        let renewed = connection.execute(
            "UPDATE run_lock SET heartbeat_at = ? WHERE run = ? AND claim = ?",
            params![UnixMillis::now().0, self.run, self.token],
        );
        match renewed.map_err(failed_to("renew the claim on the run"))? {
            0 => Err(StoreError::ClaimLost),
            _ => Ok(()),
        }
    }

    /// Gives the run back.
    pub(in crate::store) fn release(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .execute("DELETE FROM run_lock WHERE run = ? AND claim = ?", params![self.run, self.token])?;
        self.file = None;
        Ok(())
    }
}

impl Drop for RunClaim {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let released =
            Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|connection| {
                connection.busy_timeout(LAST_WAIT).and_then(|()| self.release(&connection))
            });
        if let Err(error) = released {
            tracing::warn!(%error, file = %file.display(), "a run cannot be given back before this process ends");
        }
    }
}

impl Store {
    /// Claims a run for this process.
    ///
    /// # Errors
    /// When a live process (this one included) works on it.
    pub fn claim_run(&mut self, run: RunRow) -> Result<RunClaim, StoreError> {
        let failed = failed_to("claim the run");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        if let Some(holder) = Holder::of(&transaction, run).map_err(&failed)?.filter(Holder::is_alive) {
            let name: String = transaction
                .query_row("SELECT name FROM run WHERE id = ?", [run], |row| row.get(0))
                .map_err(&failed)?;
            return Err(StoreError::Claimed {
                run: RunId::from(name),
                pid: holder.pid,
                machine: holder.machine.split(' ').next().unwrap_or_default().to_owned(),
            });
        }
        let claim = claim(&transaction, run).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(claim)
    }

    /// Gives a run back on which this process does not work after all.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn give_back(&self, mut claim: RunClaim) -> Result<(), StoreError> {
        claim.release(&self.connection).map_err(failed_to("give the run back"))
    }

    /// Whether a live process works on the run. A run that is *running* without one was
    /// interrupted by the death of its process.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn is_worked_on(&self, run: RunRow) -> Result<bool, StoreError> {
        let holder = Holder::of(&self.connection, run).map_err(failed_to("read the run's claim"))?;
        Ok(holder.is_some_and(|holder| holder.is_alive()))
    }
}

/// Writes this process's claim over whatever is there.
pub(in crate::store) fn claim(connection: &Connection, run: RunRow) -> rusqlite::Result<RunClaim> {
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    let pid = process::id();
    let now = UnixMillis::now().0;
    // Two claims of one process differ too: one that was lost cannot give back its successor's.
    let token = format!("{pid}-{now}-{}", CLAIMS.fetch_add(1, Ordering::Relaxed));
    connection.execute(
        "INSERT OR REPLACE INTO run_lock (run, machine, pid, process_started, claim, heartbeat_at)
         VALUES (?, ?, ?, ?, ?, ?)",
        params![run, machine(), pid, process_started(pid), token, now],
    )?;
    let file = connection.path().filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(RunClaim { run, token, file })
}

/// The process behind a claim.
struct Holder {
    machine: String,
    pid: u32,
    process_started: Option<i64>,
    heartbeat_at: i64,
}

impl Holder {
    fn of(connection: &Connection, run: RunRow) -> rusqlite::Result<Option<Self>> {
        connection
            .query_row(
                "SELECT machine, pid, process_started, heartbeat_at FROM run_lock WHERE run = ?",
                [run],
                |row| {
                    Ok(Self {
                        machine: row.get(0)?,
                        pid: row.get(1)?,
                        process_started: row.get(2)?,
                        heartbeat_at: row.get(3)?,
                    })
                },
            )
            .optional()
    }

    fn is_alive(&self) -> bool {
        match self.process_started {
            // Process ids are used again: only one that also began at the same tick is the same.
            Some(started) if self.machine == machine() => process_started(self.pid) == Some(started),
            _ => UnixMillis::now().0.saturating_sub(self.heartbeat_at) < STALE_MS,
        }
    }
}

/// What tells this machine, since its last boot and within its container, from others: processes
/// with the same `machine` see each other. The host's name comes first.
fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let host = read("/proc/sys/kernel/hostname");
    let boot = read("/proc/sys/kernel/random/boot_id");
    let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let host = match host.trim() {
        "" => "another machine",
        host => host,
    };
    format!("{host} {} {}", boot.trim(), processes.display())
}

/// When a process began, in clock ticks since boot (field 22 of `/proc/<pid>/stat`, see proc(5));
/// `None` when there is no such process, or no `/proc`.
fn process_started(pid: u32) -> Option<i64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses, which may itself hold blanks and parentheses.
    let (_, after_command) = stat.rsplit_once(')')?;
    let mut fields = after_command.split_whitespace();
    // A process that is dead but not yet collected by its parent (state Z) works on nothing.
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (state != "Z").then_some(started)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::{case, create, store_with};

    fn set(store: &Store, sql: &str) {
        store.connection.execute_batch(sql).unwrap();
    }

    #[test]
    fn a_run_that_is_worked_on_cannot_be_claimed_again() {
        let (mut store, mut run) = store_with(1, 1);
        assert!(store.is_worked_on(run.id).unwrap());
        let error = store.claim_run(run.id).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("run `nightly-1` is being worked on by process {}", process::id()))
        );
        run.claim.release(&store.connection).unwrap();
        assert!(!store.is_worked_on(run.id).unwrap());
        store.claim_run(run.id).unwrap();
    }

    #[test]
    fn a_claim_that_is_lost_on_the_way_to_the_writer_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().join("a.db")).unwrap();
        let created = create(&mut store, &[case("a")], 1).unwrap();
        let run = created.id;
        assert!(store.is_worked_on(run).unwrap());
        drop(created);
        assert!(!store.is_worked_on(run).unwrap());
        // What is late does not give back its successor's.
        let late = store.claim_run(run).unwrap();
        set(&store, "UPDATE run_lock SET claim = 'of another'");
        drop(late);
        assert!(store.is_worked_on(run).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_is_gone_or_whose_number_is_used_again_holds_nothing() {
        let (mut store, mut run) = store_with(1, 1);
        set(&store, "UPDATE run_lock SET process_started = process_started - 1");
        assert!(!store.is_worked_on(run.id).unwrap());
        set(&store, "UPDATE run_lock SET process_started = process_started + 1, pid = 4000000000");
        let taken = store.claim_run(run.id).unwrap();
        // What is late does not take away its successor's claim.
        run.claim.release(&store.connection).unwrap();
        assert!(store.is_worked_on(taken.run()).unwrap());
    }

    #[test]
    fn a_claim_that_was_taken_away_is_noticed_at_the_next_heartbeat() {
        let (store, run) = store_with(1, 1);
        run.claim.beat(&store.connection).unwrap();
        set(&store, "UPDATE run_lock SET claim = 'of another'");
        assert!(matches!(run.claim.beat(&store.connection), Err(StoreError::ClaimLost)));
        set(&store, "DELETE FROM run_lock");
        assert!(matches!(run.claim.beat(&store.connection), Err(StoreError::ClaimLost)));
    }

    #[test]
    fn from_another_machine_the_heartbeat_tells() {
        let (store, run) = store_with(1, 1);
        set(&store, "UPDATE run_lock SET machine = 'elsewhere', pid = 4000000000");
        assert!(store.is_worked_on(run.id).unwrap());
        set(&store, "UPDATE run_lock SET heartbeat_at = heartbeat_at - 31000");
        assert!(!store.is_worked_on(run.id).unwrap());
        run.claim.beat(&store.connection).unwrap();
        assert!(store.is_worked_on(run.id).unwrap());
    }
}
