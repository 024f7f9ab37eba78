//! Finding a run by what a person types, and what is known of it as a whole.

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use crate::domain::{Aside, Fingerprint, RunId, RunRow, RunStatus, UnixMillis, nearest};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    frozen::{NewGrader, NewTarget},
    open::Store,
};

/// How many names a message offers.
const OFFERED: usize = 8;

/// One run among others.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedRun {
    /// Its row.
    pub id: RunRow,
    /// Its name.
    pub name: RunId,
    /// The experiment it belongs to.
    pub experiment: String,
    /// Where it stands. *Running* without a live process ([`Store::is_worked_on`]) was interrupted.
    pub status: RunStatus,
    /// When it was made.
    pub created_at: UnixMillis,
    /// When it last ended; `None` while it runs.
    pub finished_at: Option<UnixMillis>,
    /// Why it ended before all was done.
    pub stop_reason: Option<String>,
    /// The golden set's fingerprint.
    pub golden_fingerprint: Fingerprint,
    /// The golden set's name.
    pub golden_name: String,
}

/// All that was frozen when a run began.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDetail {
    /// What lists show of it.
    pub row: ListedRun,
    /// The seed of all its draws.
    pub seed: u64,
    /// Where the golden set was read.
    pub golden_path: String,
    /// The whole configuration.
    pub config: Value,
    /// The gates as they stood before the first request.
    pub gates: Option<Value>,
    /// The graders, resolved.
    pub graders: Vec<NewGrader>,
    /// What is under test.
    pub targets: Vec<NewTarget>,
    /// The version of the tool that began it.
    pub tool_version: String,
    /// The commit the experiment stood at.
    pub git_commit: Option<String>,
}

const RUN_ROW: &str = "SELECT id, name, experiment, status, created_at, finished_at, stop_reason,
    golden_fingerprint, golden_name";

fn run_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<ListedRun> {
    Ok(ListedRun {
        id: columns.take()?,
        name: columns.take::<String>()?.into(),
        experiment: columns.take()?,
        status: columns.name()?,
        created_at: columns.instant()?,
        finished_at: columns.take::<Option<i64>>()?.map(UnixMillis),
        stop_reason: columns.take()?,
        golden_fingerprint: columns.fingerprint()?,
        golden_name: columns.take()?,
    })
}

impl Store {
    /// All runs, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn list_runs(&self) -> Result<Vec<ListedRun>, StoreError> {
        self.connection
            .prepare_cached(&format!("{RUN_ROW} FROM run WHERE deleted_at IS NULL ORDER BY id DESC"))
            .and_then(|mut statement| {
                statement.query_map([], |row| run_row(&mut Columns::of(row)))?.collect()
            })
            .map_err(failed_to("list the runs"))
    }

    /// The run that `text` means: its name, the beginning of exactly one name, `latest`, or
    /// `latest~1` for the one before. Confirmations and rehearsals are neither: nobody who asks for the
    /// latest run means them.
    ///
    /// # Errors
    /// When there is none, several begin so, or the store cannot be read.
    pub fn find_run(&self, text: &str) -> Result<ListedRun, StoreError> {
        let mut runs = self.list_runs()?;
        if runs.is_empty() {
            return Err(StoreError::NoRuns);
        }
        let index = choose(text, &runs)?;
        Ok(runs.swap_remove(index))
    }

    /// All that was frozen when the run began.
    ///
    /// # Errors
    /// When there is no such row, or the store cannot be read.
    pub fn run_detail(&self, run: RunRow) -> Result<RunDetail, StoreError> {
        let targets = self.targets(run)?;
        let query = format!(
            "{RUN_ROW}, seed, golden_path, config, gates, graders, tool_version, git_commit
             FROM run WHERE id = ?"
        );
        self.connection
            .query_row(&query, [run], |row| {
                let mut columns = Columns::of(row);
                Ok(RunDetail {
                    row: run_row(&mut columns)?,
                    seed: columns.parsed()?,
                    golden_path: columns.take()?,
                    config: columns.json()?,
                    gates: columns.optional_json()?,
                    graders: columns.json()?,
                    targets,
                    tool_version: columns.take()?,
                    git_commit: columns.take()?,
                })
            })
            .map_err(failed_to("read the run"))
    }

    /// The targets of a run, in the experiment's order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn targets(&self, run: RunRow) -> Result<Vec<NewTarget>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT name, provider, model, config FROM target WHERE run = ? ORDER BY position",
            )
            .and_then(|mut statement| {
                statement
                    .query_map([run], |row| {
                        let mut columns = Columns::of(row);
                        Ok(NewTarget {
                            name: columns.take::<String>()?.into(),
                            provider: columns.take::<String>()?.into(),
                            model: columns.take::<String>()?.into(),
                            config: columns.json()?,
                        })
                    })?
                    .collect()
            })
            .map_err(failed_to("read the run's targets"))
    }

    /// The latest other run of the same experiment before `run`: what it is usually compared with.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn run_before(&self, run: &ListedRun) -> Result<Option<ListedRun>, StoreError> {
        let query = format!(
            "{RUN_ROW} FROM run WHERE experiment = ? AND id < ? AND deleted_at IS NULL
             ORDER BY id DESC LIMIT 1"
        );
        self.connection
            .query_row(&query, params![run.experiment, run.id], |row| run_row(&mut Columns::of(row)))
            .optional()
            .map_err(failed_to("read the run before"))
    }
}

/// The index of the run that `text` means; `runs` are not empty and the latest comes first.
fn choose(text: &str, runs: &[ListedRun]) -> Result<usize, StoreError> {
    if let Some(index) = runs.iter().position(|run| run.name.as_str() == text) {
        return Ok(index);
    }
    if let Some(back) = steps_back(text) {
        let mut measured = runs.iter().enumerate().filter(|(_, run)| Aside::of(&run.experiment).is_none());
        if let Some((index, _)) = measured.clone().nth(back) {
            return Ok(index);
        }
        if measured.next().is_none() {
            let names = runs.iter().map(|run| run.name.clone()).take(OFFERED).collect();
            return Err(StoreError::OnlyAside { names });
        }
    }
    let begins = |run: &&ListedRun| run.name.as_str().starts_with(text);
    let names =
        |runs: &mut dyn Iterator<Item = &ListedRun>| runs.map(|run| run.name.clone()).take(OFFERED).collect();
    match runs.iter().filter(begins).count() {
        1 => Ok(runs.iter().position(|run| begins(&run)).expect("one was just counted")),
        0 => Err(StoreError::UnknownRun {
            text: text.to_owned(),
            nearest: nearest(text, runs.iter().map(|run| run.name.as_str())).map(RunId::from),
            candidates: names(&mut runs.iter()),
        }),
        _ => Err(StoreError::AmbiguousRun {
            text: text.to_owned(),
            candidates: names(&mut runs.iter().filter(begins)),
        }),
    }
}

/// `latest` is 0 steps back, `latest~2` two.
fn steps_back(text: &str) -> Option<usize> {
    match text.strip_prefix("latest")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::{case, create, store_with};

    fn runs(names: &[&str]) -> Vec<ListedRun> {
        names
            .iter()
            .rev()
            .map(|name| ListedRun {
                id: RunRow(1),
                name: (*name).into(),
                experiment: name.rsplit_once('-').expect("a number follows").0.to_owned(),
                status: RunStatus::Complete,
                created_at: UnixMillis(0),
                finished_at: None,
                stop_reason: None,
                golden_fingerprint: Fingerprint::of(b""),
                golden_name: String::new(),
            })
            .collect()
    }

    #[test]
    fn a_run_is_found_by_name_prefix_or_age() {
        let runs = runs(&["nightly-1", "weekly-1", "nightly-12"]);
        for (text, found) in [
            ("nightly-1", "nightly-1"),
            ("nightly-12", "nightly-12"),
            ("week", "weekly-1"),
            ("latest", "nightly-12"),
            ("latest~1", "weekly-1"),
            ("latest~2", "nightly-1"),
        ] {
            assert_eq!(runs[choose(text, &runs).unwrap()].name.as_str(), found, "{text}");
        }
    }

    #[test]
    fn the_latest_run_is_one_that_measures() {
        let runs =
            runs(&["nightly-1", "n-rehearsal-1", "nightly-2", "nightly-confirm-1", "nightly-confirm-2"]);
        let found = |text: &str| choose(text, &runs).map(|index| runs[index].name.to_string());
        assert_eq!(found("latest").unwrap(), "nightly-2");
        assert_eq!(found("latest~1").unwrap(), "nightly-1");
        assert!(found("latest~2").is_err(), "there are no three that measure");
        assert_eq!(found("nightly-confirm-2").unwrap(), "nightly-confirm-2");
        assert_eq!(found("n-r").unwrap(), "n-rehearsal-1");
    }

    #[test]
    fn where_nothing_was_measured_nothing_is_the_latest_run() {
        let error = choose("latest", &runs(&["n-rehearsal-1", "n-rehearsal-2"])).unwrap_err().to_string();
        let told = "the store holds no run but confirmations and rehearsals, which `latest` passes over\n  \
                    hint: name one: `n-rehearsal-2`, `n-rehearsal-1`";
        assert_eq!(error, told);
    }

    #[test]
    fn a_run_that_is_not_found_is_told_with_what_there_is() {
        let runs = runs(&["nightly-1", "weekly-1", "nightly-12"]);
        for (text, message) in [
            ("nigtly-1", "no run is called `nigtly-1`\n  hint: did you mean `nightly-1`?"),
            (
                "zebra",
                "no run is called `zebra`\n  hint: the latest are `nightly-12`, `weekly-1`, `nightly-1`",
            ),
            (
                "latest~3",
                "no run is called `latest~3`\n  hint: the latest are `nightly-12`, `weekly-1`, `nightly-1`",
            ),
            ("night", "several runs begin with `night`\n  hint: the latest are `nightly-12`, `nightly-1`"),
        ] {
            assert_eq!(choose(text, &runs).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_run_comes_back_as_it_was_frozen() {
        let (mut store, first) = store_with(2, 3);
        let second = create(&mut store, &[case("c0")], 1).unwrap();
        assert_eq!((first.name.as_str(), second.name.as_str()), ("nightly-1", "nightly-2"));
        let detail = store.run_detail(first.id).unwrap();
        assert_eq!(detail.seed, u64::MAX);
        assert_eq!(detail.config, serde_json::json!({"repeats": 3}));
        assert_eq!((detail.gates, detail.graders.len(), detail.targets.len()), (None, 1, 2));
        let latest = store.find_run("latest").unwrap();
        assert_eq!(store.run_before(&latest).unwrap().map(|run| run.name), Some(first.name));
    }

    #[test]
    fn a_run_that_ended_has_an_end_and_a_reason() {
        let (store, run) = store_with(1, 1);
        store.set_status(run.id, RunStatus::Budget, Some("spent 1.00 of 1.00")).unwrap();
        let row = store.find_run("latest").unwrap();
        assert!(row.finished_at.is_some());
        assert_eq!(row.stop_reason.as_deref(), Some("spent 1.00 of 1.00"));
        store.set_status(run.id, RunStatus::Running, None).unwrap();
        let row = store.find_run("latest").unwrap();
        assert_eq!((row.status, row.finished_at, row.stop_reason), (RunStatus::Running, None, None));
    }

    #[test]
    fn an_empty_store_says_so() {
        assert!(matches!(Store::in_memory().unwrap().find_run("latest"), Err(StoreError::NoRuns)));
    }
}
