//! Graders on answers of real models.

use std::path::Path;

use caseload::{
    domain::Verdict,
    golden::{CaseDefaults, read},
    grading::GraderCache,
};
use serde_json::{Value, json};

/// Answers to GSM8K with the verdicts that were published with them (openai/grade-school-math, MIT): what
/// is odd among 5,276 of them, and some of each ordinary kind.
const GSM8K: &str = include_str!("reference/gsm8k.jsonl");

#[test]
fn published_answers_to_gsm8k_get_the_published_verdict() {
    let mut cache = GraderCache::default();
    let mut rows = 0;
    for line in GSM8K.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let case = json!({"id": row["id"], "input": "?", "expected": row["expected"], "graders": ["number"]});
        let set = read(case.to_string().as_bytes(), Path::new("gsm8k"), &CaseDefaults::default()).unwrap();
        let case = &set.cases[0];
        let score = cache.get(&case.graders[0]).unwrap().grade(row["output"].as_str().unwrap(), case);
        let is_right = score.verdict == Verdict::Pass;
        assert_eq!(json!(is_right), row["is_correct"], "{} {}: {}", row["model"], row["id"], score.reason);
        rows += 1;
    }
    assert_eq!(rows, 55);
}
