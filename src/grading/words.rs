//! `words`: phrases that must, may or must not stand in the answer, as whole words.
//!
//! Parameters: `all`, `any`, `none`. Without any of them, `expected.must_contain` is `all` and
//! `expected.must_not_contain` is `none`; a bare text or list is `all`.

use super::{
    expected,
    finding::Finding,
    parameters::{Parameters, texts_of},
    phrase::{Phrase, Searchable},
};
use crate::domain::Case;
use crate::domain::text::{quoted, quoted_list};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

#[derive(Debug)]
pub(super) struct Words {
    /// `None` when the grader was given no phrase: the case's are taken.
    own: Option<Wanted>,
}

#[derive(Debug, Default)]
struct Wanted {
    all: Vec<Phrase>,
    any: Vec<Phrase>,
    none: Vec<Phrase>,
}

impl Words {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let mut read = |name| {
            let texts = parameters.texts(name)?;
            if texts.is_empty() {
                parameters.fault(name, "the list is empty");
            }
            Some(phrases(texts))
        };
        let (all, any, none) = (read("all"), read("any"), read("none"));
        let given = all.is_some() || any.is_some() || none.is_some();
        let wanted = Wanted {
            all: all.unwrap_or_default(),
            any: any.unwrap_or_default(),
            none: none.unwrap_or_default(),
        };
        parameters.finish(Self { own: given.then_some(wanted) })
    }

    pub(super) fn lacks(&self, case: &Case) -> Option<String> {
        if self.own.is_some() { None } else { Wanted::of_case(case).err() }
    }

    pub(super) fn grade(&self, answer: &str, case: &Case) -> Finding {
        match &self.own {
            Some(own) => own.grade(answer),
            None => match Wanted::of_case(case) {
                Ok(wanted) => wanted.grade(answer),
                Err(lack) => Finding::unscored(lack),
            },
        }
    }
}

impl Wanted {
    fn of_case(case: &Case) -> Result<Self, String> {
        let (all, none) = match expected::bare(case) {
            Some(value) => (Some(texts_of(value).ok_or("a bare `expected` is not a list of texts")?), None),
            None => (expected::texts(case, "must_contain")?, expected::texts(case, "must_not_contain")?),
        };
        let (all, none) = (all.unwrap_or_default(), none.unwrap_or_default());
        if all.is_empty() && none.is_empty() {
            return Err(
                "needs `all`, `any` or `none`, `expected.must_contain` or `expected.must_not_contain`".into(),
            );
        }
        if all.iter().chain(&none).any(|text| text.trim().is_empty()) {
            return Err("an expected phrase is empty".to_owned());
        }
        Ok(Self { all: phrases(all), any: vec![], none: phrases(none) })
    }

    fn grade(&self, answer: &str) -> Finding {
        let answer = Searchable::new(answer);
        let missing: Vec<&str> =
            self.all.iter().filter(|phrase| !phrase.stands_in(&answer)).map(Phrase::text).collect();
        if !missing.is_empty() {
            return Finding::fail(format!("missing {}", quoted_list(missing)));
        }
        if let Some(found) = self.none.iter().find(|phrase| phrase.stands_in(&answer)) {
            return Finding::fail(format!("has {}, which it must not", quoted(found.text())));
        }
        if !self.any.is_empty() && !self.any.iter().any(|phrase| phrase.stands_in(&answer)) {
            return Finding::fail(format!("has none of {}", quoted_list(self.any.iter().map(Phrase::text))));
        }
        Finding::pass()
    }
}

fn phrases(texts: Vec<String>) -> Vec<Phrase> {
    texts.into_iter().map(Phrase::new).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{Fail, Pass, Unscored},
        grading::testing::{case, verdict},
    };

    #[test]
    fn phrases_come_from_the_grader_else_from_the_case() {
        let expected = json!({"must_contain": ["6.50"], "must_not_contain": ["€11"]});
        for (parameters, answer, expected, wanted) in [
            (json!({}), "It is €6.50.", expected.clone(), Pass),
            (json!({}), "€6.50, not €11.", expected.clone(), Fail),
            (json!({}), "€6.", expected.clone(), Fail),
            (json!({"any": ["a", "b"]}), "only b", expected.clone(), Pass),
            (json!({"any": ["a", "b"]}), "only c", expected, Fail),
            (json!({"all": ["a", "b"], "none": ["c"]}), "B and A", Value::Null, Pass),
            (json!({}), "one and two", json!(["one", "two"]), Pass),
            (json!({}), "one", json!("two"), Fail),
            (json!({}), "one", json!({"answer": "one"}), Unscored),
            (json!({}), "one", json!({"must_contain": [" "]}), Unscored),
        ] {
            assert_eq!(verdict("words", parameters, answer, &case(expected)).0, wanted, "{answer}");
        }
    }

    #[test]
    fn the_reason_names_what_is_missing_or_found() {
        let reason = |parameters| verdict("words", parameters, "plain text", &case(Value::Null)).1;
        assert_eq!(reason(json!({"all": ["plain", "rich", "fat"]})), "missing `rich`, `fat`");
        assert_eq!(reason(json!({"none": ["text"]})), "has `text`, which it must not");
        assert_eq!(reason(json!({"any": ["a"]})), "has none of `a`");
    }
}
