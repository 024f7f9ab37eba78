//! Sides compared case by case, and what the gates say.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::AppError;
use crate::{
    compare::{
        self, CompareError, Comparison, Confirmed, FlipAnswers, Matrix, Options, Side, SideSource, Verdict,
        confirmed_flips, flip_answers, read_sides,
    },
    config,
    domain::CaseId,
    store::Store,
};

/// What to compare, and by what.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The sides, the baseline first: `latest`, `latest:opus-5`, `baseline`, a baseline file.
    pub sides: Vec<String>,
    /// The experiment file whose gates count; `None`: those the candidate's run was started with.
    pub gates: Option<PathBuf>,
    /// Whether graders of the same name may have different versions.
    pub allow_grader_change: bool,
}

/// Sides that were compared.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The sides, the baseline first.
    pub sides: Vec<Side>,
    /// What that shows.
    pub outcome: Outcome,
}

/// What a comparison shows.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Of two sides.
    Pair(Box<Comparison>),
    /// Of several, each with the first.
    Matrix(Matrix),
}

impl Compared {
    /// The comparisons with the first side, in the order of the others.
    pub fn comparisons(&self) -> Vec<&Comparison> {
        match &self.outcome {
            Outcome::Pair(comparison) => vec![comparison],
            Outcome::Matrix(matrix) => matrix.rows.iter().map(|row| &row.comparison).collect(),
        }
    }

    /// What the gates say together.
    pub fn verdict(&self) -> Verdict {
        match &self.outcome {
            Outcome::Pair(comparison) => comparison.verdict,
            Outcome::Matrix(matrix) => matrix.verdict,
        }
    }

    /// One answer of each side for the first `limit` flips of every comparison; none without a store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn answers(
        &self,
        store: Option<&Store>,
        limit: usize,
    ) -> Result<Vec<BTreeMap<CaseId, FlipAnswers>>, AppError> {
        let (baseline, candidates) = self.sides.split_first().expect("a comparison has two sides at least");
        let mut answers = vec![];
        for (candidate, comparison) in candidates.iter().zip(self.comparisons()) {
            answers.push(match store {
                Some(store) => flip_answers(store, [baseline, candidate], &comparison.flips.rows, limit)?,
                None => BTreeMap::new(),
            });
        }
        Ok(answers)
    }
}

/// Whether a store is needed to find one of `sides`: committed baselines stand for themselves.
pub fn need_store(sides: &[String]) -> bool {
    sides.iter().any(|text| SideSource::baseline(text).is_none())
}

/// Finds what `texts` mean; `store` may be absent where none of them [needs one](need_store).
///
/// # Errors
/// There is no such run, target or file, or two are the same.
pub fn find_sides(store: Option<&Store>, texts: &[String]) -> Result<Vec<SideSource>, AppError> {
    let mut sources: Vec<SideSource> = vec![];
    for text in texts {
        let source = match (SideSource::baseline(text), store) {
            (Some(baseline), _) => baseline,
            (None, Some(store)) => SideSource::find(store, text)?,
            (None, None) => {
                return Err(AppError::usage(format!("`{text}` is in a store, and none is given")));
            }
        };
        if sources.iter().any(|other| other.is_same(&source)) {
            return Err(CompareError::SameSide { label: text.clone() }.into());
        }
        sources.push(source);
    }
    Ok(sources)
}

/// Finds and reads the sides of a comparison.
///
/// # Errors
/// There is no such side, two are the same, or one cannot be read.
pub fn sides(store: Option<&Store>, texts: &[String]) -> Result<Vec<Side>, AppError> {
    let sources = find_sides(store, texts)?;
    Ok(read_sides(&sources, path(store))?)
}

fn path(store: Option<&Store>) -> &Path {
    store.map_or(Path::new(""), Store::path)
}

/// Compares the sides that are wanted.
///
/// # Errors
/// There is no such side, they cannot be compared, or a file beside them is wrong.
pub fn compare(store: Option<&Store>, wanted: &Wanted) -> Result<Compared, AppError> {
    let sources = find_sides(store, &wanted.sides)?;
    let mut options = Options {
        allow_grader_change: wanted.allow_grader_change,
        gates: wanted.gates.as_deref().map(config::read_gates).transpose()?,
        confirmed: HashMap::new(),
        today: TimeZone::UTC.to_datetime(Timestamp::now()).date(),
    };
    let sides = read_sides(&sources, path(store))?;
    let outcome = if let [a, b] = sides.as_slice() {
        options.confirmed = confirmed(store, [a, b])?;
        Outcome::Pair(Box::new(compare::compare(a, b, &options)?))
    } else {
        Outcome::Matrix(compare::compare_all(&sides, &options)?)
    };
    Ok(Compared { sides, outcome })
}

/// What fresh answers said of the flips between two sides, where they are known.
fn confirmed(store: Option<&Store>, sides: [&Side; 2]) -> Result<HashMap<CaseId, Confirmed>, AppError> {
    match store {
        Some(store) if sides.iter().all(|side| side.stored.is_some()) => Ok(confirmed_flips(store, sides)?),
        _ => Ok(HashMap::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    fn wanted(sides: &[&str]) -> Wanted {
        Wanted { sides: sides.iter().map(ToString::to_string).collect(), ..Wanted::default() }
    }

    #[test]
    fn two_targets_of_a_run_are_a_pair_with_answers_to_their_flips() {
        let stored = Stored::new();
        let store = stored.open();
        let compared = compare(Some(&store), &wanted(&["latest:good", "latest:poor"])).unwrap();
        let comparison = compared.comparisons()[0];
        assert!(comparison.difference.point < Some(0.0), "{:?}", comparison.difference);
        assert_eq!(compared.verdict(), Verdict::NoGates);
        let answers = compared.answers(Some(&store), 100).unwrap();
        assert_eq!(answers[0].len(), comparison.flips.rows.len());
        let json = serde_json::to_value(&compared.outcome).unwrap();
        assert_eq!(json["sides"][1]["label"], "test-1:poor");
    }

    #[test]
    fn more_sides_are_a_matrix_against_the_first() {
        let stored = Stored::new();
        stored.run();
        let sides = ["test-1:good", "test-1:poor", "test-2:good"];
        let compared = compare(Some(&stored.open()), &wanted(&sides)).unwrap();
        assert!(matches!(compared.outcome, Outcome::Matrix(_)));
        assert_eq!(compared.comparisons().len(), 2);
    }

    #[test]
    fn sides_in_a_store_need_one_and_no_side_is_named_twice() {
        assert!(need_store(&["baseline".to_owned(), "latest".to_owned()]));
        assert!(!need_store(&["baseline".to_owned(), "old.json".to_owned()]));
        assert!(find_sides(None, &["latest".to_owned()]).is_err());
        let stored = Stored::new();
        let error = compare(Some(&stored.open()), &wanted(&["latest:good", "test-1:good"])).unwrap_err();
        assert!(error.to_string().starts_with("both sides are `test-1:good`"), "{error}");
    }
}
