//! What attempts came to: those that failed may have been billed, too.

use rusqlite::params;

use crate::domain::{CasePos, Cost, RunRow, TargetPos};
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
    /// Attempts that were lost and may have been billed at an unknown cost: failed and cancelled ones.
    pub lost_unpriced: u64,
}

/// The attempts of run `?1` that may have been billed at a cost nobody told: failed or cancelled ones that
/// may be billed, and answers without a price. An attempt stays, whatever becomes of its trial.
const UNPRICED: &str = "SELECT target, case_position, class IS NOT NULL AS is_lost FROM attempt
    WHERE run = ?1 AND cost_picodollars IS NULL AND (class IS NULL OR may_be_billed)";

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

    /// How many attempts for each (target, case) may have been billed at a cost nobody told, answers
    /// without a price among them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn unpriced_attempts(&self, run: RunRow) -> Result<Vec<(TargetPos, CasePos, u64)>, StoreError> {
        self.connection
            .prepare_cached(&format!(
                "SELECT target, case_position, count(*) FROM ({UNPRICED}) GROUP BY target, case_position"
            ))
            .and_then(|mut statement| {
                statement
                    .query_map([run], |row| {
                        let mut columns = Columns::of(row);
                        Ok((columns.take()?, columns.take()?, columns.count()?))
                    })?
                    .collect()
            })
            .map_err(failed_to("read the attempts of unknown cost"))
    }

    /// What a target's attempts came to, the failed ones apart.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn attempt_totals(&self, run: RunRow, target: TargetPos) -> Result<AttemptTotals, StoreError> {
        self.connection
            .prepare_cached(
                &format!("SELECT count(*), count(class), coalesce(sum(cost_picodollars) FILTER (WHERE class IS NOT NULL), 0),
                    (SELECT count(*) FROM ({UNPRICED}) WHERE is_lost AND target = ?2)
                 FROM attempt WHERE run = ?1 AND target = ?2"),
            )
            .and_then(|mut statement| {
                statement.query_row(params![run, target], |row| {
                    let mut columns = Columns::of(row);
                    Ok(AttemptTotals {
                        attempts: columns.count()?,
                        failed: columns.count()?,
                        failed_cost: columns.cost()?.unwrap_or_default(),
                        lost_unpriced: columns.count()?,
                    })
                })
            })
            .map_err(failed_to("read the attempts"))
    }
}
