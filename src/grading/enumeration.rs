//! `enum`: the answer is one word of a closed list, and the right one.
//!
//! Parameters: `allowed`; else `expected.allowed`, or a bare list. `expected.answer`, or a bare text,
//! is the right one; without it every allowed word passes.

use serde_json::Value;

use super::{
    expected,
    finding::Finding,
    fold::{Fold, is_quote_or_emphasis},
    parameters::{Parameters, texts_of},
};
use crate::domain::Case;
use crate::domain::text::{quoted, quoted_list};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

#[derive(Debug)]
pub(super) struct Enumeration {
    allowed: Option<Vec<String>>,
}

impl Enumeration {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let allowed = parameters.texts("allowed");
        if let Some(allowed) = &allowed
            && let Err(message) = check_distinct(allowed)
        {
            parameters.fault("allowed", message);
        }
        parameters.finish(Self { allowed })
    }

    /// What is allowed, and which of it is right where the case says.
    fn wanted(&self, case: &Case) -> Result<(Vec<String>, Option<String>), String> {
        let bare = expected::bare(case);
        let allowed = match &self.allowed {
            Some(allowed) => allowed.clone(),
            None => expected::texts(case, "allowed")?
                .or_else(|| bare.filter(|value| value.is_array()).and_then(texts_of))
                .ok_or("needs `allowed` or `expected.allowed`")?,
        };
        check_distinct(&allowed).map_err(|message| format!("the allowed words: {message}"))?;
        let answer = expected::field(case, "answer").or(bare.filter(|value| !value.is_array()));
        let answer = match answer {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(other) => return Err(format!("the expected answer `{other}` is not a text")),
        };
        if let Some(answer) = &answer
            && !allowed.iter().any(|word| fold(word) == fold(answer))
        {
            return Err(format!("the expected answer {} is not among the allowed words", quoted(answer)));
        }
        Ok((allowed, answer))
    }

    pub(super) fn lacks(&self, case: &Case) -> Option<String> {
        self.wanted(case).err()
    }

    pub(super) fn grade(&self, answer: &str, case: &Case) -> Finding {
        let (allowed, right) = match self.wanted(case) {
            Ok(wanted) => wanted,
            Err(lack) => return Finding::unscored(lack),
        };
        let given = fold(answer);
        let Some(word) = allowed.iter().find(|word| fold(word) == given) else {
            let allowed = quoted_list(allowed.iter().map(String::as_str));
            return Finding::fail(format!("{} is not one of {allowed}", quoted(answer.trim())));
        };
        match right {
            Some(right) if fold(&right) != given => {
                Finding::fail(format!("expected {}, found {}", quoted(&right), quoted(word)))
            }
            _ => Finding::pass(),
        }
    }
}

/// Folded as a whole answer is, and without brackets around it: `(B).` is `b`.
fn fold(text: &str) -> String {
    let folded = Fold::ALL.apply(text);
    let is_edge = |c: char| {
        is_quote_or_emphasis(c)
            || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}')
    };
    let bare = folded.trim_matches(is_edge).trim();
    if bare.is_empty() { folded } else { bare.to_owned() }
}

fn check_distinct(allowed: &[String]) -> Result<(), String> {
    if allowed.is_empty() {
        return Err("the list is empty".to_owned());
    }
    for (index, word) in allowed.iter().enumerate() {
        if let Some(twin) = allowed[..index].iter().find(|earlier| fold(earlier) == fold(word)) {
            return Err(format!("{} and {} are read as the same", quoted(twin), quoted(word)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{Fail, Pass, Unscored},
        grading::testing::{case, faults, verdict},
    };

    #[test]
    fn an_answer_is_one_allowed_word_and_the_right_one() {
        let grades = json!({"allowed": ["A", "A+", "C#", "Not sure"]});
        for (answer, expected, wanted) in [
            (" (a). ", json!("A"), Pass),
            ("**A+**", json!("A+"), Pass),
            ("A", json!("A+"), Fail),
            ("not  sure!", json!({"answer": "Not sure"}), Pass),
            ("c#", Value::Null, Pass),
            ("The answer is A", json!("A"), Fail),
            ("", json!("A"), Fail),
            ("A", json!("B"), Unscored),
        ] {
            assert_eq!(verdict("enum", grades.clone(), answer, &case(expected)).0, wanted, "{answer}");
        }
        assert_eq!(verdict("enum", json!({}), "b", &case(json!({"allowed": ["a", "b"]}))).0, Pass);
        assert_eq!(verdict("enum", json!({}), "b", &case(Value::Null)).0, Unscored);
    }

    #[test]
    fn words_that_are_read_as_the_same_are_refused() {
        assert_eq!(
            faults("enum", json!({"allowed": ["yes", "Yes."]})),
            ["parameter `allowed`: `yes` and `Yes.` are read as the same"]
        );
    }
}
