//! Everything of a run, one trial at a time.

use super::trials::{StoredTrial, TRIAL, scores, stored_trial};
use crate::domain::{CaseId, RunRow, Score, TargetName};
use crate::store::{
    error::{StoreError, failed_to},
    open::Store,
};

/// One line of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedTrial {
    /// The case's id.
    pub case: CaseId,
    /// The target's name.
    pub target: TargetName,
    /// The trial.
    pub trial: StoredTrial,
    /// What the graders said of it, in the case's order.
    pub scores: Vec<Score>,
}

impl Store {
    /// Calls `each` with every stored trial of a run in golden-set order (by case, target and
    /// repeat); one trial is in memory at a time.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_trial<E: From<StoreError>>(
        &self,
        run: RunRow,
        mut each: impl FnMut(ExportedTrial) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read the trials");
        // CROSS JOIN fixes the order of the loops, so that nothing needs to be sorted.
        let query = format!(
            "SELECT {TRIAL}, c.case_id, g.name
             FROM run_case c
             CROSS JOIN target g ON g.run = c.run
             CROSS JOIN trial t ON t.run = c.run AND t.target = g.position AND t.case_position = c.position
             LEFT JOIN answer a ON a.id = t.answer
             WHERE c.run = ?
             ORDER BY c.position, g.position, t.repeat"
        );
        let mut statement = self.connection.prepare_cached(&query).map_err(&failed)?;
        let mut rows = statement.query([run]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let read = || {
                let trial = stored_trial(row)?;
                Ok(ExportedTrial {
                    case: row.get::<_, String>("case_id")?.into(),
                    target: row.get::<_, String>("name")?.into(),
                    scores: scores(&self.connection, trial.record.key)?,
                    trial,
                })
            };
            each(read().map_err(&failed)?)?;
        }
        Ok(())
    }
}
