//! Answers of earlier runs that a later run may use again.

use rusqlite::{Connection, Row, params};

use super::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
    read::trials::{self, StoredTrial},
    write::packed::hash_of,
};
use crate::domain::{Cost, RunRow, TargetPos, TrialKey};

/// What identifies a request: a hash over everything that is sent, and its repeat.
pub type RequestHash = [u8; 32];

/// An answer that was given to an identical request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reusable {
    /// The trial that got it, as it is stored.
    pub trial: StoredTrial,
}

/// What a target got from earlier runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReusedTotals {
    /// Trials whose answer came from an earlier run.
    pub trials: u64,
    /// What those answers cost when they were asked, as far as it is known.
    pub original_cost: Cost,
    /// Answers whose cost then is not known.
    pub original_unknown: u64,
}

/// Notes what a stored trial was asked, and the earlier answer that it got.
pub(super) fn note(
    connection: &Connection,
    key: TrialKey,
    hash: RequestHash,
    reused: Option<&Reusable>,
) -> rusqlite::Result<()> {
    let original = reused.map(|reused| &reused.trial.record);
    connection
        .prepare_cached(
            "UPDATE trial SET request_hash = ?, original_run = (SELECT name FROM run WHERE id = ?), original_cost_picodollars = ?,
                original_latency_ms = ?
             WHERE run = ? AND target = ? AND case_position = ? AND repeat = ?",
        )?
        .execute(params![
            hash,
            original.map(|record| record.key.run),
            original.and_then(|record| record.cost).map(Cost::picodollars),
            original.and_then(|record| record.latency_ms),
            key.run,
            key.target,
            key.case,
            key.repeat
        ])?;
    Ok(())
}

impl Store {
    /// The newest answer that a run before `run` got for the request of that hash. Only what was asked
    /// itself counts, not what was used again, so that every copy names its original.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find_answer(&self, run: RunRow, hash: &RequestHash) -> Result<Option<Reusable>, StoreError> {
        let query = format!(
            "SELECT {}, t.answer IS NULL AS is_empty, a.id IS NOT NULL AS is_there, a.hash AS text_hash
             FROM trial t LEFT JOIN answer a ON a.id = t.answer
             WHERE t.request_hash = ? AND t.run < ? AND t.source = 'live'
                AND t.outcome IN ('answered', 'truncated', 'refused')
             ORDER BY t.run DESC, t.finished_at DESC LIMIT 1",
            trials::TRIAL
        );
        self.connection
            .prepare_cached(&query)
            .and_then(|mut statement| statement.query_map(params![hash, run], intact)?.next().transpose())
            .map(|found| found.flatten().map(|trial| Reusable { trial }))
            .map_err(failed_to("look for an earlier answer"))
    }

    /// What a target got from earlier runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn reused(&self, run: RunRow, target: TargetPos) -> Result<ReusedTotals, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT count(*), coalesce(sum(original_cost_picodollars), 0),
                    count(*) - count(original_cost_picodollars)
                 FROM trial WHERE run = ? AND target = ? AND source = 'cache'",
            )
            .and_then(|mut statement| {
                statement.query_row(params![run, target], |row| {
                    let mut columns = Columns::of(row);
                    Ok(ReusedTotals {
                        trials: columns.count()?,
                        original_cost: columns.cost()?.unwrap_or_default(),
                        original_unknown: columns.count()?,
                    })
                })
            })
            .map_err(failed_to("read which answers were used again"))
    }
}

/// A stored trial whose answer can be given again; `None`: only a hash of it was kept, its text is gone, or
/// it is not the text that was stored.
fn intact(row: &Row<'_>) -> rusqlite::Result<Option<StoredTrial>> {
    let trial = trials::stored_trial(row)?;
    let hash: Option<[u8; 16]> = row.get("text_hash")?;
    let is_whole = match (row.get("is_empty")?, row.get("is_there")?) {
        (true, _) => true,
        (false, is_there) => is_there && hash.is_none_or(|hash| hash == hash_of(&trial.record.answer)),
    };
    Ok((is_whole && trial.answer_kept).then_some(trial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{AnswerSource, TrialRecord},
        store::{
            fixtures::{answered, case, create, key},
            write::insert::Inserts,
        },
    };

    #[test]
    fn an_answer_is_found_by_later_runs_only_and_a_copy_names_its_original() {
        let mut store = Store::in_memory().unwrap();
        let runs: Vec<RunRow> = (0..3).map(|_| create(&mut store, &[case("a")], 1).unwrap().id).collect();
        let hash = [7; 32];
        let first = answered(key(runs[0], 0, 0, 1), "yes");
        Inserts::prepare(&store.connection).unwrap().trial(&first).unwrap();
        note(&store.connection, first.key, hash, None).unwrap();
        assert_eq!(store.find_answer(runs[0], &hash).unwrap(), None);
        assert_eq!(store.find_answer(runs[1], &[8; 32]).unwrap(), None);
        let found = store.find_answer(runs[1], &hash).unwrap().unwrap();
        assert_eq!(found.trial.record, first);

        let copy = TrialRecord {
            key: key(runs[1], 0, 0, 1),
            source: AnswerSource::Cache,
            cost: Some(Cost::ZERO),
            latency_ms: None,
            ..first.clone()
        };
        Inserts::prepare(&store.connection).unwrap().trial(&copy).unwrap();
        note(&store.connection, copy.key, hash, Some(&found)).unwrap();
        let totals = store.reused(runs[1], TargetPos(0)).unwrap();
        assert_eq!((totals.trials, totals.original_cost), (1, first.cost.unwrap()));
        assert_eq!(totals.original_unknown, 0);
        assert_eq!(store.find_answer(runs[2], &hash).unwrap().unwrap().trial.record.key.run, runs[0]);

        // The same of an answer that nobody could price.
        let unpriced =
            Reusable { trial: StoredTrial { record: TrialRecord { cost: None, ..first }, ..found.trial } };
        note(&store.connection, copy.key, hash, Some(&unpriced)).unwrap();
        let totals = store.reused(runs[1], TargetPos(0)).unwrap();
        assert_eq!((totals.trials, totals.original_cost, totals.original_unknown), (1, Cost::ZERO, 1));
    }

    #[test]
    fn an_answer_that_is_gone_or_changed_is_asked_again() {
        let long = "a long answer ".repeat(200);
        for text in ["yes", "", long.as_str()] {
            let mut store = Store::in_memory().unwrap();
            let runs: Vec<RunRow> = (0..2).map(|_| create(&mut store, &[case("a")], 1).unwrap().id).collect();
            let record = answered(key(runs[0], 0, 0, 1), text);
            Inserts::prepare(&store.connection).unwrap().trial(&record).unwrap();
            note(&store.connection, record.key, [7; 32], None).unwrap();
            let finds = |damage: &str| {
                store.connection.execute_batch(&format!("SAVEPOINT damage; {damage};")).unwrap();
                let found = store.find_answer(runs[1], &[7; 32]).unwrap().is_some();
                store.connection.execute_batch("ROLLBACK TO damage; RELEASE damage").unwrap();
                found
            };
            store.connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            assert!(finds(""), "{text}");
            assert_eq!(finds("DELETE FROM answer"), text.is_empty(), "{text}");
            assert!(!finds("UPDATE trial SET answer = 9999"), "{text}");
            let other = "UPDATE answer SET text = 'no', zstd = NULL";
            assert_eq!(finds(other), text.is_empty(), "{text}");
        }
    }
}
