//! What a resume needs to know: which trials are done, and how far the others got.

use rusqlite::params;
use serde_json::Value;

use super::{
    columns::{Columns, failure},
    error::{StoreError, failed_to},
    open::Store,
    write::{RunClaim, answers::NOT_KEPT},
};
use crate::domain::{ErrorClass, Failure, Outcome, RunRow, TrialKey};

/// A stored trial, as lean as a resume needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoneTrial {
    /// Which trial.
    pub key: TrialKey,
    /// How it ended.
    pub outcome: Outcome,
    /// What followed from its failure, when it failed: whether it is worth asking again.
    pub failure_class: Option<ErrorClass>,
    /// Attempts made for it so far.
    pub attempts: u32,
    /// Whether it is to be graded.
    pub gradable: bool,
    /// Whether it has been graded.
    pub has_verdict: bool,
}

/// A trial that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedTrial {
    /// Which trial.
    pub key: TrialKey,
    /// Why.
    pub failure: Failure,
    /// Attempts made for it so far.
    pub attempts: u32,
}

/// Which trials to grade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToGrade {
    /// Those without a verdict.
    Ungraded,
    /// Those with one, too.
    All,
}

impl Store {
    /// Keeps another configuration with a run, for whoever has claimed it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn keep_config(&self, claim: &RunClaim, config: &Value) -> Result<(), StoreError> {
        self.connection
            .execute("UPDATE run SET config = ? WHERE id = ?", params![config.to_string(), claim.run()])
            .map(drop)
            .map_err(failed_to("keep the run's configuration"))
    }

    /// Calls `each` with every stored trial of a run, by target, case and repeat. Reads no answer.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_done<E: From<StoreError>>(
        &self,
        run: RunRow,
        mut each: impl FnMut(DoneTrial) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read which trials are done");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT run, target, case_position, repeat, outcome, failure_class, attempts, gradable,
                    verdict IS NOT NULL
                 FROM trial WHERE run = ? ORDER BY target, case_position, repeat",
            )
            .map_err(&failed)?;
        let mut rows = statement.query([run]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || {
                Ok(DoneTrial {
                    key: columns.key()?,
                    outcome: columns.name()?,
                    failure_class: columns.optional_name()?,
                    attempts: columns.take()?,
                    gradable: columns.take()?,
                    has_verdict: columns.take()?,
                })
            };
            each(read().map_err(&failed)?)?;
        }
        Ok(())
    }

    /// How many attempts were made for pending trials: those that have attempts and no end, since
    /// their process died or their queue stopped. Their next attempt has the next number.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn attempts_of_pending(&self, run: RunRow) -> Result<Vec<(TrialKey, u32)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT a.run, a.target, a.case_position, a.repeat, max(a.number) FROM attempt a
                 WHERE a.run = ? AND NOT EXISTS (
                    SELECT 1 FROM trial t WHERE t.run = a.run AND t.target = a.target
                        AND t.case_position = a.case_position AND t.repeat = a.repeat)
                 GROUP BY a.run, a.target, a.case_position, a.repeat",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([run], |row| {
                        let mut columns = Columns::of(row);
                        Ok((columns.key()?, columns.take()?))
                    })?
                    .collect()
            })
            .map_err(failed_to("read the attempts of pending trials"))
    }

    /// Calls `each` with every failed trial of a run, by target, case and repeat.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_failed<E: From<StoreError>>(
        &self,
        run: RunRow,
        mut each: impl FnMut(FailedTrial) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read the failed trials");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT run, target, case_position, repeat, attempts, failure_class, failure_kind,
                    failure_status, failure_retry_after_ms, failure_may_be_billed, failure_message
                 FROM trial WHERE run = ? AND failure_kind IS NOT NULL
                 ORDER BY target, case_position, repeat",
            )
            .map_err(&failed)?;
        let mut rows = statement.query([run]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || {
                let (key, attempts) = (columns.key()?, columns.take()?);
                let failure = failure(
                    columns.optional_name()?,
                    columns.optional_name()?,
                    columns.take()?,
                    columns.take()?,
                    columns.take()?,
                    columns.take()?,
                );
                Ok(failure.map(|failure| FailedTrial { key, failure, attempts }))
            };
            if let Some(trial) = read().map_err(&failed)? {
                each(trial)?;
            }
        }
        Ok(())
    }

    /// Calls `each` with the outcome and the answer of every trial that is to be graded, by target,
    /// case and repeat; one answer is in memory at a time. Answers that were not kept are left out.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_to_grade<E: From<StoreError>>(
        &self,
        run: RunRow,
        which: ToGrade,
        mut each: impl FnMut(TrialKey, Outcome, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read the answers to grade");
        let mut statement = self
            .connection
            .prepare_cached(&format!(
                "SELECT t.run, t.target, t.case_position, t.repeat, t.outcome, a.text, a.zstd
                     FROM trial t LEFT JOIN answer a ON a.id = t.answer
                     WHERE t.run = ? AND t.gradable = 1 AND (? OR t.verdict IS NULL) AND NOT {NOT_KEPT}
                     ORDER BY t.target, t.case_position, t.repeat"
            ))
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, which == ToGrade::All]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || Ok((columns.key()?, columns.name()?, columns.packed_text()?));
            let (key, outcome, answer) = read().map_err(&failed)?;
            each(key, outcome, &answer)?;
        }
        Ok(())
    }
}
