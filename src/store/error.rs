//! Why the store could not do what was asked.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::ErrorCode;

use crate::domain::{CaseId, RunId};

/// Why the store could not do what was asked. A store error ends the run: the store is the product.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder of a new store cannot be made.
    #[error("failed to create the folder `{}` for the store", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The file cannot be opened.
    #[error("failed to open the store `{}`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// The file can be opened but not written, so that no answer could be kept.
    #[error(
        "the store `{}` cannot be written to\n  hint: give another place with --store, or make the \
         file and its folder writable",
        path.display()
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// Another process writes to it, and has for as long as one waits.
    #[error(
        "the store `{}` is locked by another process\n  hint: wait until it is done, or end it",
        path.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// There is no such file.
    #[error("no store at `{}`\n  hint: run an experiment first, or give its place with --store", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },

    /// The file is something else, or damaged at its head.
    #[error("`{}` is not a store of caseload\n  hint: give another place with --store", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },

    /// A later version of the tool has written it.
    #[error(
        "the store `{}` has version {found}, and this caseload knows versions up to {known}; it \
         does not write to it\n  hint: update caseload, or give another place with --store",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The latest version this build knows.
        known: usize,
    },

    /// An earlier version of the tool has written it, and it was opened for reading only.
    #[error(
        "the store `{}` has version {found} and must be brought to version {known} before it can be \
         read\n  hint: that needs a place that can be written to: copy it there",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The version this build reads.
        known: usize,
    },

    /// The store holds no run at all.
    #[error("the store holds no run\n  hint: run an experiment first")]
    NoRuns,

    /// The store holds no run that `latest` could mean.
    #[error(
        "the store holds no run but confirmations and rehearsals, which `latest` passes over\n  \
         hint: name one: {}",
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    )]
    OnlyAside {
        /// The latest of them.
        names: Vec<RunId>,
    },

    /// No run has that name.
    #[error("no run is called `{text}`{}", Candidates { nearest: nearest.as_ref(), names: candidates })]
    UnknownRun {
        /// What was asked for.
        text: String,
        /// The name that was probably meant.
        nearest: Option<RunId>,
        /// The latest runs.
        candidates: Vec<RunId>,
    },

    /// Several runs begin so.
    #[error("several runs begin with `{text}`{}", Candidates { nearest: None, names: candidates })]
    AmbiguousRun {
        /// What was asked for.
        text: String,
        /// The latest of those that begin so.
        candidates: Vec<RunId>,
    },

    /// Another live process works on the run, and two would ask its trials twice.
    #[error(
        "run `{run}` is being worked on by process {pid} on {machine}\n  hint: wait until it is done, \
         or stop it first"
    )]
    Claimed {
        /// The run.
        run: RunId,
        /// The other process.
        pid: u32,
        /// The machine it runs on.
        machine: String,
    },

    /// The claim of this process on its run was taken away, by another one or by hand.
    #[error(
        "another process took the run over, or its claim was removed\n  hint: what came is stored; \
         `caseload resume` goes on once nobody else works on the run"
    )]
    ClaimLost,

    /// SQLite failed.
    #[error("failed to {doing}")]
    Sql {
        /// What was being done, as in "failed to read the trials".
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// A value cannot be put into JSON.
    #[error("failed to put {what} into JSON")]
    Json {
        /// Which value.
        what: &'static str,
        /// Why.
        source: serde_json::Error,
    },

    /// The writer's thread cannot be started.
    #[error("failed to start the store's writer")]
    Thread(#[source] io::Error),

    /// The writer stopped at an earlier error, which is this one.
    #[error(transparent)]
    Stopped(Arc<StoreError>),

    /// A case of a run has no content: the store is damaged.
    #[error("a case's content is missing; the store is damaged")]
    NoContent,

    /// A case of the run was forgotten, so that the run cannot be gone on with.
    #[error(
        "case `{case}` of the run was forgotten: it cannot be asked or graded again\n  \
         hint: `caseload show` and `caseload export` still work; start a new run to ask again"
    )]
    Forgotten {
        /// The case.
        case: CaseId,
    },

    /// A run is being worked on, and would have to wait too long.
    #[error("run `{run}` is being worked on\n  hint: wait until it is done, or stop it first")]
    Busy {
        /// The run.
        run: RunId,
    },

    /// The file could not be written anew; it is as it was.
    #[error(
        "failed to compact the store; nothing is lost\n  hint: it needs as much free space as the \
         store is large, once more where SQLite keeps temporary files (SQLITE_TMPDIR)"
    )]
    NotCompacted {
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// Another process reads the store, so that its log cannot be emptied.
    #[error(
        "another process reads the store, and its log still holds the old pages\n  hint: end that \
         process and give the command again"
    )]
    LogInUse,

    /// The backup's file is there already.
    #[error("`{}` is there already\n  hint: give another name, or remove it first", path.display())]
    BackupExists {
        /// The file.
        path: PathBuf,
    },

    /// A backup cannot be written; nothing of it is left.
    #[error("failed to write the copy `{}`; the store is untouched", path.display())]
    Backup {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A backup cannot be written; nothing of it is left.
    #[error("failed to write the copy `{}`; the store is untouched", path.display())]
    BackupSql {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },

    /// No run has the case or trace that is to be forgotten.
    #[error("no run holds `{text}`\n  hint: give a case's id or its `source.trace_id` in full")]
    NothingToForget {
        /// What was asked for.
        text: String,
    },

    /// A store would be merged with itself.
    #[error("`{}` is the store itself\n  hint: name the store of another machine or shard", path.display())]
    MergeOfItself {
        /// The file.
        path: PathBuf,
    },

    /// Runs do not fit; nothing was merged.
    #[error(
        "{}\n  hint: nothing was merged; --renumber gives runs whose names are taken the next number",
        conflicts.join("\n")
    )]
    MergeConflicts {
        /// One line each.
        conflicts: Vec<String>,
    },

    /// The writer's thread is gone without having said why.
    #[error("the store's writer is gone")]
    WriterGone,
}

impl StoreError {
    /// Why the store at `path` could not be written when it was opened.
    pub(super) fn unwritten(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => Self::Locked { path, source },
            Some(code) if is_of_the_place(code) => Self::NotWritable { path, source },
            _ => failed_to("write to the store")(source),
        }
    }

    /// Whether the place is one that cannot be written to, whatever is done there.
    pub(super) fn is_of_the_place(&self) -> bool {
        match self {
            Self::Open { source, .. } | Self::NotWritable { source, .. } | Self::BackupSql { source, .. } => {
                source.sqlite_error_code().is_some_and(is_of_the_place)
            }
            Self::Backup { source, .. } => {
                matches!(source.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
            }
            _ => false,
        }
    }
}

fn is_of_the_place(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
}

/// Puts what was being done before SQLite's words.
pub(super) fn failed_to(doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |source| StoreError::Sql { doing, source }
}

/// The names among which the user may choose.
struct Candidates<'a> {
    nearest: Option<&'a RunId>,
    names: &'a [RunId],
}

impl fmt::Display for Candidates<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(nearest) = self.nearest {
            return write!(out, "\n  hint: did you mean `{nearest}`?");
        }
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        write!(out, "\n  hint: the latest are {}", names.join(", "))
    }
}
