//! One case on every side: the answers side by side, the scores' reasons, and a word diff.

use similar::{ChangeTag, TextDiff};

use crate::{
    app::compare_case::{CaseSide, CaseTrial, ComparedCase},
    domain::text::visible,
};

/// The width of each of the two columns: together with what stands between them, 100.
const COLUMN: usize = 48;

/// The sides of a case: every later side beside the first.
pub fn compared_case_text(compared: &ComparedCase) -> String {
    let mut text = format!("case {}\n", visible(compared.case.as_str()));
    if let Some(question) = &compared.question {
        text.push_str(&format!("asked  {}\n", visible(question.trim_end()).replace('\n', "\n       ")));
    }
    let Some((first, others)) = compared.sides.split_first() else { return text };
    for other in others {
        text.push_str(&format!(
            "\n{}\n",
            beside(&format!("A  {}", heading(first)), &format!("B  {}", heading(other)))
        ));
        let repeats = first.trials.len().max(other.trials.len());
        for at in 0..repeats {
            let (left, right) = (first.trials.get(at), other.trials.get(at));
            text.push_str(&format!("\n{}", beside(&trial_text(left), &trial_text(right))));
            if let (Some(left), Some(right)) = (left, right) {
                text.push_str(&difference(left, right));
            }
        }
    }
    text
}

fn heading(side: &CaseSide) -> String {
    let passes = match (side.passes, side.measured) {
        (Some(passes), Some(measured)) => format!("{passes}/{measured} passed"),
        _ => "does not have it".to_owned(),
    };
    let answers = if side.trials.is_empty() && side.measured.is_some() { ", no answers kept" } else { "" };
    format!("{} · {passes}{answers}", visible(&side.label))
}

fn trial_text(trial: Option<&CaseTrial>) -> String {
    let Some(trial) = trial else { return String::new() };
    let verdict = trial.verdict.map(|verdict| format!(" · {}", verdict.as_str())).unwrap_or_default();
    let mut text = format!("repeat {} · {}{verdict}\n", trial.repeat, trial.outcome.as_str());
    text.push_str(&visible(trial.answer.as_deref().unwrap_or("(not kept)").trim_end()));
    if let Some(failure) = &trial.failure {
        text.push_str(&visible(&failure.to_string()));
    }
    for score in &trial.scores {
        text.push_str(&format!("\n{}: {} {}", score.verdict.as_str(), score.grader, visible(&score.reason)));
    }
    text
}

/// What differs between two answers; nothing where one of them was not kept.
fn difference(before: &CaseTrial, after: &CaseTrial) -> String {
    match (&before.answer, &after.answer) {
        (Some(before), Some(after)) => word_diff(before, after),
        _ => String::new(),
    }
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
