//! One case on both sides: the answers side by side, the scores' reasons, and a word diff.

use similar::{ChangeTag, TextDiff};

use super::error::CliError;
use crate::domain::text::visible;
use crate::{
    compare::Side,
    domain::{CaseId, Score, nearest},
    store::{Store, StoredTrial},
};

/// The width of each of the two columns: together with what stands between them, 100.
const COLUMN: usize = 48;

/// What one side holds of a case.
#[derive(Debug)]
pub(super) struct CaseAnswers {
    label: String,
    /// The case's passes and measured repeats, where the side has it.
    known: Option<(u32, u32)>,
    /// Its trials with their scores; none for a committed baseline, which keeps no answers.
    trials: Vec<(StoredTrial, Vec<Score>)>,
    /// What was asked, where the store knows it.
    question: Option<String>,
}

/// Reads what `side` holds of `case`.
pub(super) fn read(store: &Store, side: &Side, case: &CaseId) -> Result<CaseAnswers, CliError> {
    let known = side.cases.iter().find(|own| own.id == *case);
    let mut answers = CaseAnswers {
        label: side.label.clone(),
        known: known.map(|own| (own.count.passes, own.count.measured)),
        trials: vec![],
        question: None,
    };
    let Some((run, target)) = side.stored else { return Ok(answers) };
    let Some((planned, content)) = store.find_case(run, case)? else { return Ok(answers) };
    answers.question = Some(content.input.last_user_message().to_owned());
    for trial in store.trials_of_case(run, planned.position)? {
        if trial.record.key.target == target {
            let scores = store.scores(trial.record.key)?;
            answers.trials.push((trial, scores));
        }
    }
    Ok(answers)
}

/// That a side knows the case at all.
pub(super) fn check_known(answers: &[CaseAnswers], sides: &[Side], case: &CaseId) -> Result<(), CliError> {
    if answers.iter().any(|side| side.known.is_some()) {
        return Ok(());
    }
    let ids = sides.iter().flat_map(|side| &side.cases).map(|own| own.id.as_str());
    Err(CliError::Usage {
        message: format!("no side has a case `{case}`"),
        hint: nearest(case.as_str(), ids).map(|near| format!("did you mean `{near}`?")),
    })
}

/// The sides of a case as JSON.
pub(super) fn json(case: &CaseId, sides: &[CaseAnswers]) -> String {
    let sides: Vec<serde_json::Value> = sides
        .iter()
        .map(|side| {
            let trials: Vec<serde_json::Value> = side
                .trials
                .iter()
                .map(|(trial, scores)| {
                    serde_json::json!({
                        "repeat": trial.record.key.repeat,
                        "outcome": trial.record.outcome,
                        "verdict": trial.verdict,
                        "answer": trial.record.answer,
                        "scores": scores,
                    })
                })
                .collect();
            serde_json::json!({
                "label": side.label,
                "passes": side.known.map(|(passes, _)| passes),
                "measured": side.known.map(|(_, measured)| measured),
                "trials": trials,
            })
        })
        .collect();
    let whole = serde_json::json!({ "schema_version": 1, "case": case, "sides": sides });
    serde_json::to_string_pretty(&whole).expect("answers are plain data")
}

/// The sides of a case as text: every later side beside the first.
pub(super) fn text(case: &CaseId, sides: &[CaseAnswers]) -> String {
    let mut text = format!("case {}\n", visible(case.as_str()));
    if let Some(question) = sides.iter().find_map(|side| side.question.as_deref()) {
        text.push_str(&format!("asked  {}\n", visible(question.trim_end()).replace('\n', "\n       ")));
    }
    let Some((first, others)) = sides.split_first() else { return text };
    for other in others {
        text.push_str(&format!(
            "\n{}\n",
            beside(&format!("A  {}", heading(first)), &format!("B  {}", heading(other)))
        ));
        let repeats = first.trials.len().max(other.trials.len());
        for at in 0..repeats {
            let (left, right) = (first.trials.get(at), other.trials.get(at));
            text.push_str(&format!("\n{}", beside(&trial_text(left), &trial_text(right))));
            if let (Some((left, _)), Some((right, _))) = (left, right) {
                text.push_str(&word_diff(&left.record.answer, &right.record.answer));
            }
        }
    }
    text
}

fn heading(side: &CaseAnswers) -> String {
    let passes = match side.known {
        Some((passes, measured)) => format!("{passes}/{measured} passed"),
        None => "does not have it".to_owned(),
    };
    let answers = if side.trials.is_empty() && side.known.is_some() { ", no answers kept" } else { "" };
    format!("{} · {passes}{answers}", visible(&side.label))
}

fn trial_text(trial: Option<&(StoredTrial, Vec<Score>)>) -> String {
    let Some((trial, scores)) = trial else { return String::new() };
    let verdict = trial.verdict.map(|verdict| format!(" · {}", verdict.as_str())).unwrap_or_default();
    let record = &trial.record;
    let mut text = format!("repeat {} · {}{verdict}\n", record.key.repeat, record.outcome.as_str());
    text.push_str(&visible(record.answer.trim_end()));
    if let Some(failure) = &record.failure {
        text.push_str(&visible(&failure.to_string()));
    }
    for score in scores {
        text.push_str(&format!("\n{}: {} {}", score.verdict.as_str(), score.grader, visible(&score.reason)));
    }
    text
}

/// The words that differ, marked so that they are told apart without colour: `[-taken out-]` and
/// `{+put in+}`. Nothing for equal answers.
fn word_diff(before: &str, after: &str) -> String {
    if before == after {
        return "  the answers are the same\n".to_owned();
    }
    let diff = TextDiff::from_words(before, after);
    let mut text = String::new();
    let mut open: Option<ChangeTag> = None;
    for change in diff.iter_all_changes() {
        let tag = change.tag();
        if open != Some(tag) {
            text.push_str(closing(open));
            text.push_str(match tag {
                ChangeTag::Equal => "",
                ChangeTag::Delete => "[-",
                ChangeTag::Insert => "{+",
            });
            open = Some(tag);
        }
        text.push_str(change.value());
    }
    text.push_str(closing(open));
    let lines: Vec<String> =
        visible(text.trim_end()).lines().flat_map(|line| folded(line, 2 * COLUMN)).collect();
    format!("  {}\n", lines.join("\n  "))
}

fn closing(tag: Option<ChangeTag>) -> &'static str {
    match tag {
        Some(ChangeTag::Delete) => "-]",
        Some(ChangeTag::Insert) => "+}",
        _ => "",
    }
}

/// Two texts in two columns.
fn beside(left: &str, right: &str) -> String {
    let fold = |text: &str| text.lines().flat_map(|line| folded(line, COLUMN)).collect::<Vec<_>>();
    let (left, right) = (fold(left), fold(right));
    let mut text = String::new();
    for at in 0..left.len().max(right.len()) {
        let cell = |column: &[String]| column.get(at).cloned().unwrap_or_default();
        let padding = " ".repeat(COLUMN - cell(&left).chars().count());
        let line = format!("{}{padding} │ {}", cell(&left), cell(&right));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A line folded at `width` characters, between words where that can be.
fn folded(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![];
    let mut rest: Vec<char> = line.replace('\t', " ").chars().collect();
    while rest.len() > width {
        let space = rest[..=width].iter().rposition(|character| *character == ' ').filter(|at| *at > 0);
        let at = space.unwrap_or(width);
        let tail = rest.split_off(at);
        lines.push(rest.into_iter().collect());
        rest = if space.is_some() { tail[1..].to_vec() } else { tail };
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_differ_are_marked_without_colour() {
        assert_eq!(word_diff("It is 41 days.", "It is 30 days."), "  It is [-41-]{+30+} days.\n");
        assert_eq!(word_diff("same", "same"), "  the answers are the same\n");
    }

    #[test]
    fn columns_stay_within_the_screen() {
        let long = "word ".repeat(40) + &"x".repeat(120);
        let text = beside(&long, &long);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}
