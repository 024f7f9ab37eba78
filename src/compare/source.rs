//! From what a person types to a side: `latest:opus-5`, `nightly-12`, `baseline`, a file.

use std::path::{Path, PathBuf};

use super::{error::CompareError, side::Side};
use crate::domain::TargetPos;
use crate::store::{RunDetail, Store};

/// Where the committed baseline stands.
pub const DEFAULT_BASELINE: &str = "results/baseline.json";

/// A side that was found and not read yet.
#[derive(Clone, Debug)]
pub enum SideSource {
    /// A target of a run.
    Stored(Box<RunDetail>, TargetPos),
    /// A committed baseline.
    Baseline(PathBuf),
}

impl SideSource {
    /// Whether `text` means a committed baseline, for which no store is needed.
    pub fn baseline(text: &str) -> Option<Self> {
        match text {
            "baseline" => Some(Self::Baseline(PathBuf::from(DEFAULT_BASELINE))),
            _ if text.ends_with(".json") => Some(Self::Baseline(PathBuf::from(text))),
            _ => None,
        }
    }

    /// The side that `text` means: a run, or `run:target`. A run with one target needs no target.
    ///
    /// # Errors
    /// There is no such run or target, several begin so, or the run has several targets.
    pub fn find(store: &Store, text: &str) -> Result<Self, CompareError> {
        if let Some(baseline) = Self::baseline(text) {
            return Ok(baseline);
        }
        let (run, target) = text.split_once(':').map_or((text, None), |(run, target)| (run, Some(target)));
        let row = store.find_run(run)?;
        let detail = store.run_detail(row.id)?;
        let targets = || detail.targets.iter().map(|target| target.name.to_string()).collect::<Vec<_>>();
        let run = detail.row.name.to_string();
        let position = match target {
            None if detail.targets.len() == 1 => 0,
            None => return Err(CompareError::WhichTarget { run, targets: targets() }),
            Some(name) => match detail.targets.iter().position(|target| target.name.as_str() == name) {
                Some(position) => position,
                None => {
                    return Err(CompareError::UnknownTarget {
                        run,
                        target: name.to_owned(),
                        targets: targets(),
                    });
                }
            },
        };
        let position = TargetPos::at(position);
        Ok(Self::Stored(Box::new(detail), position))
    }

    /// Reads the side; a stored one through a connection of its own, so that sides can be read at once.
    ///
    /// # Errors
    /// The store or the file cannot be read.
    pub fn read(&self, store: &Path) -> Result<Side, CompareError> {
        match self {
            Self::Stored(detail, target) => Ok(Side::read(&Store::open_to_read(store)?, detail, *target)?),
            Self::Baseline(file) => Side::read_baseline(file),
        }
    }

    /// Whether both mean the same target of the same run.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stored(run, target), Self::Stored(other_run, other_target)) => {
                run.row.id == other_run.row.id && target == other_target
            }
            (Self::Baseline(file), Self::Baseline(other_file)) => file == other_file,
            _ => false,
        }
    }
}

/// Reads the sides that were found, each in a thread of its own.
///
/// # Errors
/// The first side that cannot be read, in the order given.
pub fn read_sides(sources: &[SideSource], store: &Path) -> Result<Vec<Side>, CompareError> {
    let sides: Vec<Result<Side, CompareError>> = std::thread::scope(|scope| {
        let readers: Vec<_> = sources.iter().map(|source| scope.spawn(move || source.read(store))).collect();
        readers.into_iter().map(|reader| reader.join().expect("a reader does not panic")).collect()
    });
    sides.into_iter().collect()
}
