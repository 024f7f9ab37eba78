//! A grader, compiled: what it was told is checked once, then it grades any number of answers.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    cites::{self, Cites},
    enumeration::{self, Enumeration},
    exact::{self, Exact},
    finding::Finding,
    grounded::{self, Grounded},
    json::{self, Json},
    number::{self, Number},
    parameters::Parameters,
    pattern::{self, Pattern},
    unknown::{self, Unknown},
    words::{self, Words},
};
use crate::domain::text;
use crate::domain::{Case, GraderName, GraderSpec, Retrieved, Score, Verdict, nearest};

/// The longest reason, in characters.
const REASON: usize = 200;

/// The kinds of graders of this floor, by the name that files use.
const KINDS: [&str; 9] =
    ["exact", "words", "number", "unknown", "enum", "regex", "json", "grounded", "cites"];

/// A grader ready to grade. Pure: the same answer and case give the same score.
#[derive(Debug)]
pub struct Grader {
    name: GraderName,
    hard: bool,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Exact(Exact),
    Words(Words),
    Number(Number),
    Unknown(Unknown),
    Enum(Enumeration),
    Regex(Pattern),
    Json(Json),
    Grounded(Grounded),
    Cites(Cites),
}

impl Grader {
    /// Checks a grader's parameters and makes it ready.
    ///
    /// # Errors
    /// Everything wrong with it: an unknown kind, unknown parameters (with the nearest that exists),
    /// wrong types, a pattern that is no regular expression.
    pub fn compile(spec: &GraderSpec) -> Result<Self, Vec<String>> {
        let parameters = Parameters::new(&spec.parameters);
        let kind = match spec.kind.as_str() {
            "exact" => Exact::compile(parameters).map(Kind::Exact),
            "words" => Words::compile(parameters).map(Kind::Words),
            "number" => Number::compile(parameters).map(Kind::Number),
            "unknown" => Unknown::compile(parameters).map(Kind::Unknown),
            "enum" => Enumeration::compile(parameters).map(Kind::Enum),
            "regex" => Pattern::compile(parameters).map(Kind::Regex),
            "json" => Json::compile(parameters).map(Kind::Json),
            "grounded" => Grounded::compile(parameters).map(Kind::Grounded),
            "cites" => Cites::compile(parameters).map(Kind::Cites),
            other => {
                let hint = match nearest(other, KINDS) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("there is {}", KINDS.join(", ")),
                };
                Err(vec![format!("unknown grader `{other}`; {hint}")])
            }
        }?;
        Ok(Self { name: spec.name.clone(), hard: spec.hard, kind })
    }

    /// The name under which its scores are reported.
    pub fn name(&self) -> &GraderName {
        &self.name
    }

    /// What the case lacks for this grader, so that it could only leave answers unscored.
    pub(super) fn check_against(&self, case: &Case) -> Option<String> {
        match &self.kind {
            Kind::Exact(grader) => grader.lacks(case),
            Kind::Words(grader) => grader.lacks(case),
            Kind::Number(grader) => grader.lacks(case),
            Kind::Enum(grader) => grader.lacks(case),
            Kind::Json(grader) => grader.lacks(case),
            Kind::Cites(grader) => grader.lacks(case),
            Kind::Unknown(_) | Kind::Regex(_) | Kind::Grounded(_) => None,
        }
    }

    /// Grades one answer. A panic within the grader is an unscored answer, not the end of the run.
    pub fn grade(&self, answer: &str, case: &Case) -> Score {
        self.grade_with(answer, case, None)
    }

    /// The same for an answer whose application told what it `retrieved`: that then stands for the
    /// case's own `context.retrieved`.
    pub(super) fn grade_with(&self, answer: &str, case: &Case, retrieved: Option<&[Retrieved]>) -> Score {
        self.score(guarded(|| self.find(answer, case, retrieved)))
    }

    fn find(&self, answer: &str, case: &Case, retrieved: Option<&[Retrieved]>) -> Finding {
        match &self.kind {
            Kind::Exact(grader) => grader.grade(answer, case),
            Kind::Words(grader) => grader.grade(answer, case),
            Kind::Number(grader) => grader.grade(answer, case),
            Kind::Unknown(grader) => grader.grade(answer),
            Kind::Enum(grader) => grader.grade(answer, case),
            Kind::Regex(grader) => grader.grade(answer),
            Kind::Json(grader) => grader.grade(answer, case),
            Kind::Grounded(grader) => grader.grade(answer, case, retrieved),
            Kind::Cites(grader) => grader.grade(answer, case, retrieved),
        }
    }

    fn score(&self, finding: Finding) -> Score {
        Score {
            grader: self.name.clone(),
            hard: self.hard,
            verdict: finding.verdict,
            value: match finding.verdict {
                Verdict::Pass => Some(1.0),
                Verdict::Fail => Some(0.0),
                Verdict::Unscored => None,
            },
            reason: text::spelled_out(&finding.reason, REASON),
        }
    }
}

/// The version of every kind of grader: raised whenever the same answer may get another verdict.
/// Stored with a run, so that scores of different graders are never compared.
pub fn grader_versions() -> BTreeMap<&'static str, u32> {
    BTreeMap::from([
        ("exact", exact::VERSION),
        ("words", words::VERSION),
        ("number", number::VERSION),
        ("unknown", unknown::VERSION),
        ("enum", enumeration::VERSION),
        ("regex", pattern::VERSION),
        ("json", json::VERSION),
        ("grounded", grounded::VERSION),
        ("cites", cites::VERSION),
    ])
}

fn guarded(find: impl FnOnce() -> Finding) -> Finding {
    // Graders are not changed by grading, so that a panic leaves nothing half done.
    catch_unwind(AssertUnwindSafe(find)).unwrap_or_else(|panic| {
        Finding::unscored(format!("grader panicked: {}", panic_message(panic.as_ref())))
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::grading::testing::{case, faults, grader};

    #[test]
    fn a_panic_leaves_the_answer_unscored() {
        let finding = guarded(|| panic!("index {} of 3", 7));
        assert_eq!(finding, Finding::unscored("grader panicked: index 7 of 3"));
    }

    #[test]
    fn an_unknown_kind_is_a_fault_with_a_suggestion() {
        assert_eq!(faults("exakt", json!({})), ["unknown grader `exakt`; did you mean `exact`?"]);
        assert!(faults("rubric", json!({}))[0].contains("there is exact, words"));
    }

    #[test]
    fn every_kind_has_a_version_and_compiles() {
        assert_eq!(grader_versions().len(), KINDS.len());
        for kind in KINDS {
            assert!(grader_versions().contains_key(kind));
            let parameters = if kind == "regex" { json!({"pattern": "."}) } else { json!({}) };
            grader(kind, parameters);
        }
    }

    #[test]
    fn a_score_has_a_value_only_when_it_is_scored() {
        let score = |expected| grader("exact", json!({})).grade("a", &case(expected));
        assert_eq!((score(json!("a")).verdict, score(json!("a")).value), (Verdict::Pass, Some(1.0)));
        assert_eq!(score(json!("b")).value, Some(0.0));
        let unscored = score(Value::Null);
        assert_eq!((unscored.verdict, unscored.value), (Verdict::Unscored, None));
        assert!(grader("exact", json!({})).check_against(&case(Value::Null)).is_some());
    }

    proptest! {
        #[test]
        fn no_grader_panics_on_any_answer(answer in prop_oneof![
            ".*",
            r#"[-+0-9 .,%$€/()\[\]{}"'“”„«»\\`<>=~^*_\n#]*"#,
            r"(\\boxed|\{|\}|```|\[|[0-9]|\n|json| |½|万|e\u{301})*",
        ], expected in prop_oneof![
            Just(json!("1,234")),
            Just(json!({"answer": "a", "numbers": ["20%"], "allowed": ["a", "b"], "sources": ["d"], "required_keys": ["k"]})),
        ]) {
            let mut case = case(expected);
            case.context = json!({"retrieved": [{"doc": "d", "chunk": "d#1", "text": answer.clone()}]});
            let sets = [json!({}), json!({"boxed": true}), json!({"unit": "kg"}), json!({"take": "all"}), json!({"fenced": "prose"}), json!({"pattern": "a+"})];
            for kind in KINDS {
                for parameters in &sets {
                    let spec = crate::grading::testing::spec(kind, parameters.clone());
                    if let Ok(grader) = Grader::compile(&spec) {
                        let score = grader.grade(&answer, &case);
                        prop_assert!(!score.reason.starts_with("grader panicked"), "{kind}: {}", score.reason);
                        prop_assert!(score.reason.chars().count() <= 200 && !score.reason.contains('\n'));
                    }
                }
            }
        }
    }
}
