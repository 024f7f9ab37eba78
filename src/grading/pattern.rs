//! `regex`: a pattern stands somewhere in the answer, or with `negate` nowhere.
//!
//! Parameters: `pattern` (required), `case` (`"keep"`, or `"fold"`), `negate`.

use regex::Regex;

use super::{finding::Finding, parameters::Parameters};
use crate::domain::text::quoted;

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    negate: bool,
}

impl Pattern {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let given = parameters.value("pattern").is_some();
        let pattern = parameters.text("pattern");
        if !given {
            parameters.fault("pattern", "it is required");
        }
        let fold = parameters.choice("case", &[("keep", false), ("fold", true)]);
        let negate = parameters.flag("negate");
        let written = pattern.map(|pattern| if fold { format!("(?i:{pattern})") } else { pattern });
        let regex = written.and_then(|pattern| parameters.regex("pattern", &pattern));
        let regex = parameters.finish(regex)?;
        let regex = regex.expect("a pattern that is missing or wrong is a fault");
        Ok(Self { regex, negate })
    }

    pub(super) fn grade(&self, answer: &str) -> Finding {
        match (self.regex.find(answer), self.negate) {
            (Some(_), false) | (None, true) => Finding::pass(),
            (None, false) => Finding::fail(format!("nothing matches {}", quoted(self.regex.as_str()))),
            (Some(found), true) => {
                Finding::fail(format!("{} matches {}", quoted(found.as_str()), quoted(self.regex.as_str())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{Fail, Pass},
        grading::testing::{case, faults, verdict},
    };

    #[test]
    fn a_pattern_must_stand_somewhere_or_nowhere() {
        for (parameters, answer, wanted) in [
            (json!({"pattern": "^CW-\\d+$"}), "CW-12", Pass),
            (json!({"pattern": "cw-\\d+"}), "CW-12", Fail),
            (json!({"pattern": "cw|x", "case": "fold"}), "your CW-12", Pass),
            (json!({"pattern": "\\d", "negate": true}), "none", Pass),
            (json!({"pattern": "\\d", "negate": true}), "one 1", Fail),
        ] {
            assert_eq!(verdict("regex", parameters, answer, &case(Value::Null)).0, wanted, "{answer}");
        }
    }

    #[test]
    fn a_wrong_or_missing_pattern_is_a_fault() {
        assert_eq!(
            faults("regex", json!({"pattern": "(a"})),
            ["parameter `pattern`: not a regular expression: unclosed group"]
        );
        assert_eq!(
            faults("regex", json!({"patern": "a"})),
            ["parameter `pattern`: it is required", "unknown parameter `patern`; did you mean `pattern`?"]
        );
        assert_eq!(
            faults("regex", json!({"pattern": 3})),
            ["parameter `pattern`: expected a text, found `3`"]
        );
    }
}
