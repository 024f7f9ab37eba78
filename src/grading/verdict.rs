//! All graders on one answer, and the verdict of the trial.

use std::sync::Arc;

use super::Grader;
use crate::domain::{Case, Retrieved, Score, Verdict};

/// The score of every grader on one answer, in their order.
pub(super) fn grade_all(graders: &[Arc<Grader>], answer: &str, case: &Case) -> Vec<Score> {
    grade_all_with(graders, answer, case, None)
}

/// The same for an answer whose application told what it `retrieved`: that then stands for the case's
/// own `context.retrieved`.
pub fn grade_all_with(
    graders: &[Arc<Grader>],
    answer: &str,
    case: &Case,
    retrieved: Option<&[Retrieved]>,
) -> Vec<Score> {
    graders.iter().map(|grader| grader.grade_with(answer, case, retrieved)).collect()
}

/// A trial's verdict from its scores: all must pass.
///
/// One fail decides, whatever another grader could not say. Without a fail, one unscored leaves the
/// trial unscored, and so does having no score at all.
pub fn trial_verdict(scores: &[Score]) -> Verdict {
    let has = |verdict| scores.iter().any(|score| score.verdict == verdict);
    if has(Verdict::Fail) {
        Verdict::Fail
    } else if scores.is_empty() || has(Verdict::Unscored) {
        Verdict::Unscored
    } else {
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        domain::Verdict::{Fail, Pass, Unscored},
        grading::testing::{case, grader},
    };

    #[test]
    fn a_fail_decides_and_an_unscored_leaves_open() {
        for (verdicts, wanted) in [
            (&[Pass, Pass][..], Pass),
            (&[Pass, Fail], Fail),
            (&[Unscored, Fail], Fail),
            (&[Pass, Unscored], Unscored),
            (&[], Unscored),
        ] {
            let template = grader("exact", json!({})).grade("a", &case(json!("a")));
            let scores: Vec<Score> =
                verdicts.iter().map(|verdict| Score { verdict: *verdict, ..template.clone() }).collect();
            assert_eq!(trial_verdict(&scores), wanted, "{verdicts:?}");
        }
    }

    #[test]
    fn all_graders_score_in_their_order() {
        let graders =
            [Arc::new(grader("exact", json!({}))), Arc::new(grader("words", json!({"none": ["b"]})))];
        let verdicts: Vec<Verdict> =
            grade_all(&graders, "a b", &case(json!("a"))).iter().map(|score| score.verdict).collect();
        assert_eq!(verdicts, [Fail, Fail]);
    }
}
