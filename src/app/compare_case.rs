//! One case on every side of a comparison.

use serde::Serialize;

use super::AppError;
use crate::{
    compare::Side,
    domain::{CaseId, Failure, Outcome, Repeat, Score, Verdict, nearest},
    store::{Store, StoredTrial},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// A case on every side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCase {
    /// The version of this shape.
    pub schema_version: u32,
    /// The case.
    pub case: CaseId,
    /// What was asked, where a side's store knows it.
    #[serde(skip)]
    pub question: Option<String>,
    /// The sides, the baseline first.
    pub sides: Vec<CaseSide>,
}

/// What one side holds of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseSide {
    /// The side.
    pub label: String,
    /// Repeats that passed; `None` where the side does not have the case.
    pub passes: Option<u32>,
    /// Repeats that were measured.
    pub measured: Option<u32>,
    /// Its trials; none for a committed baseline, which keeps no answers.
    pub trials: Vec<CaseTrial>,
}

/// One trial of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseTrial {
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// How it ended.
    pub outcome: Outcome,
    /// What its graders said together.
    pub verdict: Option<Verdict>,
    /// The answer; `None` where it was not kept.
    pub answer: Option<String>,
    /// Why it failed, when it did.
    #[serde(skip)]
    pub failure: Option<Failure>,
    /// What each grader said.
    pub scores: Vec<Score>,
}

/// Reads what every side holds of `case`.
///
/// # Errors
/// No side has it, or the store cannot be read.
pub fn compare_case(store: &Store, sides: &[Side], case: &CaseId) -> Result<ComparedCase, AppError> {
    let mut compared =
        ComparedCase { schema_version: SCHEMA_VERSION, case: case.clone(), question: None, sides: vec![] };
    for side in sides {
        let (question, side) = read(store, side, case)?;
        compared.question = compared.question.or(question);
        compared.sides.push(side);
    }
    if compared.sides.iter().any(|side| side.measured.is_some()) {
        return Ok(compared);
    }
    let ids = sides.iter().flat_map(|side| &side.cases).map(|own| own.id.as_str());
    Err(AppError::Usage {
        message: format!("no side has a case `{case}`"),
        hint: nearest(case.as_str(), ids).map(|near| format!("did you mean `{near}`?")),
    })
}

fn read(store: &Store, side: &Side, case: &CaseId) -> Result<(Option<String>, CaseSide), AppError> {
    let known = side.cases.iter().find(|own| own.id == *case);
    let mut read = CaseSide {
        label: side.label.clone(),
        passes: known.map(|own| own.count.passes),
        measured: known.map(|own| own.count.measured),
        trials: vec![],
    };
    let Some((run, target)) = side.stored else { return Ok((None, read)) };
    let Some((planned, content)) = store.find_case(run, case)? else { return Ok((None, read)) };
    for trial in store.trials_of_case(run, planned.position)? {
        if trial.record.key.target == target {
            let scores = store.scores(trial.record.key)?;
            read.trials.push(case_trial(trial, scores));
        }
    }
    Ok((Some(content.input.last_user_message().to_owned()), read))
}

fn case_trial(trial: StoredTrial, scores: Vec<Score>) -> CaseTrial {
    let record = trial.record;
    CaseTrial {
        repeat: record.key.repeat,
        outcome: record.outcome,
        verdict: trial.verdict,
        answer: trial.answer_kept.then_some(record.answer),
        failure: record.failure,
        scores,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{compare::sides, testing::Stored};

    #[test]
    fn a_case_is_read_on_every_side() {
        let stored = Stored::new();
        let store = stored.open();
        let sides = sides(Some(&store), &["latest:good".to_owned(), "latest:poor".to_owned()]).unwrap();
        let compared = compare_case(&store, &sides, &CaseId::from("c3")).unwrap();
        assert_eq!(compared.question.as_deref(), Some("What is 3?"));
        let trials: Vec<usize> = compared.sides.iter().map(|side| side.trials.len()).collect();
        assert_eq!(trials, [2, 2]);
        assert_eq!(compared.sides[0].measured, Some(2));
        let json = serde_json::to_value(&compared).unwrap();
        assert_eq!(json["sides"][0]["trials"][0]["repeat"], 1);
        assert!(json.get("question").is_none());
    }

    #[test]
    fn a_case_that_no_side_has_is_told_with_the_nearest() {
        let stored = Stored::new();
        let store = stored.open();
        let sides = sides(Some(&store), &["latest:good".to_owned()]).unwrap();
        let error = compare_case(&store, &sides, &CaseId::from("c33")).unwrap_err().to_string();
        assert!(error.starts_with("no side has a case `c33`\n  hint: did you mean"), "{error}");
    }
}
