//! `exact`: the answer is the expected one.
//!
//! Parameters: `answer` (a text or alternatives; else `expected.answer` or a bare `expected`), `case`,
//! `punctuation` and `spacing` (`"fold"` or `"keep"`), `normalize` (`"nfc+quotes"` or `"strict"`),
//! `boxed` (compare what stands in the last `\boxed{…}`; numbers in it by value).

use super::{
    boxed::{answer_or_box, last_box},
    expected,
    finding::Finding,
    fold::Fold,
    number::{Reading, single_number},
    parameters::Parameters,
};
use crate::domain::Case;
use crate::domain::text::{quoted, quoted_list};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 2;

#[derive(Debug)]
pub(super) struct Exact {
    answers: Option<Vec<String>>,
    fold: Fold,
    boxed: bool,
}

impl Exact {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let answers = parameters.value("answer").and_then(|value| {
            let answers = expected::scalars(value);
            if answers.is_none() {
                parameters
                    .fault("answer", format!("expected a text, a number or a list of them, found `{value}`"));
            }
            answers
        });
        let fold = Fold {
            case: parameters.folded("case"),
            punctuation: parameters.folded("punctuation"),
            spacing: parameters.folded("spacing"),
            unicode: parameters.choice("normalize", &[("nfc+quotes", true), ("strict", false)]),
        };
        let boxed = parameters.flag("boxed");
        parameters.finish(Self { answers, fold, boxed })
    }

    fn wanted(&self, case: &Case) -> Result<Vec<String>, String> {
        self.answers
            .clone()
            .or_else(|| expected::answers(case))
            .ok_or_else(|| "needs `answer`, `expected.answer` or a bare `expected`".to_owned())
    }

    pub(super) fn lacks(&self, case: &Case) -> Option<String> {
        self.wanted(case).err()
    }

    pub(super) fn grade(&self, answer: &str, case: &Case) -> Finding {
        let wanted = match self.wanted(case) {
            Ok(wanted) => wanted,
            Err(lack) => return Finding::unscored(lack),
        };
        let found = match answer_or_box(answer, self.boxed) {
            Ok(found) => found,
            Err(fault) => return Finding::fail(fault),
        };
        if wanted.iter().any(|wanted| self.is_same(found, wanted)) {
            return Finding::pass();
        }
        let rule = if self.fold.unicode { "" } else { " (normalize = strict)" };
        let wanted = quoted_list(wanted.iter().map(String::as_str));
        Finding::fail(format!("expected {wanted}, found {}{rule}", quoted(found)))
    }

    fn is_same(&self, found: &str, wanted: &str) -> bool {
        if !self.boxed {
            return self.fold.apply(found) == self.fold.apply(wanted);
        }
        // Both sides are read the same way; an unclosed box in the case is compared as it is.
        let wanted = last_box(wanted).ok().flatten().unwrap_or(wanted);
        if self.fold.apply(&without_tex_spacing(found)) == self.fold.apply(&without_tex_spacing(wanted)) {
            return true;
        }
        match (single_number(found), single_number(wanted)) {
            (Some(found), Some(wanted)) => match (found.reading, wanted.reading) {
                (Reading::Plain(a), Reading::Plain(b)) => a.is_same(&b) && found.percent == wanted.percent,
                _ => false,
            },
            _ => false,
        }
    }
}

/// TeX's explicit spaces, the braces around a thousands comma and math signs around the whole.
fn without_tex_spacing(text: &str) -> String {
    let mut text = text.trim().trim_matches('$').replace("{,}", ",");
    for space in ["\\!", "\\,", "\\;", "\\:", "\\ "] {
        text = text.replace(space, "");
    }
    text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{self, Fail, Pass, Unscored},
        grading::testing::{case, verdict},
    };

    #[track_caller]
    fn check(parameters: Value, answer: &str, expected: Value, wanted: Verdict) {
        assert_eq!(verdict("exact", parameters, answer, &case(expected)).0, wanted, "{answer}");
    }

    #[test]
    fn an_answer_is_compared_with_its_folds() {
        check(json!({}), " e32. ", json!("E32"), Pass);
        check(json!({}), "E31", json!({"answer": "E32"}), Fail);
        check(json!({}), "18", json!(18), Pass);
        check(json!({}), "grey", json!(["gray", "grey"]), Pass);
        check(json!({"answer": "Yes"}), "yes!", Value::Null, Pass);
        check(json!({"case": "keep"}), "yes", json!("Yes"), Fail);
        check(json!({"punctuation": "keep"}), "Yes.", json!("Yes"), Fail);
        check(json!({"spacing": "keep"}), "a  b", json!("a b"), Fail);
        check(json!({}), "x", json!({"numbers": [1]}), Unscored);
    }

    #[test]
    fn curly_quotes_and_unicode_forms_count_only_when_strict() {
        for (answer, expected) in [("can’t", "can't"), ("Cafe\u{301}", "Café"), ("a\u{200b}b", "ab")] {
            check(json!({}), answer, json!(expected), Pass);
            check(json!({"normalize": "strict"}), answer, json!(expected), Fail);
        }
    }

    #[test]
    fn boxed_answers_are_read_with_the_last_box_and_counted_braces() {
        for (answer, expected, wanted) in [
            (r"\boxed{5}. No, that is wrong: \boxed{7}.", json!(7), Pass),
            (r"\boxed{5}. No, that is wrong: \boxed{7}.", json!(5), Fail),
            (r"\boxed{\frac{1}{2}}", json!(r"\frac{1}{2}"), Pass),
            (r"\boxed{\frac{1}{2}}", json!(r"\boxed{\frac{1}{2}}"), Pass),
            (r"The domain is \boxed{[2,5)}", json!("[2,5)"), Pass),
            (r"The domain is \boxed{[2,5)}", json!("(2,5]"), Fail),
            (r"\[ \boxed{42} \]", json!(42), Pass),
            (r"\boxed{1,\!234}", json!(1234), Pass),
            (r"\boxed{1{,}234}", json!(1234), Pass),
            (r"Mark your solution with \boxed", json!(42), Fail),
            (r"\boxed{\{1,2\}", json!(r"\{1,2\}"), Fail),
        ] {
            check(json!({"boxed": true}), answer, expected, wanted);
        }
        let (_, reason) = verdict("exact", json!({"boxed": true}), r"\boxed{\{1,2\}", &case(json!(1)));
        assert_eq!(reason, "box is not closed");
    }

    proptest! {
        #[test]
        fn an_answer_equals_itself(text in ".*") {
            prop_assert_eq!(verdict("exact", json!({}), &text, &case(json!(text.clone()))).0, Pass);
        }
    }
}
