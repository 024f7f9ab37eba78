//! A case's own examples against its graders.

use std::sync::Arc;

use super::{Grader, trial_verdict, verdict::grade_all};
use crate::domain::text::quoted;
use crate::domain::{Case, Score, Verdict};

/// Where the graders and the examples of a case contradict each other, one message each.
///
/// Every example in `pass` must be accepted by all graders, every one in `fail` rejected by at least
/// one. `graders` may leave out graders of the case that cannot be asked here, such as judges; then
/// only the right answers are held against the others.
pub(super) fn check_examples(case: &Case, graders: &[Arc<Grader>]) -> Vec<String> {
    let mut contradictions = vec![];
    for (index, answer) in case.examples.pass.iter().enumerate() {
        for score in grade_all(graders, answer, case) {
            if score.verdict != Verdict::Pass {
                contradictions.push(format!(
                    "`examples.pass[{index}]` {} is not accepted by {}",
                    quoted(answer),
                    told(&score)
                ));
            }
        }
    }
    if graders.is_empty() || graders.len() < case.graders.len() {
        return contradictions;
    }
    for (index, answer) in case.examples.fail.iter().enumerate() {
        let scores = grade_all(graders, answer, case);
        let message = match trial_verdict(&scores) {
            Verdict::Fail => continue,
            Verdict::Pass => {
                let names: Vec<String> = scores.iter().map(|score| format!("`{}`", score.grader)).collect();
                format!("is accepted by {}", names.join(", "))
            }
            Verdict::Unscored => {
                let unsure = scores.iter().find(|score| score.verdict == Verdict::Unscored);
                format!("is not rejected by {}", unsure.map(told).unwrap_or_default())
            }
        };
        contradictions.push(format!("`examples.fail[{index}]` {} {message}", quoted(answer)));
    }
    contradictions
}

fn told(score: &Score) -> String {
    format!("`{}`: {}", score.grader, score.reason)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        domain::Examples,
        grading::testing::{case, grader, spec},
    };

    #[test]
    fn a_grader_that_its_examples_contradict_is_told() {
        let mut case = case(Value::Null);
        case.examples =
            Examples { pass: vec!["yes".into(), "no".into()], fail: vec!["never".into(), "yes!".into()] };
        case.graders = vec![spec("words", json!({"any": ["yes"]}))];
        let graders = [Arc::new(grader("words", json!({"any": ["yes"]})))];
        assert_eq!(
            check_examples(&case, &graders),
            [
                "`examples.pass[1]` `no` is not accepted by `words`: has none of `yes`",
                "`examples.fail[1]` `yes!` is accepted by `words`",
            ]
        );
    }

    #[test]
    fn wrong_answers_are_left_to_graders_that_cannot_be_asked() {
        let mut case = case(Value::Null);
        case.examples = Examples { pass: vec![], fail: vec!["yes".into()] };
        case.graders = vec![spec("words", json!({"any": ["yes"]})), spec("rubric", json!({}))];
        let graders = [Arc::new(grader("words", json!({"any": ["yes"]})))];
        assert_eq!(check_examples(&case, &graders), Vec::<String>::new());
    }
}
