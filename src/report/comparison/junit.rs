//! A comparison as JUnit XML: one test case per golden case, regressions as failures.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::domain::text::visible;
use crate::{
    compare::{
        CaseChange, Comparison, Confirmed, FlipAnswers, FlipRow, GateVerdict, Side, SideCase, side_by_side,
    },
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
        let mut test_case = test_case(case.id.as_str(), &case.cluster, status);
        test_case.time = after.and_then(took);
        test_case
    }));
    let took = suite.test_cases.iter().filter_map(|case| case.time).sum();
    suite.set_time(took);
    report.set_time(took);
    if let Some(created) = sides[1].created_at {
        suite.extra.insert("timestamp".into(), created.to_string().into());
    }
    report.add_test_suite(suite);
    let xml = report.to_string().expect("memory can be written");
    // JUnit's schema, as Jenkins checks it, counts what was skipped for a suite and not for all of them.
    xml.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1)
}

/// How long its answers took together.
fn took(case: &SideCase) -> Option<Duration> {
    let seconds = case.latency_ms? / 1e3 * f64::from(case.count.measured);
    Duration::try_from_secs_f64(seconds).ok()
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
    use crate::domain::UnixMillis;
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

    /// The attributes of `<testsuites>` and `<testsuite>` in Jenkins' `jenkins-junit.xsd`.
    #[test]
    fn each_element_has_the_attributes_that_the_schema_knows() {
        let [baseline, mut candidate] = sides();
        candidate.label = "a \" skipped=\"9".to_owned();
        candidate.created_at = Some(UnixMillis(1_790_000_000_000));
        let xml = comparison_junit(&comparison(), [&baseline, &candidate], &BTreeMap::new());
        let tags = |name: &str| {
            let lines = xml.lines().map(str::trim_start);
            let tag = format!("<{name} ");
            lines.filter(|line| line.starts_with(&tag)).map(str::to_owned).collect::<Vec<_>>()
        };
        let names = |tag: &str| -> Vec<String> {
            tag.split("=\"").filter_map(|part| part.rsplit([' ', '<']).next()).map(str::to_owned).collect()
        };
        for (element, known) in [
            ("testsuites", &["name", "time", "tests", "failures", "disabled", "errors"][..]),
            (
                "testsuite",
                &[
                    "name",
                    "tests",
                    "failures",
                    "errors",
                    "time",
                    "disabled",
                    "skipped",
                    "timestamp",
                    "hostname",
                    "id",
                    "package",
                ],
            ),
            ("testcase", &["name", "assertions", "time", "classname", "status"]),
        ] {
            let tags = tags(element);
            assert!(!tags.is_empty());
            for tag in tags {
                let names = names(&tag);
                let attributes = &names[..names.len() - 1];
                assert!(
                    attributes.iter().all(|name| known.contains(&name.as_str())),
                    "{attributes:?} in {tag}"
                );
            }
        }
        let suites = tags("testsuite");
        for told in [" skipped=\"", " time=\"", " timestamp=\"2026-09-21T14:13:20.000Z\""] {
            assert!(suites[1].contains(told), "{told} in {suites:?}");
        }
    }

    #[test]
    fn an_id_that_is_no_xml_is_written_out() {
        let [baseline, mut candidate] = sides();
        candidate.label = "m\u{1b}\u{fffe}".to_owned();
        candidate.cases[0].id = CaseId::from("a\u{ffff}\0\u{85}");
        let xml = comparison_junit(&comparison(), [&baseline, &candidate], &BTreeMap::new());
        assert!(!xml.replace(['\n', '\t'], "").contains(crate::domain::text::is_unseen), "{xml}");
        assert!(xml.contains("a\\u{ffff}\\u{0}\\u{85}"), "{xml}");
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
