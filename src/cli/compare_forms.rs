//! The forms of a comparison that others read: a pull request, a CI server, a spreadsheet.

use std::collections::{BTreeMap, HashMap};

use super::{error::CliError, store_argument::StoreArgument};
use crate::{
    compare::{Comparison, Confirmed, FlipAnswers, Side, confirmed_flips, flip_answers},
    domain::CaseId,
    report::{comparison_csv, comparison_github, comparison_junit, comparison_markdown},
    store::StoreError,
};

/// Answers that a comment and annotations have room for.
const SHORT: usize = 40;

/// Answers that a file takes.
const LONG: usize = 5_000;

/// One of those forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A pull-request comment.
    Markdown,
    /// JUnit XML.
    Junit,
    /// A row a case.
    Csv,
    /// Workflow annotations.
    Github,
}

/// What fresh answers said of the flips between two sides, where they are known.
pub(super) fn confirmed(
    store: &StoreArgument,
    sides: [&Side; 2],
) -> Result<HashMap<CaseId, Confirmed>, CliError> {
    if sides.iter().any(|side| side.stored.is_none()) {
        return Ok(HashMap::new());
    }
    Ok(confirmed_flips(&store.open()?, sides)?)
}

/// The comparisons of `sides[1..]` with `sides[0]`, in this form.
pub(super) fn written(
    form: Form,
    store: &StoreArgument,
    sides: &[Side],
    comparisons: &[&Comparison],
) -> Result<String, CliError> {
    let limit = if matches!(form, Form::Markdown | Form::Github) { SHORT } else { LONG };
    let (baseline, candidates) = sides.split_first().expect("a comparison has two sides at least");
    let mut answers = vec![];
    for (candidate, comparison) in candidates.iter().zip(comparisons) {
        answers.push(read_answers(store, [baseline, candidate], comparison, limit)?);
    }
    match (form, candidates) {
        (Form::Markdown, _) => {
            let parts: Vec<_> = comparisons.iter().copied().zip(&answers).collect();
            Ok(comparison_markdown(&parts, &marker(candidates)))
        }
        (Form::Github, _) => {
            let parts = comparisons.iter().zip(&answers);
            Ok(parts.map(|(comparison, answers)| comparison_github(comparison, answers)).collect())
        }
        (Form::Junit, [candidate]) => {
            Ok(comparison_junit(comparisons[0], [baseline, candidate], &answers[0]))
        }
        (Form::Csv, [candidate]) => Ok(comparison_csv(comparisons[0], [baseline, candidate], &answers[0])),
        (Form::Junit | Form::Csv, _) => Err(CliError::Usage {
            message: "this format holds one comparison".to_owned(),
            hint: Some("name two sides, and write a file for each candidate".to_owned()),
        }),
    }
}

fn read_answers(
    store: &StoreArgument,
    sides: [&Side; 2],
    comparison: &Comparison,
    limit: usize,
) -> Result<BTreeMap<CaseId, FlipAnswers>, StoreError> {
    if sides.iter().all(|side| side.stored.is_none()) {
        return Ok(BTreeMap::new());
    }
    flip_answers(&crate::store::Store::open_to_read(&store.store)?, sides, &comparison.flips.rows, limit)
}

/// What the comment is found by again: the candidates' experiments and targets, without the number
/// that differs from run to run.
fn marker(candidates: &[Side]) -> String {
    let name = |side: &Side| {
        let experiment = match side.run.rsplit_once('-') {
            Some((experiment, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => experiment,
            _ => &side.run,
        };
        format!("{experiment}:{}", side.target)
    };
    candidates.iter().map(name).collect::<Vec<_>>().join("-")
}
