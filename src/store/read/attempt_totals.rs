//! What attempts came to: those that failed may have been billed, too.

use rusqlite::params;

use crate::domain::{Cost, RunRow, TargetPos};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// What the failed attempts of a target cost beyond its trials' own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptTotals {
    /// All requests made.
    pub attempts: u64,
    /// Those that failed.
    pub failed: u64,
    /// Known cost of those that failed.
    pub failed_cost: Cost,
    /// Failed ones that may have been billed at an unknown cost.
    pub failed_unpriced: u64,
}

impl Store {
    /// What a run has spent as far as it is known: the cost of all its attempts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn spent(&self, run: RunRow) -> Result<Cost, StoreError> {
        self.connection
            .prepare_cached("SELECT coalesce(sum(cost_picodollars), 0) FROM attempt WHERE run = ?")
            .and_then(|mut statement| {
                statement.query_row([run], |row| Ok(Columns::of(row).cost()?.unwrap_or_default()))
            })
            .map_err(failed_to("read what the run has spent"))
    }

    /// What a target's attempts came to, the failed ones apart.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn attempt_totals(&self, run: RunRow, target: TargetPos) -> Result<AttemptTotals, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT count(*), count(class), coalesce(sum(cost_picodollars) FILTER (WHERE class IS NOT NULL), 0),
                    count(*) FILTER (WHERE may_be_billed AND cost_picodollars IS NULL)
                 FROM attempt WHERE run = ? AND target = ?",
            )
            .and_then(|mut statement| {
                statement.query_row(params![run, target], |row| {
                    let mut columns = Columns::of(row);
                    Ok(AttemptTotals {
                        attempts: columns.count()?,
                        failed: columns.count()?,
                        failed_cost: columns.cost()?.unwrap_or_default(),
                        failed_unpriced: columns.count()?,
                    })
                })
            })
            .map_err(failed_to("read the attempts"))
    }
}
