//! Bringing runs of other stores into this one, and the shards of one experiment into one run.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde_json::Value;

use super::{
    copy::{Part, join_parts},
    delete::delete_whole_run,
    run_tables::run_tables,
};
use crate::domain::{RunId, RunRow, RunStatus};
use crate::store::{
    error::{StoreError, failed_to},
    open::Store,
    read::find::RunDetail,
    write::dictionary,
};

/// What merging must know of the configurations that runs are stored with. The store keeps them for
/// others and does not read them.
#[derive(Clone, Copy, Debug)]
pub struct ConfigForm {
    /// Whether two configurations are those of parts of one run.
    pub is_one_run: fn(&Value, &Value) -> bool,
    /// The configuration of the whole run that parts with this one make.
    pub whole: fn(&Value) -> Value,
}

/// What became of one run of another store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// It is a run of this store now.
    Added {
        /// Its name here.
        name: RunId,
    },
    /// Shards were joined.
    Joined {
        /// The run's name here.
        name: RunId,
        /// Shards that it has now.
        shards: usize,
        /// Shards there are.
        of: u32,
    },
    /// It was merged before.
    AlreadyThere {
        /// Its name.
        name: RunId,
    },
}

/// A shard that a run holds.
#[derive(Clone, Debug)]
pub(super) struct ShardRow {
    pub(in crate::store) shard: u32,
    pub(in crate::store) of: u32,
    pub(in crate::store) created_at: i64,
    pub(in crate::store) status: RunStatus,
    pub(in crate::store) stop_reason: Option<String>,
}

/// A run of one of the stores.
struct Candidate {
    /// Which of the other stores; `None`: this one.
    store: Option<usize>,
    detail: RunDetail,
    shards: Vec<ShardRow>,
}

/// Runs that become one.
struct Group {
    members: Vec<Candidate>,
    name: Option<RunId>,
}

impl Store {
    /// Takes over the runs of other stores. Shards of one experiment that agree in settings, golden
    /// set and seed become one run, as one machine would have made it. All of it happens, or nothing.
    /// `renumber`: a run whose name is taken gets the next number of its experiment. `form` tells which
    /// settings agree.
    ///
    /// # Errors
    /// When a store is this one, has runs that do not fit (each is named), or cannot be read.
    pub fn merge(
        &mut self,
        others: &[PathBuf],
        renumber: bool,
        form: &ConfigForm,
    ) -> Result<Vec<Merged>, StoreError> {
        for other in others {
            if is_same_file(self.path(), other) {
                return Err(StoreError::MergeOfItself { path: other.clone() });
            }
        }
        let stores: Vec<Store> = others.iter().map(Store::open_to_read).collect::<Result<_, _>>()?;
        let (groups, mut done) = self.plan(&stores, renumber, form)?;
        let failed = failed_to("merge the stores");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        for other in &stores {
            dictionary::copy(&other.connection, &transaction).map_err(&failed)?;
        }
        for group in &groups {
            done.push(write(&transaction, &stores, group, form)?);
        }
        transaction.commit().map_err(&failed)?;
        Ok(done)
    }

    /// Which runs become one, and which are here already.
    fn plan(
        &self,
        stores: &[Store],
        renumber: bool,
        form: &ConfigForm,
    ) -> Result<(Vec<Group>, Vec<Merged>), StoreError> {
        let mut own = self.candidates(None)?;
        let (mut groups, mut done, mut conflicts): (Vec<Group>, Vec<Merged>, Vec<String>) =
            (vec![], vec![], vec![]);
        for (at, store) in stores.iter().enumerate() {
            for candidate in store.candidates(Some(at))? {
                let name = candidate.detail.row.name.clone();
                let place = store.path().display();
                if store.is_worked_on(candidate.detail.row.id)? {
                    conflicts.push(format!("run `{name}` of `{place}` is still being worked on"));
                    continue;
                }
                let known = || own.iter().chain(groups.iter().flat_map(|group| &group.members));
                if known().any(|other| other.is_whole_of(&candidate)) {
                    done.push(Merged::AlreadyThere { name });
                    continue;
                }
                if !candidate.shards.is_empty() {
                    let of_name =
                        |other: &Candidate| other.detail.row.experiment == candidate.detail.row.experiment;
                    let group = groups
                        .iter()
                        .position(|group| group.members.iter().all(|m| m.joins(&candidate, form)));
                    if let Some(group) = group {
                        groups[group].members.push(candidate);
                        continue;
                    }
                    if let Some(here) = own.iter().position(|run| run.joins(&candidate, form)) {
                        let here = own.remove(here);
                        let name = Some(here.detail.row.name.clone());
                        groups.push(Group { members: vec![here, candidate], name });
                        continue;
                    }
                    let misfit = known().filter(|other| of_name(other) && !other.shards.is_empty()).find_map(
                        |other| {
                            other.why_not(&candidate, form).map(|why| (other.detail.row.name.clone(), why))
                        },
                    );
                    if let Some((other, why)) = misfit.filter(|_| !renumber) {
                        conflicts.push(format!(
                            "shard {} of `{place}` does not join run `{other}`: {why}",
                            candidate.shard_names()
                        ));
                        continue;
                    }
                }
                let taken = known().find(|other| other.detail.row.name == name);
                match taken {
                    Some(other) if !renumber => {
                        let why = if other.detail.row.golden_fingerprint
                            == candidate.detail.row.golden_fingerprint
                        {
                            "that name is taken by another run"
                        } else {
                            "that name is taken by a run of another golden set"
                        };
                        conflicts.push(format!("run `{name}` of `{place}`: {why}"));
                    }
                    taken => {
                        let name = taken.is_none().then_some(name);
                        groups.push(Group { members: vec![candidate], name });
                    }
                }
            }
        }
        if conflicts.is_empty() { Ok((groups, done)) } else { Err(StoreError::MergeConflicts { conflicts }) }
    }

    fn candidates(&self, store: Option<usize>) -> Result<Vec<Candidate>, StoreError> {
        let mut candidates = vec![];
        for row in self.list_runs()?.into_iter().rev() {
            let mut shards =
                shards(&self.connection, row.id).map_err(failed_to("read the shards of a run"))?;
            if let [only] = shards.as_mut_slice()
                && only.status == RunStatus::Running
            {
                // A shard's own run says itself how it ended; without a process it was interrupted.
                only.status =
                    if row.status == RunStatus::Running { RunStatus::Interrupted } else { row.status };
                only.stop_reason.clone_from(&row.stop_reason);
            }
            candidates.push(Candidate { store, detail: self.run_detail(row.id)?, shards });
        }
        Ok(candidates)
    }
}

impl Candidate {
    /// Whether `other`, or all of its shards, are in this run already.
    fn is_whole_of(&self, other: &Self) -> bool {
        let same = |a: &Self, b: &Self| {
            a.detail.row.experiment == b.detail.row.experiment
                && a.detail.row.golden_fingerprint == b.detail.row.golden_fingerprint
                && a.detail.seed == b.detail.seed
        };
        if other.shards.is_empty() {
            return self.shards.is_empty()
                && same(self, other)
                && self.detail.row.created_at == other.detail.row.created_at
                && self.detail.config == other.detail.config;
        }
        same(self, other)
            && other.shards.iter().all(|wanted| {
                self.shards.iter().any(|has| {
                    (has.shard, has.of, has.created_at) == (wanted.shard, wanted.of, wanted.created_at)
                })
            })
    }

    /// Whether both are parts of one run.
    fn joins(&self, other: &Self, form: &ConfigForm) -> bool {
        !self.shards.is_empty()
            && self.detail.row.experiment == other.detail.row.experiment
            && self.why_not(other, form).is_none()
    }

    /// Why both are no parts of one run, though of one experiment.
    fn why_not(&self, other: &Self, form: &ConfigForm) -> Option<String> {
        let of = |run: &Self| run.shards.first().map(|shard| shard.of);
        if self.detail.row.golden_fingerprint != other.detail.row.golden_fingerprint {
            return Some("it is of another golden set".to_owned());
        }
        if self.detail.seed != other.detail.seed {
            return Some(format!("its seed is {} and not {}", other.detail.seed, self.detail.seed));
        }
        if of(self) != of(other) {
            return Some("it is one of another number of shards".to_owned());
        }
        if !(form.is_one_run)(&self.detail.config, &other.detail.config) {
            return Some("its settings differ".to_owned());
        }
        let twice = self.shards.iter().find(|has| other.shards.iter().any(|new| new.shard == has.shard));
        twice.map(|shard| format!("shard {}/{} is there already, from another run", shard.shard, shard.of))
    }

    fn shard_names(&self) -> String {
        let names: Vec<String> =
            self.shards.iter().map(|shard| format!("{}/{}", shard.shard, shard.of)).collect();
        names.join(", ")
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (fs::canonicalize(a), fs::canonicalize(b)) {
        (Ok(a), Ok(b)) if a == b => true,
        #[cfg(unix)]
        (Ok(a), Ok(b)) => {
            use std::os::unix::fs::MetadataExt;
            let key = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
            key(&a).is_some() && key(&a) == key(&b)
        }
        _ => false,
    }
}

fn shards(connection: &Connection, run: RunRow) -> rusqlite::Result<Vec<ShardRow>> {
    connection
        .prepare(
            "SELECT shard, of, created_at, status, stop_reason FROM run_shard WHERE run = ? ORDER BY shard",
        )?
        .query_map([run], |row| {
            let mut columns = crate::store::columns::Columns::of(row);
            Ok(ShardRow {
                shard: columns.take()?,
                of: columns.take()?,
                created_at: columns.take()?,
                status: columns.optional_name()?.unwrap_or(RunStatus::Running),
                stop_reason: columns.take()?,
            })
        })?
        .collect()
}

/// Writes a group as one run.
fn write(
    connection: &Connection,
    stores: &[Store],
    group: &Group,
    form: &ConfigForm,
) -> Result<Merged, StoreError> {
    let failed = failed_to("merge the stores");
    connection.execute_batch("PRAGMA defer_foreign_keys = ON").map_err(&failed)?;
    let first = &group.members[0].detail;
    let parts: Vec<Part<'_>> = group
        .members
        .iter()
        .map(|member| Part {
            connection: member.store.map_or(connection, |at| &stores[at].connection),
            run: member.detail.row.id,
        })
        .collect();
    let run = insert_run(connection, &parts[0]).map_err(&failed)?;
    join_parts(connection, &parts, run)?;
    let own = group.members.iter().filter(|member| member.store.is_none());
    for member in own {
        remove(connection, member.detail.row.id).map_err(&failed)?;
    }
    let name = name_run(connection, run, first, group.name.as_ref()).map_err(&failed)?;
    let mut shards: Vec<&ShardRow> = group.members.iter().flat_map(|member| &member.shards).collect();
    let Some(of) = shards.first().map(|shard| shard.of) else {
        return Ok(Merged::Added { name });
    };
    shards.sort_by_key(|shard| shard.shard);
    settle(connection, run, &shards, group, form).map_err(&failed)?;
    Ok(Merged::Joined { name, shards: shards.len(), of })
}

/// Copies the run's own row, under a name that is not yet its own.
fn insert_run(connection: &Connection, part: &Part<'_>) -> rusqlite::Result<RunRow> {
    super::copy::copy_rows(part.connection, connection, "run", "id = ?", part.run, &mut |column, value| {
        match column {
            "id" => Ok(rusqlite::types::Value::Null),
            "name" => Ok(rusqlite::types::Value::Text("~merging".to_owned())),
            "number" => Ok(rusqlite::types::Value::Integer(-1)),
            _ => Ok(value),
        }
    })?;
    Ok(RunRow(connection.last_insert_rowid()))
}

fn remove(connection: &Connection, run: RunRow) -> rusqlite::Result<()> {
    connection.execute("UPDATE run SET deleted_at = 0 WHERE id = ?", [run])?;
    delete_whole_run(connection, &run_tables(connection)?, run)
}

/// Gives the run its name: the wanted one, or the next of its experiment.
fn name_run(
    connection: &Connection,
    run: RunRow,
    first: &RunDetail,
    wanted: Option<&RunId>,
) -> rusqlite::Result<RunId> {
    let experiment = &first.row.experiment;
    let number_of = |name: &RunId| -> Option<i64> {
        name.as_str().strip_prefix(experiment.as_str())?.strip_prefix('-')?.parse().ok()
    };
    let taken = |number: i64| {
        let sql = "SELECT 1 FROM run WHERE experiment = ? AND number = ?";
        connection.query_row(sql, params![experiment, number], |_| Ok(())).optional()
    };
    let number = match wanted.and_then(number_of) {
        Some(number) if taken(number)?.is_none() => number,
        _ => connection.query_row(
            "SELECT max(0, coalesce(max(number), 0)) + 1 FROM run WHERE experiment = ?",
            [experiment],
            |row| row.get(0),
        )?,
    };
    let name = format!("{experiment}-{number}");
    connection.execute("UPDATE run SET name = ?, number = ? WHERE id = ?", params![name, number, run])?;
    Ok(RunId::from(name))
}

/// Notes the shards and where the joined run stands.
fn settle(
    connection: &Connection,
    run: RunRow,
    shards: &[&ShardRow],
    group: &Group,
    form: &ConfigForm,
) -> rusqlite::Result<()> {
    for shard in shards {
        connection.execute(
            "INSERT INTO run_shard (run, shard, of, created_at, status, stop_reason)
             VALUES (?, ?, ?, ?, ?, ?)",
            params![run, shard.shard, shard.of, shard.created_at, shard.status.as_str(), shard.stop_reason],
        )?;
    }
    let of = shards.first().map_or(0, |shard| shard.of);
    let missing: Vec<String> = (1..=of)
        .filter(|number| !shards.iter().any(|shard| shard.shard == *number))
        .map(|number| number.to_string())
        .collect();
    let worst = shards.iter().find(|shard| shard.status != RunStatus::Complete);
    let (status, reason) = match (missing.as_slice(), worst) {
        ([], None) => (RunStatus::Complete, None),
        ([], Some(shard)) => (shard.status, shard.stop_reason.clone()),
        (missing, _) => {
            let reason = format!("shards missing of {of}: {}", missing.join(", "));
            (RunStatus::Incomplete, Some(reason))
        }
    };
    let rows = || group.members.iter().map(|member| &member.detail.row);
    let began = rows().map(|row| row.created_at.0).min();
    let ended = rows().filter_map(|row| row.finished_at).map(|end| end.0).max();
    connection.execute(
        "UPDATE run SET status = ?, stop_reason = ?, created_at = ?, finished_at = ? WHERE id = ?",
        params![status.as_str(), reason, began, ended, run],
    )?;
    if missing.is_empty() {
        // It is now the run that one machine would have made.
        let config = serde_json::to_string(&(form.whole)(&group.members[0].detail.config))
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        connection.execute("UPDATE run SET config = ? WHERE id = ?", params![config, run])?;
    }
    Ok(())
}
