//! Forgetting one person: their words out of every run, the numbers kept.

use std::collections::BTreeSet;

use rusqlite::{Connection, TransactionBehavior, params};

use super::run_tables::{RunTable, run_tables};
use crate::domain::{CasePos, RunRow};
use crate::store::{
    error::{StoreError, failed_to},
    open::Store,
    write::{
        answers::Answers,
        packed::{pack, unpack},
    },
};

/// Whose words go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget<'a> {
    /// Those of the case of that id.
    Case(&'a str),
    /// Those of the cases that came from that trace.
    Trace(&'a str),
}

/// What was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The cases, each once, by id.
    pub cases: Vec<String>,
    /// In how many runs.
    pub runs: u64,
    /// How many trials.
    pub trials: u64,
}

/// A case of a run that is to be forgotten.
struct Row {
    run: RunRow,
    position: CasePos,
    case: String,
    content: i64,
}

impl Store {
    /// Takes a person's words out of every run: inputs, contexts, expectations, answers, messages of
    /// failures, request ids and the graders' reasons. Outcomes, verdicts, values, tokens, costs and
    /// times stay. The file is written anew and the log emptied, so that no byte of them is left in
    /// either. A text that a case of another id shares word for word stays with that one.
    ///
    /// # Errors
    /// When no run holds such a case, a run is being worked on, or another process reads the store
    /// (then the words are out of the rows, and the same command must be given again).
    pub fn forget(&mut self, which: Forget<'_>) -> Result<Forgotten, StoreError> {
        self.refuse_while_running()?;
        self.finish_deletions()?;
        let failed = failed_to("forget the case");
        self.connection.execute_batch("PRAGMA secure_delete = ON").map_err(&failed)?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let rows = rows(&transaction, which).map_err(&failed)?;
        let forgotten = forget_rows(&transaction, &rows).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        self.vacuum()?;
        if rows.is_empty() {
            let (Forget::Case(text) | Forget::Trace(text)) = which;
            return Err(StoreError::NothingToForget { text: text.to_owned() });
        }
        Ok(forgotten)
    }
}

fn rows(connection: &Connection, which: Forget<'_>) -> rusqlite::Result<Vec<Row>> {
    // Runs of before version 2 have no trace: their cases are known by the ids that later ones give.
    let (condition, text) = match which {
        Forget::Case(id) => ("case_id = ?1", id),
        Forget::Trace(trace) => (
            "case_id IN (SELECT case_id FROM run_case WHERE trace_id = ?1)
             AND (trace_id IS NULL OR trace_id = ?1)",
            trace,
        ),
    };
    connection
        .prepare(&format!("SELECT run, position, case_id, content FROM run_case WHERE {condition}"))?
        .query_map([text], |row| {
            Ok(Row { run: row.get(0)?, position: row.get(1)?, case: row.get(2)?, content: row.get(3)? })
        })?
        .collect()
}

fn forget_rows(connection: &Connection, rows: &[Row]) -> rusqlite::Result<Forgotten> {
    let tables = run_tables(connection)?;
    let mut forgotten = Forgotten::default();
    let mut runs: Vec<RunRow> = vec![];
    let cases: BTreeSet<&str> = rows.iter().map(|row| row.case.as_str()).collect();
    for case in cases {
        forget_dictionaries(connection, case)?;
    }
    for row in rows {
        forget_stop_reasons(connection, row)?;
        forgotten.trials += forget_trials(connection, &tables, row)?;
        connection.execute(
            "UPDATE run_case SET trace_id = NULL WHERE run = ? AND position = ?",
            params![row.run, row.position],
        )?;
        connection.execute(
            "UPDATE case_content SET content = '', zstd = NULL WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM run_case WHERE content = ?1 AND case_id <> ?2)",
            params![row.content, row.case],
        )?;
        forgotten.cases.push(row.case.clone());
        runs.push(row.run);
    }
    forgotten.cases.sort_unstable();
    forgotten.cases.dedup();
    runs.sort_unstable();
    runs.dedup();
    forgotten.runs = runs.len() as u64;
    Ok(forgotten)
}

/// Drops the dictionaries that quote a case; the texts that need them are packed without.
fn forget_dictionaries(connection: &Connection, case: &str) -> rusqlite::Result<()> {
    let quoting: Vec<(i64, Vec<u8>)> = connection
        .prepare(
            "SELECT d.id, d.name FROM dictionary d JOIN dictionary_case c ON c.dictionary = d.id
             WHERE c.case_id = ?",
        )?
        .query_map([case], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, name) in quoting {
        let answers: Vec<i64> = connection
            .prepare("SELECT id FROM answer WHERE substr(zstd, 1, 8) = ?")?
            .query_map([&name], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for answer in answers {
            let packed: Vec<u8> = connection
                .prepare_cached("SELECT zstd FROM answer WHERE id = ?")?
                .query_row([answer], |row| row.get(0))?;
            let text = unpack(&packed)?;
            let packed = pack(&text, None);
            let plain = if packed.zstd.is_some() { "" } else { text.as_str() };
            connection.execute(
                "UPDATE answer SET text = ?, zstd = ? WHERE id = ?",
                params![plain, packed.zstd, answer],
            )?;
        }
        connection.execute("DELETE FROM dictionary_case WHERE dictionary = ?", [id])?;
        connection.execute("DELETE FROM dictionary WHERE id = ?", [id])?;
    }
    Ok(())
}

/// Takes what failures of the case said out of the reasons why runs stopped.
fn forget_stop_reasons(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    let messages: Vec<String> = connection
        .prepare_cached(
            "SELECT message FROM attempt WHERE run = ?1 AND case_position = ?2 AND message <> ''
             UNION SELECT failure_message FROM trial
             WHERE run = ?1 AND case_position = ?2 AND failure_message <> ''",
        )?
        .query_map(params![row.run, row.position], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for message in messages {
        for sql in [
            "UPDATE run SET stop_reason = replace(stop_reason, ?1, '(forgotten)') WHERE id = ?2",
            "UPDATE run_shard SET stop_reason = replace(stop_reason, ?1, '(forgotten)') WHERE run = ?2",
        ] {
            connection.prepare_cached(sql)?.execute(params![message, row.run])?;
        }
    }
    Ok(())
}

/// Takes the words out of a case's trials; how many they were.
fn forget_trials(connection: &Connection, tables: &[RunTable], row: &Row) -> rusqlite::Result<u64> {
    const TRIALS: &str = "run = ?1 AND case_position = ?2";
    let key = params![row.run, row.position];
    let answers: Vec<i64> = connection
        .prepare_cached(&format!("SELECT DISTINCT answer FROM trial WHERE {TRIALS} AND answer IS NOT NULL"))?
        .query_map(key, |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // One row stands for all answers that are no longer known: a hash that no text has.
    connection.execute(
        "INSERT INTO answer (hash, text, bytes) VALUES (zeroblob(16), '', 0) ON CONFLICT DO NOTHING",
        [],
    )?;
    let trials = connection.execute(
        &format!(
            "UPDATE trial SET answer = iif(answer IS NULL, NULL,
                                           (SELECT id FROM answer WHERE hash = zeroblob(16))),
                failure_message = iif(failure_message IS NULL, NULL, ''), usage_raw = NULL,
                request_id = NULL
             WHERE {TRIALS}"
        ),
        key,
    )?;
    connection.execute(
        &format!(
            "UPDATE attempt SET message = iif(message IS NULL, NULL, ''), usage_raw = NULL, request_id = NULL,
                stderr = NULL
             WHERE {TRIALS}"
        ),
        key,
    )?;
    connection.execute(&format!("UPDATE score SET reason = '' WHERE {TRIALS}"), key)?;
    connection
        .execute(&format!("UPDATE application SET retrieved = NULL, meta = NULL WHERE {TRIALS}"), key)?;
    // What other tables say of a trial is words until known otherwise.
    let known = ["trial", "attempt", "score", "application"];
    for table in tables.iter().filter(|table| table.is_per_trial() && !known.contains(&table.name.as_str())) {
        connection.execute(&format!("DELETE FROM {} WHERE {TRIALS}", table.name), key)?;
    }
    let mut unused = Answers::prepare(connection)?;
    answers.into_iter().try_for_each(|answer| unused.drop_unused(answer))?;
    Ok(trials as u64)
}
