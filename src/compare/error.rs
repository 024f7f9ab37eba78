//! Why two sides cannot be compared.

use std::path::PathBuf;

use crate::{config::StoredError, domain::Faults, store::StoreError};

/// Why two sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The store cannot be read, or has no such run.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// A file beside it is wrong.
    #[error("{0}")]
    Faults(#[from] Faults),

    /// A run has several targets and none is named.
    #[error("run `{run}` has several targets\n  hint: name one: {}", candidates(run, targets))]
    WhichTarget {
        /// The run.
        run: String,
        /// What it has.
        targets: Vec<String>,
    },

    /// A run has no such target.
    #[error("run `{run}` has no target `{target}`\n  hint: it has {}", candidates(run, targets))]
    UnknownTarget {
        /// The run.
        run: String,
        /// What was asked for.
        target: String,
        /// What it has.
        targets: Vec<String>,
    },

    /// Both sides are the same target of the same run.
    #[error("both sides are `{label}`\n  hint: name two runs, or two targets of one run")]
    SameSide {
        /// The side.
        label: String,
    },

    /// A baseline file that cannot be read.
    #[error("{}: cannot be read: {source}\n  hint: write it with `caseload baseline set RUN`", path.display())]
    BaselineUnreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },

    /// A baseline file of another shape.
    #[error("{}: not a baseline: {message}", path.display())]
    BaselineShape {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },

    /// A baseline file written by a later version.
    #[error(
        "{}: written in version {found} of the format, and this program knows {known}\n  hint: update caseload",
        path.display()
    )]
    BaselineNewer {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u64,
        /// The version known.
        known: u32,
    },

    /// No case is the same on both sides.
    #[error("not comparable: `{baseline}` and `{candidate}` have no case in common{}", why_none(*changed))]
    NoCommonCase {
        /// The baseline.
        baseline: String,
        /// The candidate.
        candidate: String,
        /// Cases of the same id whose content differs.
        changed: usize,
    },

    /// The graders differ.
    #[error(
        "not comparable: the graders of `{baseline}` and `{candidate}` differ: {}\n  hint: grade both sides \
         again with `caseload grade RUN`, or compare all the same with --allow-grader-change",
        differences.join("; ")
    )]
    GradersDiffer {
        /// The baseline.
        baseline: String,
        /// The candidate.
        candidate: String,
        /// What differs.
        differences: Vec<String>,
    },

    /// The frozen gates cannot be read.
    #[error("the gates of run `{run}` cannot be read: {source}")]
    FrozenGates {
        /// The run.
        run: String,
        /// The cause.
        source: serde_json::Error,
    },

    /// What the store keeps of a run's settings cannot be read.
    #[error("the settings of run `{run}` cannot be read: {source}")]
    StoredSettings {
        /// The run.
        run: String,
        /// The cause.
        source: StoredError,
    },
}

fn candidates(run: &str, targets: &[String]) -> String {
    targets.iter().map(|target| format!("`{run}:{target}`")).collect::<Vec<_>>().join(", ")
}

fn why_none(changed: usize) -> String {
    if changed == 0 {
        String::new()
    } else {
        format!(" that is unchanged ({changed} have the same id and another content)")
    }
}
