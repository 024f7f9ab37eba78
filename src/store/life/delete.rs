//! Deleting runs, in steps short enough that neither readers nor a run that goes on wait for it.

use rusqlite::{Connection, ToSql, TransactionBehavior, params};

use super::run_tables::{RunTable, run_tables};
use crate::domain::{RunRow, TargetPos, UnixMillis};
use crate::store::{
    error::{StoreError, failed_to},
    open::Store,
    write::answers::Answers,
};

/// About how many trials one transaction deletes.
const TRIALS_A_STEP: u32 = 2_000;

impl Store {
    /// Deletes a run with everything that belongs to it alone. It is out of every list at once; its
    /// rows go step by step, and what an interruption leaves goes with the next deletion.
    ///
    /// # Errors
    /// When a live process works on it, or the store cannot be written.
    pub fn delete_run(&mut self, run: RunRow) -> Result<(), StoreError> {
        // The claim keeps others from resuming it; it goes with the run.
        let _claim = self.claim_run(run)?;
        self.connection
            .execute("UPDATE run SET deleted_at = ? WHERE id = ?", params![UnixMillis::now().0, run])
            .map_err(failed_to("delete the run"))?;
        self.finish_deletions()
    }

    /// Deletes the rows of all runs that are marked as deleted.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn finish_deletions(&mut self) -> Result<(), StoreError> {
        let failed = failed_to("delete a run's rows");
        let marked: Vec<RunRow> = self
            .connection
            .prepare("SELECT id FROM run WHERE deleted_at IS NOT NULL")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .map_err(&failed)?;
        for run in marked {
            self.delete_rows(run).map_err(&failed)?;
        }
        Ok(())
    }

    fn delete_rows(&mut self, run: RunRow) -> rusqlite::Result<()> {
        let tables = run_tables(&self.connection)?;
        let (cases, repeats): (i64, u32) = self.connection.query_row(
            "SELECT coalesce(max(position) + 1, 0), coalesce(max(repeats), 1) FROM run_case WHERE run = ?",
            [run],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let targets: Vec<TargetPos> = self
            .connection
            .prepare("SELECT position FROM target WHERE run = ?")?
            .query_map([run], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let step = i64::from((TRIALS_A_STEP / repeats).max(1));
        for target in targets {
            let mut from = 0;
            while from < cases {
                let transaction =
                    self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                delete_trials(&transaction, &tables, params![run, target, from, from + step])?;
                transaction.commit()?;
                from += step;
            }
        }
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        delete_whole_run(&transaction, &tables, run)?;
        transaction.commit()
    }
}

/// Deletes the trials of `[run, target, from, to]`, cases `from..to`, and what belongs to them.
fn delete_trials(connection: &Connection, tables: &[RunTable], range: &[&dyn ToSql]) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    const WHERE: &str = "run = ? AND target = ? AND case_position >= ? AND case_position < ?";
    let answers = numbers(
        connection,
        &format!("SELECT DISTINCT answer FROM trial WHERE {WHERE} AND answer IS NOT NULL"),
        range,
    )?;
    for table in tables.iter().filter(|table| table.is_per_trial()) {
        connection.prepare_cached(&format!("DELETE FROM {} WHERE {WHERE}", table.name))?.execute(range)?;
    }
    let mut unused = Answers::prepare(connection)?;
    answers.into_iter().try_for_each(|answer| unused.drop_unused(answer))
}

/// Deletes the run and all that is left of it. It must be marked as deleted if it has answers.
pub(super) fn delete_whole_run(
    connection: &Connection,
    tables: &[RunTable],
    run: RunRow,
) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    let answers = numbers(
        connection,
        "SELECT DISTINCT answer FROM trial WHERE run = ? AND answer IS NOT NULL",
        params![run],
    )?;
    let contents = numbers(connection, "SELECT DISTINCT content FROM run_case WHERE run = ?", params![run])?;
    for table in tables {
        connection.execute(&format!("DELETE FROM {} WHERE run = ?", table.name), [run])?;
    }
    connection.execute("DELETE FROM run WHERE id = ?", [run])?;
    let mut unused = Answers::prepare(connection)?;
    answers.into_iter().try_for_each(|answer| unused.drop_unused(answer))?;
    let mut unused = connection.prepare(
        "DELETE FROM case_content WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM run_case WHERE content = ?1)",
    )?;
    contents.into_iter().try_for_each(|content| unused.execute([content]).map(drop))
}

fn numbers(connection: &Connection, sql: &str, parameters: &[&dyn ToSql]) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(sql)?.query_map(parameters, |row| row.get(0))?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::Verdict,
        store::{
            fixtures::{answered, case, create, key, score},
            write::insert::Inserts,
        },
    };

    fn count(store: &Store, table: &str) -> i64 {
        store.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_deleted_run_takes_along_what_no_other_run_has() {
        let mut store = Store::in_memory().unwrap();
        let first = create(&mut store, &[case("a"), case("b")], 2).unwrap().id;
        let second = create(&mut store, &[case("b"), case("c")], 2).unwrap().id;
        for (run, texts) in [(first, ["only first", "both"]), (second, ["both", "only second"])] {
            let mut inserts = Inserts::prepare(&store.connection).unwrap();
            for (case, text) in (0..).zip(texts) {
                let key = key(run, 0, case, 1);
                inserts.trial(&answered(key, text)).unwrap();
                inserts.scores(key, &[score(Verdict::Pass)], Verdict::Pass).unwrap();
            }
        }
        store.connection.execute("DELETE FROM run_lock", []).unwrap();
        store.delete_run(first).unwrap();
        assert_eq!(store.list_runs().unwrap().len(), 1);
        for (table, rows) in [
            ("run", 1),
            ("target", 2),
            ("grader", 1),
            ("run_case", 2),
            ("case_content", 2),
            ("trial", 2),
            ("answer", 2),
            ("score", 2),
            ("run_lock", 0),
            ("pragma_foreign_key_check", 0),
        ] {
            assert_eq!(count(&store, table), rows, "{table}");
        }
    }

    #[test]
    fn a_run_that_is_worked_on_is_not_deleted() {
        let mut store = Store::in_memory().unwrap();
        let run = create(&mut store, &[case("a")], 1).unwrap();
        assert!(matches!(store.delete_run(run.id), Err(StoreError::Claimed { .. })));
        assert_eq!(store.list_runs().unwrap().len(), 1);
    }
}
