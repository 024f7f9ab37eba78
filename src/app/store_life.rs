//! The life of a store: its size, copies, merging, forgetting.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{AppError, find_run::open_to_write};
use crate::{
    config::CONFIG_FORM,
    domain::RunId,
    store::{Compacted, Forget, Forgotten, Merged, Store},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// How large a store is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreSize {
    /// The version of this shape.
    pub schema_version: u32,
    /// The version of the store's tables.
    pub store_version: i64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of its log.
    pub log_bytes: u64,
    /// Bytes of the file that are free.
    pub free_bytes: u64,
    /// By kind of data.
    pub kinds: Vec<KindSize>,
    /// By run.
    pub runs: Vec<RunSize>,
}

/// How large the rows of one kind are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindSize {
    /// The kind.
    pub kind: String,
    /// Its rows.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How large a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSize {
    /// Its name.
    pub id: RunId,
    /// Its trials.
    pub trials: u64,
    /// Bytes of its answers.
    pub answer_bytes: u64,
    /// Bytes that they take in the store.
    pub answer_bytes_stored: u64,
    /// Bytes of all else, about.
    pub rest_bytes: u64,
}

/// How large the store is, by kind of data and by run.
///
/// # Errors
/// The store cannot be read.
pub fn size(store: &Store) -> Result<StoreSize, AppError> {
    let info = store.info()?;
    let kinds = info.kinds.into_iter();
    let runs = info.runs.into_iter();
    Ok(StoreSize {
        schema_version: SCHEMA_VERSION,
        store_version: info.version,
        file_bytes: info.file_bytes,
        log_bytes: info.log_bytes,
        free_bytes: info.free_bytes,
        kinds: kinds.map(|kind| KindSize { kind: kind.name, rows: kind.rows, bytes: kind.bytes }).collect(),
        runs: runs
            .map(|run| RunSize {
                id: run.name,
                trials: run.trials,
                answer_bytes: run.answers,
                answer_bytes_stored: run.answers_stored,
                rest_bytes: run.rest,
            })
            .collect(),
    })
}

/// Packs old rows, drops what nothing refers to, and gives the free space back.
///
/// # Errors
/// There is no store, a run of it is going on, or it cannot be written.
pub fn compact(path: &Path) -> Result<Compacted, AppError> {
    Ok(open_to_write(path)?.compact()?)
}

/// Copies the store to `file`, whole and compacted, while a run may go on.
///
/// # Errors
/// The store cannot be read, or the file not written.
pub fn backup(store: &Store, file: &Path) -> Result<(), AppError> {
    Ok(store.backup(file)?)
}

/// Takes over the runs of `others`; shards of one experiment become one run. `renumber`: a run whose
/// name is taken gets the next number of its experiment.
///
/// # Errors
/// Runs that do not fit, each named, or a store cannot be used.
pub fn merge(path: &Path, others: &[PathBuf], renumber: bool) -> Result<Vec<Merged>, AppError> {
    Ok(Store::open(path)?.merge(others, renumber, &CONFIG_FORM)?)
}

/// Looks for damage, broken references, orphans and texts that are not what was stored.
///
/// # Errors
/// What was found, or the store cannot be read.
pub fn check(store: &Store) -> Result<(), AppError> {
    let found = store.check()?;
    if found.is_empty() {
        return Ok(());
    }
    Err(AppError::hinted(found.join("\n"), "`caseload store compact` drops orphans; damage needs a backup"))
}

/// Takes one person's words out of every run and out of the file.
///
/// # Errors
/// Nobody is meant, or the store cannot be written.
pub fn forget(path: &Path, which: Forget<'_>) -> Result<Forgotten, AppError> {
    Ok(open_to_write(path)?.forget(which)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn sizes_are_told_by_kind_and_by_run() {
        let sizes = size(&Stored::new().open()).unwrap();
        assert_eq!((sizes.runs.len(), sizes.runs[0].trials), (1, 32));
        assert!(sizes.kinds.iter().any(|kind| kind.kind == "trial" && kind.rows == 32));
    }

    #[test]
    fn a_copy_is_sound_and_merges_back_as_what_is_there_already() {
        let stored = Stored::new();
        let copy = stored.beside("copy.db");
        backup(&stored.open(), &copy).unwrap();
        check(&Store::open_to_read(&copy).unwrap()).unwrap();
        let merged = merge(&stored.path(), std::slice::from_ref(&copy), false).unwrap();
        assert_eq!(merged, [Merged::AlreadyThere { name: "test-1".into() }]);
        let all = stored.beside("all.db");
        assert_eq!(merge(&all, &[copy], false).unwrap(), [Merged::Added { name: "test-1".into() }]);
    }

    #[test]
    fn compacting_and_forgetting_leave_the_store_sound() {
        let stored = Stored::new();
        let compacted = compact(&stored.path()).unwrap();
        assert!(compacted.after > 0);
        let forgotten = forget(&stored.path(), Forget::Case("c1")).unwrap();
        assert_eq!((forgotten.cases.len(), forgotten.trials), (1, 4));
        check(&stored.open()).unwrap();
        assert!(compact(&stored.beside("none.db")).is_err());
    }
}
