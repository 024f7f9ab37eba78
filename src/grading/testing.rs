//! What the tests of graders share.

use serde_json::{Map, Value};

use super::Grader;
use crate::domain::{Case, CaseId, Examples, Fingerprint, GraderName, GraderSpec, Input, PassIf, Verdict};

/// A case of which only `expected` matters.
pub(super) fn case(expected: Value) -> Case {
    Case {
        id: CaseId::from("a"),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: Default::default(),
        cluster: None,
        weight: 1.0,
        input: Input::Text("question".into()),
        context: Value::Null,
        expected,
        graders: vec![],
        repeats: None,
        pass_if: PassIf::default(),
        examples: Examples::default(),
        meta: Value::Null,
        fingerprint: Fingerprint::of(b""),
    }
}

/// A specification with the parameters of an object.
pub(super) fn spec(kind: &str, parameters: Value) -> GraderSpec {
    let parameters: Map<String, Value> = serde_json::from_value(parameters).unwrap();
    GraderSpec { name: GraderName::from(kind), kind: kind.to_owned(), hard: false, parameters }
}

#[track_caller]
pub(super) fn grader(kind: &str, parameters: Value) -> Grader {
    Grader::compile(&spec(kind, parameters)).unwrap()
}

#[track_caller]
pub(super) fn faults(kind: &str, parameters: Value) -> Vec<String> {
    Grader::compile(&spec(kind, parameters)).unwrap_err()
}

/// The verdict on one answer, and its reason.
#[track_caller]
pub(super) fn verdict(kind: &str, parameters: Value, answer: &str, case: &Case) -> (Verdict, String) {
    let score = grader(kind, parameters).grade(answer, case);
    (score.verdict, score.reason)
}
