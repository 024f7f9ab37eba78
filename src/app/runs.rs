//! The runs of a store: which there are, and deleting some.

use std::{collections::HashMap, path::Path};

use serde::Serialize;

use super::{AppError, find_run::open_to_write};
use crate::{
    domain::{Fingerprint, RunId, RunStatus, UnixMillis},
    store::{ListedRun, Store},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// The runs of a store, the latest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunList {
    /// The version of this shape.
    pub schema_version: u32,
    /// One entry a run.
    pub runs: Vec<RunLine>,
}

/// What a list shows of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunLine {
    /// Its name.
    pub id: RunId,
    /// The experiment it belongs to.
    pub name: String,
    /// Where it stands: one whose process died is interrupted, whatever its row says.
    pub status: &'static str,
    /// When it was made.
    #[serde(serialize_with = "as_text")]
    pub created_at: UnixMillis,
    /// When it last ended; `None` while it runs.
    #[serde(serialize_with = "as_optional_text")]
    pub finished_at: Option<UnixMillis>,
    /// Why it ended before all was done.
    pub stop_reason: Option<String>,
    /// The golden set's name.
    pub golden_name: String,
    /// The golden set's fingerprint.
    pub golden_fingerprint: Fingerprint,
}

fn as_text<S: serde::Serializer>(time: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn as_optional_text<S: serde::Serializer>(
    time: &Option<UnixMillis>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

/// The runs of `store`.
///
/// # Errors
/// The store cannot be read.
pub fn list(store: &Store) -> Result<RunList, AppError> {
    let rows = store.list_runs()?;
    let runs = rows.into_iter().map(|run| listed(store, run)).collect::<Result<_, _>>()?;
    Ok(RunList { schema_version: SCHEMA_VERSION, runs })
}

fn listed(store: &Store, run: ListedRun) -> Result<RunLine, AppError> {
    let died = run.status == RunStatus::Running && !store.is_worked_on(run.id)?;
    Ok(RunLine {
        id: run.name,
        name: run.experiment,
        status: if died { RunStatus::Interrupted } else { run.status }.as_str(),
        created_at: run.created_at,
        finished_at: run.finished_at,
        stop_reason: run.stop_reason,
        golden_name: run.golden_name,
        golden_fingerprint: run.golden_fingerprint,
    })
}

/// Which runs go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Going {
    /// Those of these names, or beginnings of names.
    Named(Vec<String>),
    /// All but the latest.
    AllBut {
        /// How many are kept.
        last: u32,
        /// So many of each experiment.
        per_name: bool,
    },
}

/// Deletes runs with all that belongs to them alone, and tells `each` as it goes; how many. With
/// `dry_run` they are only told.
///
/// # Errors
/// A name means no run or several, a run is being worked on, or the store cannot be written.
pub fn delete<E: From<AppError>>(
    path: &Path,
    going: &Going,
    dry_run: bool,
    mut each: impl FnMut(&RunId) -> Result<(), E>,
) -> Result<usize, E> {
    let mut store = open_to_write(path)?;
    let runs = match going {
        Going::Named(texts) => named(&store, texts)?,
        Going::AllBut { last, per_name } => all_but(&store, *last, *per_name)?,
    };
    if !dry_run {
        store.finish_deletions().map_err(AppError::from)?;
    }
    for run in &runs {
        if !dry_run {
            store.delete_run(run.id).map_err(AppError::from)?;
        }
        each(&run.name)?;
    }
    Ok(runs.len())
}

/// All are found before any goes: `latest latest~1` means the last two.
fn named(store: &Store, texts: &[String]) -> Result<Vec<ListedRun>, AppError> {
    let mut chosen: Vec<ListedRun> = vec![];
    for text in texts {
        let row = store.find_run(text)?;
        if chosen.iter().all(|known| known.id != row.id) {
            chosen.push(row);
        }
    }
    Ok(chosen)
}

fn all_but(store: &Store, last: u32, per_name: bool) -> Result<Vec<ListedRun>, AppError> {
    let mut kept: HashMap<String, u32> = HashMap::new();
    let mut going = vec![];
    for run in store.list_runs()? {
        let name = if per_name { run.experiment.clone() } else { String::new() };
        let kept = kept.entry(name).or_default();
        // A run that is being worked on is kept and counts.
        if *kept < last || store.is_worked_on(run.id)? {
            *kept += 1;
        } else {
            going.push(run);
        }
    }
    Ok(going)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{run, testing::Stored};

    fn two_runs() -> Stored {
        let stored = Stored::new();
        stored.run();
        stored
    }

    fn gone(stored: &Stored, going: &Going, dry_run: bool) -> Vec<String> {
        let mut gone = vec![];
        delete::<AppError>(&stored.path(), going, dry_run, |run| {
            gone.push(run.to_string());
            Ok(())
        })
        .unwrap();
        gone
    }

    #[test]
    fn runs_are_listed_the_latest_first() {
        let list = list(&two_runs().open()).unwrap();
        let names: Vec<&str> = list.runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!((names, list.runs[0].status), (vec!["test-2", "test-1"], "complete"));
        let json = serde_json::to_value(&list).unwrap();
        assert_eq!(json["runs"][0]["name"], "test");
        assert!(json["runs"][0]["created_at"].as_str().unwrap().ends_with('Z'));
    }

    #[test]
    fn a_run_whose_process_died_is_interrupted() {
        let stored = Stored::empty("");
        run::begin(stored.ready()).unwrap().give_up().unwrap();
        assert_eq!(list(&stored.open()).unwrap().runs[0].status, "interrupted");
    }

    #[test]
    fn runs_that_are_named_go_each_once_and_a_dry_run_only_tells() {
        let stored = two_runs();
        let both = Going::Named(vec!["latest".to_owned(), "test-2".to_owned(), "latest~1".to_owned()]);
        assert_eq!(gone(&stored, &both, true), ["test-2", "test-1"]);
        assert_eq!(list(&stored.open()).unwrap().runs.len(), 2);
        assert_eq!(gone(&stored, &both, false), ["test-2", "test-1"]);
        assert_eq!(list(&stored.open()).unwrap().runs, []);
    }

    #[test]
    fn all_but_the_latest_go() {
        let stored = two_runs();
        assert_eq!(gone(&stored, &Going::AllBut { last: 1, per_name: true }, false), ["test-1"]);
        assert_eq!(gone(&stored, &Going::AllBut { last: 1, per_name: false }, false), [""; 0]);
    }
}
