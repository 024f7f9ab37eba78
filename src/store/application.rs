//! What an application told beside its answer: what it retrieved, what that was worth, and the rest.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{
    CasePos, Repeat, RetrievalScore, Retrieved, RunRow, TargetPos, TrialKey, TrialRecord, Verdict,
};

/// What one trial's retrieval was worth, beside what became of its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrievalRow {
    /// The case's position.
    pub case: CasePos,
    /// The repeat, from 1.
    pub repeat: Repeat,
    /// What the graders said of the answer; `None`: it is not graded.
    pub verdict: Option<Verdict>,
    /// What the retrieval was worth; `None`: the case labels no source, so nothing can be said.
    pub score: Option<RetrievalScore>,
}

/// Writes what the application told of a trial's answer, if it told anything.
pub(super) fn insert(connection: &Connection, trial: &TrialRecord) -> rusqlite::Result<()> {
    if trial.retrieved.is_none() && trial.meta.is_none() {
        return Ok(());
    }
    let TrialKey { run, target, case, repeat } = trial.key;
    let retrieved = trial.retrieved.as_ref().map(|passages| {
        serde_json::to_string(passages).expect("passages are texts and finite numbers, or null")
    });
    let meta = trial.meta.as_ref().map(ToString::to_string);
    connection
        .prepare_cached(
            "INSERT INTO application (run, target, case_position, repeat, retrieved, meta)
             VALUES (?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![run, target, case, repeat, retrieved, meta])
        .map(drop)
}

/// Writes what the retrieval of a stored trial was worth.
pub(super) fn score(connection: &Connection, key: TrialKey, score: &RetrievalScore) -> rusqlite::Result<()> {
    let RetrievalScore { k, hit, recall, fact_recall } = score;
    connection
        .prepare_cached(
            "UPDATE application SET k = ?, hit = ?, recall = ?, fact_recall = ?
             WHERE run = ? AND target = ? AND case_position = ? AND repeat = ?",
        )?
        .execute(params![k, hit, recall, fact_recall, key.run, key.target, key.case, key.repeat])
        .map(drop)
}

impl Store {
    /// What the application retrieved for a trial; `None` when it did not tell.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn retrieved(&self, key: TrialKey) -> Result<Option<Vec<Retrieved>>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT retrieved FROM application
                 WHERE run = ? AND target = ? AND case_position = ? AND repeat = ?",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![key.run, key.target, key.case, key.repeat], |row| {
                        Columns::of(row).optional_json()
                    })
                    .optional()
            })
            .map(Option::flatten)
            .map_err(failed_to("read what a trial retrieved"))
    }

    /// Calls `each` with every trial of a target whose application told what it retrieved, by case
    /// and repeat.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_retrieval<E: From<StoreError>>(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(RetrievalRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read what retrievals were worth");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT p.case_position, p.repeat, t.verdict, p.k, p.hit, p.recall, p.fact_recall
                 FROM application p
                 JOIN trial t ON t.run = p.run AND t.target = p.target
                    AND t.case_position = p.case_position AND t.repeat = p.repeat
                 WHERE p.run = ? AND p.target = ? AND (p.retrieved IS NOT NULL OR p.k IS NOT NULL)
                 ORDER BY p.case_position, p.repeat",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || {
                let (case, repeat, verdict) = (columns.take()?, columns.take()?, columns.optional_name()?);
                let k: Option<u32> = columns.take()?;
                let (hit, recall): (Option<bool>, Option<f64>) = (columns.take()?, columns.take()?);
                let fact_recall = columns.take()?;
                let score = k.zip(hit).zip(recall).map(|((k, hit), recall)| RetrievalScore {
                    k,
                    hit,
                    recall,
                    fact_recall,
                });
                Ok(RetrievalRow { case, repeat, verdict, score })
            };
            each(read().map_err(&failed)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        fixtures::{answered, key, store_with},
        write::insert::Inserts,
    };

    fn passage(doc: &str) -> Retrieved {
        Retrieved { doc: doc.to_owned(), chunk: None, text: "text".to_owned(), score: Some(1.5) }
    }

    #[test]
    fn what_was_retrieved_is_read_by_key_by_target_and_by_sql() {
        let (store, run) = store_with(2, 1);
        let mut inserts = Inserts::prepare(&store.connection).unwrap();
        let (first, second) = (key(run.id, 0, 0, 1), key(run.id, 0, 1, 1));
        for (key, retrieved) in [(first, vec![passage("a"), passage("b")]), (second, vec![])] {
            inserts.trial(&TrialRecord { retrieved: Some(retrieved), ..answered(key, "x") }).unwrap();
        }
        let worth = RetrievalScore { k: 5, hit: true, recall: 0.5, fact_recall: None };
        inserts.retrieval(first, &worth).unwrap();
        drop(inserts);

        assert_eq!(store.retrieved(first).unwrap().unwrap().len(), 2);
        assert_eq!(store.retrieved(second).unwrap(), Some(vec![]), "nothing found is not nothing told");
        let mut rows = vec![];
        store
            .for_each_retrieval::<StoreError>(run.id, TargetPos(0), |row| {
                rows.push((row.case, row.score));
                Ok(())
            })
            .unwrap();
        assert_eq!(rows, [(CasePos(0), Some(worth)), (CasePos(1), None)]);
        let docs: String = store
            .connection
            .query_row("SELECT group_concat(rank || doc || score) FROM retrieved_view", [], |row| row.get(0))
            .unwrap();
        assert_eq!(docs, "1a1.5,2b1.5");
        let hits: i64 =
            store.connection.query_row("SELECT sum(hit) FROM retrieval_view", [], |row| row.get(0)).unwrap();
        assert_eq!(hits, 1);
    }
}
