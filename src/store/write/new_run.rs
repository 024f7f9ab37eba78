//! Making a run: all of it in one transaction, or nothing.

use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;

use super::{
    claim::{self, RunClaim},
    contents::Contents,
};
use crate::domain::{
    AnswerKeeping, Case, CasePos, Fingerprint, Price, RunId, RunRow, RunStatus, Shard, UnixMillis,
};
use crate::store::{
    case_content::content_json,
    columns::json,
    error::{StoreError, failed_to},
    frozen::{NewGrader, NewTarget},
    open::Store,
    prices,
};

/// Everything that is frozen when a run begins. Holds no secret.
#[derive(Clone, Debug)]
pub struct NewRun<'a> {
    /// The experiment's name, from which the run's is made.
    pub experiment: &'a str,
    /// The seed of all its draws.
    pub seed: u64,
    /// The golden set's fingerprint.
    pub golden_fingerprint: Fingerprint,
    /// Where it was read.
    pub golden_path: &'a str,
    /// Its name.
    pub golden_name: &'a str,
    /// The whole configuration.
    pub config: &'a Value,
    /// The gates as they stand before the first request.
    pub gates: Option<&'a Value>,
    /// The graders, resolved.
    pub graders: &'a [NewGrader],
    /// What is under test, in the experiment's order.
    pub targets: &'a [NewTarget],
    /// The price rows that the targets' models use.
    pub prices: &'a [Price],
    /// The version of this tool.
    pub tool_version: &'a str,
    /// The commit the experiment stands at.
    pub git_commit: Option<&'a str>,
    /// What is kept of its answers.
    pub store_answers: AnswerKeeping,
    /// The part of the golden set that it asks; `None`: all of it.
    pub shard: Option<Shard>,
    /// The place of each of its cases among those of all shards; empty when it has no shard.
    pub golden_positions: &'a [CasePos],
}

/// A run that was just made, and claimed by this process.
#[derive(Debug)]
pub struct CreatedRun {
    /// Its row.
    pub id: RunRow,
    /// Its name.
    pub name: RunId,
    /// The right to work on it.
    pub claim: RunClaim,
}

impl Store {
    /// Makes a run with its targets, prices, graders and cases, each case with how often it is
    /// asked. Its name is the experiment's and the next number; two processes never get the same.
    ///
    /// # Errors
    /// When the store cannot be written, or two cases or targets have the same name.
    pub fn create_run<'c>(
        &mut self,
        new: &NewRun<'_>,
        cases: impl IntoIterator<Item = (&'c Case, u32)>,
    ) -> Result<CreatedRun, StoreError> {
        let failed = failed_to("store the new run");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let (id, name) = insert_run(&transaction, new)?;
        insert_targets(&transaction, id, new.targets)?;
        insert_graders(&transaction, id, new.graders).map_err(&failed)?;
        prices::insert(&transaction, id, new.prices)?;
        insert_cases(&transaction, id, new.golden_positions, cases)?;
        let claim = claim::claim(&transaction, id).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(CreatedRun { id, name, claim })
    }
}

fn insert_run(connection: &Connection, new: &NewRun<'_>) -> Result<(RunRow, RunId), StoreError> {
    let failed = failed_to("store the new run");
    let number: i64 = connection
        .query_row(
            "SELECT coalesce(max(number), 0) + 1 FROM run WHERE experiment = ?",
            [new.experiment],
            |row| row.get(0),
        )
        .map_err(&failed)?;
    let name = format!("{}-{number}", new.experiment);
    connection
        .execute(
            "INSERT INTO run (name, experiment, number, status, seed, golden_fingerprint, golden_path,
                golden_name, config, gates, graders, tool_version, git_commit, created_at, store_answers)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                name,
                new.experiment,
                number,
                RunStatus::Running.as_str(),
                // SQLite's integers are signed, and a seed must come back as it was typed.
                new.seed.to_string(),
                new.golden_fingerprint.as_bytes(),
                new.golden_path,
                new.golden_name,
                json("the configuration", new.config)?,
                new.gates.map(|gates| json("the gates", gates)).transpose()?,
                json("the graders", new.graders)?,
                new.tool_version,
                new.git_commit,
                UnixMillis::now().0,
                new.store_answers.as_str(),
            ],
        )
        .map_err(&failed)?;
    let id = RunRow(connection.last_insert_rowid());
    if let Some(shard) = new.shard {
        connection
            .execute(
                "INSERT INTO run_shard (run, shard, of, created_at) SELECT id, ?, ?, created_at FROM run
                 WHERE id = ?",
                params![shard.number(), shard.of(), id],
            )
            .map_err(&failed)?;
    }
    Ok((id, RunId::from(name)))
}

fn insert_targets(connection: &Connection, run: RunRow, targets: &[NewTarget]) -> Result<(), StoreError> {
    for (position, target) in targets.iter().enumerate() {
        let config = json("a target", &target.config)?;
        connection
            .execute(
                "INSERT INTO target (run, position, name, provider, model, config) VALUES (?, ?, ?, ?, ?, ?)",
                params![
                    run,
                    row_number(position),
                    target.name.as_str(),
                    target.provider.as_str(),
                    target.model.as_str(),
                    config
                ],
            )
            .map_err(failed_to("store the new run's targets"))?;
    }
    Ok(())
}

fn insert_graders(connection: &Connection, run: RunRow, graders: &[NewGrader]) -> rusqlite::Result<()> {
    for (position, grader) in graders.iter().enumerate() {
        connection.execute(
            "INSERT INTO grader (run, position, name, hard, kind, version) VALUES (?, ?, ?, ?, ?, ?)",
            params![
                run,
                row_number(position),
                grader.name.as_str(),
                grader.hard,
                grader.kind,
                grader.version
            ],
        )?;
    }
    Ok(())
}

fn insert_cases<'c>(
    connection: &Connection,
    run: RunRow,
    golden_positions: &[CasePos],
    cases: impl IntoIterator<Item = (&'c Case, u32)>,
) -> Result<(), StoreError> {
    let failed = failed_to("store the new run's cases");
    let prepare = |sql| connection.prepare(sql).map_err(&failed);
    let mut contents = Contents::prepare(connection).map_err(&failed)?;
    let mut insert = prepare(
        "INSERT INTO run_case (run, position, case_id, content, split, cluster, weight, segment, repeats,
            pass_if, trace_id, golden_position)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for (position, (case, repeats)) in cases.into_iter().enumerate() {
        let content = contents.id_of(case.fingerprint.as_bytes(), || content_json(case))?;
        insert
            .execute(params![
                run,
                row_number(position),
                case.id.as_str(),
                content,
                case.split.map(|split| split.as_str()),
                case.cluster_or_id(),
                case.weight,
                json("a case's segments", &*case.segment)?,
                repeats,
                case.pass_if.to_string(),
                case.source.as_ref().and_then(|source| source.trace_id.as_deref()),
                golden_positions.get(position),
            ])
            .map_err(&failed)?;
    }
    Ok(())
}

fn row_number(position: usize) -> i64 {
    i64::try_from(position).expect("a list in memory has fewer than 2^63 members")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, thread};

    use tempfile::TempDir;

    use super::*;
    use crate::store::fixtures::{case, create};

    #[test]
    fn a_run_with_two_cases_of_one_id_is_not_made_at_all() {
        let mut store = Store::in_memory().unwrap();
        assert!(create(&mut store, &[case("a"), case("a")], 1).is_err());
        assert!(store.list_runs().unwrap().is_empty());
    }

    #[test]
    fn runs_made_at_once_get_different_numbers() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        let make = || {
            let mut store = Store::open(&path).unwrap();
            (0..10).map(|_| create(&mut store, &[case("a")], 1).unwrap().name).collect::<Vec<_>>()
        };
        let names: BTreeSet<RunId> = thread::scope(|scope| {
            let makers: Vec<_> = (0..4).map(|_| scope.spawn(make)).collect();
            makers.into_iter().flat_map(|maker| maker.join().unwrap()).collect()
        });
        assert_eq!(names.len(), 40);
        assert!(names.contains(&RunId::from("nightly-40")));
    }
}
