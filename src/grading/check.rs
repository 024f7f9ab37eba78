//! A golden set against its graders, before anything is sent.

use super::{GraderCache, examples::check_examples};
use crate::{
    domain::{Faults, GraderSpec},
    golden::GoldenSet,
};

/// Everything that can be said against the graders of a set, each fault with its line and case:
/// wrong kinds and parameters, cases that lack what a grader needs, examples that contradict a grader.
///
/// `is_elsewhere` tells the graders that are not of this floor, such as judges; they are passed over.
pub fn check_set(set: &GoldenSet, is_elsewhere: impl Fn(&GraderSpec) -> bool) -> Faults {
    check(set, is_elsewhere, true)
}

/// The same without the examples, which cost a grading each.
pub fn check_graders(set: &GoldenSet, is_elsewhere: impl Fn(&GraderSpec) -> bool) -> Faults {
    check(set, is_elsewhere, false)
}

fn check(set: &GoldenSet, is_elsewhere: impl Fn(&GraderSpec) -> bool, with_examples: bool) -> Faults {
    let mut cache = GraderCache::default();
    let mut faults = vec![];
    for (index, case) in set.cases.iter().enumerate() {
        let mut graders = vec![];
        let mut is_sound = true;
        for spec in case.graders.iter().filter(|spec| !is_elsewhere(spec)) {
            let field = format!("graders.{}", spec.name);
            match cache.get(spec) {
                Ok(grader) => {
                    if let Some(lack) = grader.check_against(case) {
                        faults.push(set.fault(index, &field, lack));
                        is_sound = false;
                    }
                    graders.push(grader);
                }
                Err(messages) => {
                    faults.extend(messages.into_iter().map(|message| set.fault(index, &field, message)));
                    is_sound = false;
                }
            }
        }
        // A grader that cannot grade would contradict every example: one fault is enough.
        if is_sound && with_examples {
            let contradictions = check_examples(case, &graders);
            faults.extend(contradictions.into_iter().map(|message| set.fault(index, "", message)));
        }
    }
    Faults(faults)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::golden::{CaseDefaults, read};

    #[test]
    fn everything_against_the_graders_of_a_set_is_told_with_its_line() {
        let text = concat!(
            r#"{"id":"a","input":"x","graders":["exakt",{"kind":"regex","pattern":"("},"rubric"]}"#,
            "\n",
            r#"{"id":"b","input":"x","graders":["number"],"examples":{"pass":["1"]}}"#,
            "\n",
            r#"{"id":"c","input":"x","expected":"yes","graders":["exact"],"examples":{"pass":["Yes."],"fail":["YES"]}}"#,
        );
        let set = read(text.as_bytes(), Path::new("s.jsonl"), &CaseDefaults::default()).unwrap();
        let Faults(faults) = check_set(&set, |spec| spec.kind == "rubric");
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "s.jsonl:1: case `a`, `graders.exakt`: unknown grader `exakt`; did you mean `exact`?",
                "s.jsonl:1: case `a`, `graders.regex`: parameter `pattern`: not a regular expression: unclosed group",
                "s.jsonl:2: case `b`, `graders.number`: needs `numbers`, `expected.numbers`, `expected.answer` or a bare `expected`",
                "s.jsonl:3: case `c`: `examples.fail[0]` `YES` is accepted by `exact`",
            ]
        );
    }
}
