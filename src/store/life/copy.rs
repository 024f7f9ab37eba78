//! Copying the rows of runs from one store to another, column by column as the schemas list them.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter, types::Value};

use super::run_tables::run_tables;
use crate::domain::{AnswerKeeping, RunRow};
use crate::store::{
    error::{StoreError, failed_to},
    write::{
        answers::Answers,
        contents::Contents,
        packed::{Packed, length, pack, unpack},
    },
};

/// A run to be copied, whole or as one of several parts of one.
pub(super) struct Part<'a> {
    pub(in crate::store) connection: &'a Connection,
    pub(in crate::store) run: RunRow,
}

/// Tables that are not copied row by row.
const APART: [&str; 5] = ["run_lock", "run_shard", "grader", "price", "run_case"];

/// Copies the cases, trials and all else of `parts` into `run`, the cases in golden-set order.
pub(super) fn join_parts(to: &Connection, parts: &[Part<'_>], run: RunRow) -> Result<(), StoreError> {
    let failed = failed_to("copy a run");
    let places = places(parts).map_err(&failed)?;
    for (at, part) in parts.iter().enumerate() {
        let places = &places[at];
        let graders = copy_graders(part, to, run).map_err(&failed)?;
        let prices = copy_prices(part, to, run).map_err(&failed)?;
        copy_cases(part, to, run, places)?;
        let mut answers = AnswerMap::prepare(part.connection, to).map_err(&failed)?;
        let theirs = run_tables(part.connection).map_err(&failed)?;
        for table in theirs.iter().filter(|table| !APART.contains(&table.name.as_str())) {
            let shared = !table.is_per_trial();
            if at > 0 && shared {
                // Targets are those of the first part.
                continue;
            }
            copy_rows(part.connection, to, &table.name, "run = ?", part.run, &mut |column, value| {
                Ok(match (column, value) {
                    ("run", _) => Value::Integer(run.0),
                    ("case_position", Value::Integer(old)) => Value::Integer(place(places, old)?),
                    ("grader", Value::Integer(old)) if table.name == "score" => {
                        Value::Integer(graders.get(&old).copied().unwrap_or(old))
                    }
                    ("price", Value::Integer(old)) => {
                        Value::Integer(prices.get(&old).copied().unwrap_or(old))
                    }
                    ("answer", Value::Integer(old)) if table.name == "trial" => {
                        Value::Integer(answers.id_of(old)?)
                    }
                    (_, value) => value,
                })
            })
            .map_err(&failed)?;
        }
    }
    Ok(())
}

fn place(places: &HashMap<i64, i64>, old: i64) -> rusqlite::Result<i64> {
    places.get(&old).copied().ok_or(rusqlite::Error::IntegralValueOutOfRange(0, old))
}

/// For each part, where its cases stand in the joined run.
fn places(parts: &[Part<'_>]) -> rusqlite::Result<Vec<HashMap<i64, i64>>> {
    let mut order: Vec<(i64, usize, i64)> = vec![];
    for (at, part) in parts.iter().enumerate() {
        let mut cases = part
            .connection
            .prepare("SELECT coalesce(golden_position, position), position FROM run_case WHERE run = ?")?;
        let mut rows = cases.query([part.run])?;
        while let Some(row) = rows.next()? {
            order.push((row.get(0)?, at, row.get(1)?));
        }
    }
    order.sort_unstable();
    let mut places = vec![HashMap::new(); parts.len()];
    for (new, (_, at, old)) in (0..).zip(order) {
        places[at].insert(old, new);
    }
    Ok(places)
}

/// Copies the graders that the run does not have yet; where each stands there.
fn copy_graders(part: &Part<'_>, to: &Connection, run: RunRow) -> rusqlite::Result<HashMap<i64, i64>> {
    let mut theirs = part
        .connection
        .prepare("SELECT position, name, hard, kind, version FROM grader WHERE run = ? ORDER BY position")?;
    let mut rows = theirs.query([part.run])?;
    let mut places = HashMap::new();
    while let Some(row) = rows.next()? {
        let (old, name, hard): (i64, String, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (kind, version): (Option<String>, Option<String>) = (row.get(3)?, row.get(4)?);
        let known: Option<i64> = to
            .prepare_cached("SELECT position FROM grader WHERE run = ? AND name = ? AND hard = ?")?
            .query_row(params![run, name, hard], |row| row.get(0))
            .optional()?;
        let new = match known {
            Some(position) => position,
            None => to.query_row(
                "INSERT INTO grader (run, position, name, hard, kind, version)
                 SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3, ?4, ?5 FROM grader WHERE run = ?1
                 RETURNING position",
                params![run, name, hard, kind, version],
                |row| row.get(0),
            )?,
        };
        places.insert(old, new);
    }
    Ok(places)
}

/// Copies the price rows that the run does not have yet; where each stands there.
fn copy_prices(part: &Part<'_>, to: &Connection, run: RunRow) -> rusqlite::Result<HashMap<i64, i64>> {
    let mut theirs = part
        .connection
        .prepare("SELECT position, model, effective_from, tariff, region FROM price WHERE run = ?")?;
    let mut rows = theirs.query([part.run])?;
    let mut places = HashMap::new();
    let mut next: i64 = to.query_row("SELECT count(*) FROM price WHERE run = ?", [run], |row| row.get(0))?;
    while let Some(row) = rows.next()? {
        let old: i64 = row.get(0)?;
        let (model, from, tariff, region): (String, String, String, String) =
            (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
        let known: Option<i64> = to
            .prepare_cached(
                "SELECT position FROM price
                 WHERE run = ? AND model = ? AND effective_from = ? AND tariff = ? AND region = ?",
            )?
            .query_row(params![run, model, from, tariff, region], |row| row.get(0))
            .optional()?;
        places.insert(old, known.unwrap_or(next));
        next += i64::from(known.is_none());
    }
    copy_rows(part.connection, to, "price", "run = ?", part.run, &mut |column, value| {
        Ok(match (column, value) {
            ("run", _) => Value::Integer(run.0),
            ("position", Value::Integer(old)) => Value::Integer(place(&places, old)?),
            (_, value) => value,
        })
    })?;
    Ok(places)
}

fn copy_cases(
    part: &Part<'_>,
    to: &Connection,
    run: RunRow,
    places: &HashMap<i64, i64>,
) -> Result<(), StoreError> {
    let failed = failed_to("copy a run's cases");
    let mut contents = Contents::prepare(to).map_err(&failed)?;
    let mut find = part
        .connection
        .prepare("SELECT fingerprint, content, zstd FROM case_content WHERE id = ?")
        .map_err(&failed)?;
    let mut ids: HashMap<i64, i64> = HashMap::new();
    let mut theirs =
        part.connection.prepare("SELECT DISTINCT content FROM run_case WHERE run = ?").map_err(&failed)?;
    let mut rows = theirs.query([part.run]).map_err(&failed)?;
    while let Some(row) = rows.next().map_err(&failed)? {
        let old: i64 = row.get(0).map_err(&failed)?;
        let (fingerprint, plain, zstd): (Vec<u8>, String, Option<Vec<u8>>) =
            find.query_row([old], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).map_err(&failed)?;
        let new = contents.id_of(&fingerprint, || match zstd {
            None => Ok(plain),
            Some(packed) => unpack(&packed).map_err(|error| failed(rusqlite::Error::from(error))),
        })?;
        ids.insert(old, new);
    }
    copy_rows(part.connection, to, "run_case", "run = ?", part.run, &mut |column, value| {
        Ok(match (column, value) {
            ("run", _) => Value::Integer(run.0),
            ("position", Value::Integer(old)) => Value::Integer(place(places, old)?),
            ("content", Value::Integer(old)) => Value::Integer(ids.get(&old).copied().unwrap_or(old)),
            (_, value) => value,
        })
    })
    .map_err(&failed)
}

/// From the answers of one store to those of another, copied as they are met.
struct AnswerMap<'a> {
    find: rusqlite::Statement<'a>,
    answers: Answers<'a>,
    known: HashMap<i64, i64>,
}

impl<'a> AnswerMap<'a> {
    fn prepare(from: &'a Connection, to: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: from.prepare("SELECT hash, text, zstd, bytes FROM answer WHERE id = ?")?,
            answers: Answers::prepare(to)?,
            known: HashMap::new(),
        })
    }

    fn id_of(&mut self, old: i64) -> rusqlite::Result<i64> {
        if let Some(new) = self.known.get(&old) {
            return Ok(*new);
        }
        let (text, packed, keeping) = self.find.query_row([old], |row| {
            let (hash, text): (Option<[u8; 16]>, String) = (row.get(0)?, row.get(1)?);
            let zstd: Option<Vec<u8>> = row.get(2)?;
            let Some(hash) = hash else {
                let packed = pack(&text, None);
                return Ok((text, packed, AnswerKeeping::Full));
            };
            let keeping =
                if text.is_empty() && zstd.is_none() { AnswerKeeping::Hash } else { AnswerKeeping::Full };
            // The length of an answer that was forgotten is not known; it has a row nevertheless.
            let bytes = row.get::<_, Option<i64>>(3)?.unwrap_or(length(&text));
            Ok((text, Packed { hash, zstd, bytes }, keeping))
        })?;
        let new = self.answers.row_of(&text, &packed, keeping)?;
        self.known.insert(old, new);
        Ok(new)
    }
}

/// Copies the rows of `table` where `condition` holds of `key`, each value as `change` gives it; rows
/// that are there already stay.
pub(super) fn copy_rows(
    from: &Connection,
    to: &Connection,
    table: &str,
    condition: &str,
    key: RunRow,
    change: &mut dyn FnMut(&str, Value) -> rusqlite::Result<Value>,
) -> rusqlite::Result<()> {
    let mut select = from.prepare(&format!("SELECT * FROM {table} WHERE {condition}"))?;
    let columns: Vec<String> = select.column_names().into_iter().map(str::to_owned).collect();
    let marks = vec!["?"; columns.len()].join(", ");
    let mut insert = to.prepare(&format!(
        "INSERT INTO {table} ({}) VALUES ({marks}) ON CONFLICT DO NOTHING",
        columns.join(", ")
    ))?;
    let mut rows = select.query([key])?;
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            values.push(change(column, row.get(at)?)?);
        }
        insert.execute(params_from_iter(values))?;
    }
    Ok(())
}
