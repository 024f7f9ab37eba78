//! A comparison as annotations of a GitHub Actions workflow.

use std::{collections::BTreeMap, fmt::Write};

use crate::domain::text::{beginning, visible};
use crate::{
    compare::{Comparison, Direction, FlipAnswers, FlipRow, GateVerdict, Verdict},
    domain::CaseId,
    report::format::count,
};

/// A step shows ten annotations of a kind: the verdict takes one, the gates up to nine.
const MOST_FLIPS: usize = 9;

/// Longest annotation, in characters.
const LONGEST: usize = 1_000;

/// A comparison as workflow commands: the verdict first, then every gate that does not hold, then
/// the first cases that broke (as warnings, so that they do not crowd out the gates).
///
/// Source: GitHub, *Workflow commands for GitHub Actions*.
pub(super) fn comparison_github(comparison: &Comparison, answers: &BTreeMap<CaseId, FlipAnswers>) -> String {
    let [baseline, candidate] = &comparison.sides;
    let (level, verdict) = match comparison.verdict {
        Verdict::Pass => ("notice", "every gate holds"),
        Verdict::Fail => ("error", "a gate fails"),
        Verdict::CannotTell => ("warning", "cannot tell"),
        Verdict::NoGates => ("notice", "no gates"),
    };
    let title = format!("caseload: {} against {}: {verdict}", candidate.label, baseline.label);
    let flips = &comparison.flips;
    let counts = format!(
        "{} fixed, {} broke of {} cases",
        count(flips.fixed.len() as u64),
        count(flips.broke.len() as u64),
        count(comparison.pairs as u64)
    );
    let mut text = String::new();
    annotate(&mut text, level, &title, &format!("{}\n{counts}", comparison.words));
    for gate in &comparison.gates {
        let level = match gate.verdict {
            GateVerdict::Pass => continue,
            GateVerdict::Fail => "error",
            GateVerdict::CannotTell => "warning",
        };
        let title = format!("gate {}: {}", gate.name, gate.verdict.as_str());
        let would = gate.would_decide.as_ref().map(|what| format!("\n{what}")).unwrap_or_default();
        annotate(&mut text, level, &title, &format!("{}{would}", gate.why));
    }
    let broke = flips.rows.iter().filter(|row| row.direction == Direction::Broke && row.signed_off.is_none());
    for row in broke.take(MOST_FLIPS) {
        annotate(&mut text, "warning", &format!("broke: {}", row.id), &flip(row, answers.get(&row.id)));
    }
    text
}

fn flip(row: &FlipRow, answers: Option<&FlipAnswers>) -> String {
    let hard = if row.hard { ", hard" } else { "" };
    let mut text = format!(
        "{}/{} -> {}/{} passes ({}{hard})",
        row.baseline.passes,
        row.baseline.measured,
        row.candidate.passes,
        row.candidate.measured,
        row.mark.as_str()
    );
    if let Some(FlipAnswers { baseline, candidate, reason }) = answers {
        let _ = write!(text, "\nwas: {baseline}\nis: {candidate}\nwhy: {reason}");
    }
    text
}

/// One annotation on one line: whatever the message holds, it begins no command of its own.
fn annotate(text: &mut String, level: &str, title: &str, message: &str) {
    let _ = writeln!(text, "::{level} title={}::{}", property(title), data(message));
}

/// A command's message: `%` and line ends are escaped, other control characters shown.
fn data(text: &str) -> String {
    let shown = visible(&text.replace("\r\n", "\n"));
    beginning(&shown, LONGEST).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A command's property, in which colons and commas have a meaning, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::fixture::{comparison, hostile_answers, with_flips};

    #[test]
    fn annotations_read_as_before() {
        insta::assert_snapshot!(comparison_github(&comparison(), &BTreeMap::new()));
    }

    #[test]
    fn a_hostile_answer_begins_no_command() {
        let text = comparison_github(&with_flips(40), &hostile_answers());
        for line in text.lines() {
            let level = ["::error title=", "::warning title=", "::notice title="];
            assert!(level.iter().any(|level| line.starts_with(level)), "{line}");
            assert!(!line.contains('\u{1b}') && !line.contains('\r'), "{line}");
        }
        assert_eq!(text.lines().filter(|line| line.contains("broke%3A ")).count(), MOST_FLIPS);
    }

    #[test]
    fn line_ends_and_percent_signs_are_escaped() {
        assert_eq!(data("100 %\n::error::x"), "100 %25%0A::error::x");
        assert_eq!(property("a: b, c"), "a%3A b%2C c");
    }
}
