//! Which form a comparison is written in.

use std::collections::BTreeMap;

use super::{
    csv::comparison_csv,
    github::comparison_github,
    junit::comparison_junit,
    markdown::comparison_markdown,
    text::{comparison_text, matrix_text},
};
use crate::{
    app::{
        AppError,
        compare::{Compared, Outcome},
    },
    compare::{Comparison, FlipAnswers, Side},
    domain::{
        CaseId,
        text::{visible, visible_json},
    },
};

/// Answers that a comment and annotations have room for.
const SHORT: usize = 40;

/// Answers that a file takes.
const LONG: usize = 5_000;

/// The forms in which a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For a terminal.
    Text {
        /// Whether every case that was left out is named, and every flip.
        list: bool,
    },
    /// For machines.
    Json,
    /// A pull-request comment.
    Markdown,
    /// JUnit XML.
    Junit,
    /// A row a case.
    Csv,
    /// Workflow annotations.
    Github,
}

impl Form {
    /// How many flips are shown with their answers.
    pub fn answers(self) -> usize {
        match self {
            Self::Text { .. } | Self::Json => 0,
            Self::Markdown | Self::Github => SHORT,
            Self::Junit | Self::Csv => LONG,
        }
    }
}

/// The comparison in this form, with the answers to the flips of each pair.
///
/// # Errors
/// The form holds one comparison, and there are several.
pub fn written(
    form: Form,
    compared: &Compared,
    answers: &[BTreeMap<CaseId, FlipAnswers>],
) -> Result<String, AppError> {
    let comparisons = compared.comparisons();
    let text = match form {
        Form::Text { list } => visible(&match &compared.outcome {
            Outcome::Pair(comparison) => comparison_text(comparison, list),
            Outcome::Matrix(matrix) => matrix_text(matrix),
        }),
        Form::Json => {
            let json = serde_json::to_string_pretty(&compared.outcome);
            visible_json(&json.expect("a comparison is plain data"))
        }
        Form::Markdown => {
            let parts: Vec<_> = comparisons.into_iter().zip(answers).collect();
            comparison_markdown(&parts, &marker(&compared.sides[1..]))
        }
        Form::Github => {
            let parts = comparisons.into_iter().zip(answers);
            parts.map(|(comparison, answers)| comparison_github(comparison, answers)).collect()
        }
        Form::Junit => {
            let (comparison, sides) = one(compared)?;
            comparison_junit(comparison, sides, &answers[0])
        }
        Form::Csv => {
            let (comparison, sides) = one(compared)?;
            comparison_csv(comparison, sides, &answers[0])
        }
    };
    Ok(text)
}

fn one(compared: &Compared) -> Result<(&Comparison, [&Side; 2]), AppError> {
    match (&compared.outcome, compared.sides.as_slice()) {
        (Outcome::Pair(comparison), [baseline, candidate]) => Ok((comparison, [baseline, candidate])),
        _ => Err(AppError::hinted(
            "this format holds one comparison",
            "name two sides, and write a file for each candidate",
        )),
    }
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
