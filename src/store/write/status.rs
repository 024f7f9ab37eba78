//! Where a run stands.

use rusqlite::{Connection, params};

use crate::domain::{RunRow, RunStatus, UnixMillis};
use crate::store::{
    error::{StoreError, failed_to},
    open::Store,
};

impl Store {
    /// Says where a run stands. While a writer works on the run, send it the status instead: it
    /// then follows all that was sent before.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_status(
        &self,
        run: RunRow,
        status: RunStatus,
        stop_reason: Option<&str>,
    ) -> Result<(), StoreError> {
        set_status(&self.connection, run, status, stop_reason).map_err(failed_to("store the run's status"))
    }
}

impl Store {
    /// Says how a run ended of which nothing was left to ask: it ended when it did, or with its last trial
    /// where nobody was left to say so.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_ended(&self, run: RunRow, status: RunStatus) -> Result<(), StoreError> {
        self.connection
            .execute(
                "UPDATE run SET status = ?1, stop_reason = NULL, finished_at = coalesce(finished_at,
                    (SELECT max(finished_at) FROM trial WHERE run = ?2), ?3) WHERE id = ?2",
                params![status.as_str(), run, UnixMillis::now().0],
            )
            .map(drop)
            .map_err(failed_to("store the run's status"))
    }
}

/// Says where a run stands; a run that is not running has an end.
pub(super) fn set_status(
    connection: &Connection,
    run: RunRow,
    status: RunStatus,
    stop_reason: Option<&str>,
) -> rusqlite::Result<()> {
    let finished_at = (status != RunStatus::Running).then(|| UnixMillis::now().0);
    connection.execute(
        "UPDATE run SET status = ?, stop_reason = ?, finished_at = ? WHERE id = ?",
        params![status.as_str(), stop_reason, finished_at, run],
    )?;
    Ok(())
}
