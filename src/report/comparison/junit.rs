//! A comparison as JUnit XML: one test case per golden case, regressions as failures.

use std::collections::{BTreeMap, HashMap};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::domain::text::visible;
use crate::{
    compare::{CaseChange, Comparison, Confirmed, FlipAnswers, FlipRow, GateVerdict, Side, side_by_side},
    domain::CaseId,
};

/// A comparison as JUnit XML: a suite of the gates, and a suite of the cases.
///
/// A case that broke is a failure, unless somebody signed it off or fresh answers did not confirm
/// it: then it is skipped, like every case that says nothing about a change (fails on both sides, is
/// new, is not measured), with the reason. A gate that cannot tell is an error.
///
/// # Panics
/// Never: it is written to memory.
pub(super) fn comparison_junit(
    comparison: &Comparison,
    sides: [&Side; 2],
    answers: &BTreeMap<CaseId, FlipAnswers>,
) -> String {
    let [baseline, candidate] = &comparison.sides;
    let name = visible(&format!("{} against {}", candidate.label, baseline.label));
    let mut report = Report::new(format!("caseload compare: {name}"));
    if !comparison.gates.is_empty() {
        let mut gates = TestSuite::new("gates");
        gates.add_test_cases(comparison.gates.iter().map(|gate| {
            let status = match gate.verdict {
                GateVerdict::Pass => TestCaseStatus::success(),
                GateVerdict::Fail => not_passed(NonSuccessKind::Failure, "gate", &gate.why),
                GateVerdict::CannotTell => {
                    let would = gate.would_decide.as_deref().unwrap_or_default();
                    not_passed(NonSuccessKind::Error, "cannot_tell", &format!("{}; {would}", gate.why))
                }
            };
            test_case(gate.name, "gates", status)
        }));
        report.add_test_suite(gates);
    }
    let flips: HashMap<&CaseId, &FlipRow> = comparison.flips.rows.iter().map(|row| (&row.id, row)).collect();
    let mut suite = TestSuite::new(name.clone());
    suite.add_test_cases(side_by_side(sides).into_iter().map(|(before, after)| {
        let case = after.or(before).expect("a case is on one side at least");
        let status = match CaseChange::of(before, after) {
            CaseChange::Broke => broke(flips.get(&case.id).copied(), answers.get(&case.id)),
            CaseChange::StillPasses | CaseChange::Fixed => TestCaseStatus::success(),
            CaseChange::StillFails => skipped("fails on both sides"),
            CaseChange::New => skipped("new: not on the baseline's side"),
            CaseChange::Gone => skipped("gone: not on the candidate's side"),
            CaseChange::Changed => skipped("changed between the sides"),
            CaseChange::NotMeasured => skipped("not measured on a side"),
        };
        test_case(case.id.as_str(), &case.cluster, status)
    }));
    report.add_test_suite(suite);
    report.to_string().expect("memory can be written")
}

fn test_case(name: &str, class: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(visible(name), status);
    case.set_classname(visible(class));
    case
}

fn skipped(why: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

fn not_passed(kind: NonSuccessKind, class: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(class).set_message(visible(message));
    status
}

fn broke(flip: Option<&FlipRow>, answers: Option<&FlipAnswers>) -> TestCaseStatus {
    let Some(flip) = flip else { return not_passed(NonSuccessKind::Failure, "regression", "broke") };
    if let Some(who) = &flip.signed_off {
        return skipped(&format!("broke, signed off: {}", visible(who)));
    }
    if flip.confirmed == Some(Confirmed::NotConfirmed) {
        return skipped("broke, and fresh answers did not confirm it");
    }
    let (was, is) = (flip.baseline, flip.candidate);
    let hard = if flip.hard { ", hard" } else { "" };
    let message = format!(
        "{}/{} -> {}/{} passes ({}{hard})",
        was.passes,
        was.measured,
        is.passes,
        is.measured,
        flip.mark.as_str()
    );
    let class = if flip.hard { "hard_regression" } else { "regression" };
    let mut status = not_passed(NonSuccessKind::Failure, class, &message);
    if let Some(answers) = answers {
        let FlipAnswers { baseline, candidate, reason } = answers;
        status.set_description(visible(&format!("was: {baseline}\nis: {candidate}\nwhy: {reason}")));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::fixture::{
        comparison, hostile_answers, sides, sides_with_flips, with_flips,
    };

    /// The report without what differs from run to run.
    fn stable(xml: &str) -> &str {
        assert!(!xml.contains("uuid=") && !xml.contains("timestamp="), "{xml}");
        xml
    }

    #[test]
    fn a_report_reads_as_before() {
        let [baseline, candidate] = sides();
        let xml = comparison_junit(&comparison(), [&baseline, &candidate], &BTreeMap::new());
        insta::assert_snapshot!(stable(&xml));
    }

    #[test]
    fn regressions_fail_and_hostile_answers_are_text() {
        let [baseline, candidate] = sides_with_flips(6);
        let xml = comparison_junit(&with_flips(6), [&baseline, &candidate], &hostile_answers());
        let read = Report::deserialize_from_str(&xml).unwrap();
        let cases = &read.test_suites[1];
        assert_eq!((cases.tests, cases.failures), (baseline.cases.len(), 3));
        assert!(!xml.contains("<script") && !xml.contains('\u{1b}'), "{xml}");
        assert!(!xml.contains("<img"), "{xml}");
    }
}
