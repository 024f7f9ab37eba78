//! `json`: the answer is JSON, with the required keys.
//!
//! Parameters: `required_keys` (else `expected.required_keys` or a bare list; `a.b` is a key within
//! an object), `fenced`: whether a code fence around the whole answer is forgiven (`"allow"`), is a
//! failure (`"forbid"`), or JSON may stand anywhere in prose (`"prose"`).

use serde_json::Value;

use super::{
    expected,
    finding::Finding,
    parameters::{Parameters, texts_of},
};
use crate::domain::Case;
use crate::domain::text::quoted_list;

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 1;

/// At so many places JSON is looked for in prose; hostile text cannot ask for more.
const PROSE_ATTEMPTS: usize = 1000;

#[derive(Debug)]
pub(super) struct Json {
    required_keys: Option<Vec<String>>,
    fenced: Fenced,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fenced {
    Allow,
    Forbid,
    Prose,
}

impl Json {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let required_keys = parameters.texts("required_keys");
        let fenced = parameters.choice(
            "fenced",
            &[("allow", Fenced::Allow), ("forbid", Fenced::Forbid), ("prose", Fenced::Prose)],
        );
        parameters.finish(Self { required_keys, fenced })
    }

    /// The keys that the answer must have; none when neither grader nor case names one.
    fn required(&self, case: &Case) -> Result<Vec<String>, String> {
        if let Some(keys) = &self.required_keys {
            return Ok(keys.clone());
        }
        let bare = expected::bare(case).filter(|value| value.is_array()).and_then(texts_of);
        Ok(expected::texts(case, "required_keys")?.or(bare).unwrap_or_default())
    }

    pub(super) fn lacks(&self, case: &Case) -> Option<String> {
        self.required(case).err()
    }

    pub(super) fn grade(&self, answer: &str, case: &Case) -> Finding {
        let required = match self.required(case) {
            Ok(required) => required,
            Err(lack) => return Finding::unscored(lack),
        };
        let value = match self.read(answer.trim().trim_start_matches('\u{feff}')) {
            Ok(value) => value,
            Err(why) => return Finding::fail(why),
        };
        if required.is_empty() {
            return Finding::pass();
        }
        if !value.is_object() {
            return Finding::fail(format!("expected an object, found {}", kind_of(&value)));
        }
        let missing: Vec<&str> =
            required.iter().map(String::as_str).filter(|key| !has_key(&value, key)).collect();
        if missing.is_empty() {
            Finding::pass()
        } else {
            Finding::fail(format!("missing keys: {}", quoted_list(missing)))
        }
    }

    /// The whole text first, then the inside of a fence around it, then what stands in prose.
    fn read(&self, text: &str) -> Result<Value, String> {
        if text.is_empty() {
            return Err("no JSON".to_owned());
        }
        let error = match serde_json::from_str(text) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        if let Some(inside) = inside_fence(text) {
            match (serde_json::from_str(inside), self.fenced) {
                (Ok(_), Fenced::Forbid) => return Err("inside a code fence".to_owned()),
                (Ok(value), _) => return Ok(value),
                (Err(_), _) if inside.trim().is_empty() => return Err("no JSON".to_owned()),
                (Err(error), Fenced::Allow) => return Err(format!("no JSON inside the code fence: {error}")),
                (Err(_), _) => {}
            }
        }
        match self.fenced {
            Fenced::Prose => in_prose(text).ok_or_else(|| "no JSON".to_owned()),
            _ if in_prose(text).is_some() => Err("no bare JSON: there is text around it".to_owned()),
            _ => Err(format!("no JSON: {error}")),
        }
    }
}

/// The inside of a code fence that encloses all of `text`: it opens with at least three backticks or
/// tildes, and the same line of them, or a longer one, ends the text.
fn inside_fence(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    if length < 3 {
        return None;
    }
    let (info, body) = rest.split_once('\n')?;
    if info.contains('`') {
        return None;
    }
    let inside = body.trim_end_matches(mark);
    (body.len() - inside.len() >= length).then(|| inside.trim())
}

/// The longest object or list that stands in the text: within a fence, or anywhere.
fn in_prose(text: &str) -> Option<Value> {
    let mut longest: Option<(usize, Value)> = None;
    let mut from = 0;
    for _ in 0..PROSE_ATTEMPTS {
        let Some(start) = text[from..].find(['{', '[']).map(|found| from + found) else { break };
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            let length = values.byte_offset();
            if longest.as_ref().is_none_or(|(longest, _)| length > *longest) {
                longest = Some((length, value));
            }
            from = start + length;
        } else {
            from = start + 1;
        }
    }
    longest.map(|(_, value)| value)
}

fn has_key(value: &Value, key: &str) -> bool {
    if value.get(key).is_some() {
        return true;
    }
    key.split_once('.')
        .is_some_and(|(first, rest)| value.get(first).is_some_and(|inner| has_key(inner, rest)))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{Fail, Pass},
        grading::testing::{case, verdict},
    };

    fn graded(fenced: &str, answer: &str, keys: &[&str]) -> (crate::domain::Verdict, String) {
        verdict("json", json!({"fenced": fenced, "required_keys": keys}), answer, &case(Value::Null))
    }

    #[test]
    fn fences_are_forgiven_only_when_allowed() {
        for (answer, keys, allow, forbid, prose) in [
            ("```json\n{\"a\": 1}\n```", &["a"][..], Pass, Fail, Pass),
            ("```\n[1, 2]\n```", &[], Pass, Fail, Pass),
            ("{\"code\": \"use `print` here\"}", &["code"], Pass, Pass, Pass),
            ("{\"md\": \"```js\\n1\\n```\"}", &["md"], Pass, Pass, Pass),
            ("````json\n{\"md\": \"```\"}\n````", &["md"], Pass, Fail, Pass),
            ("Here it is:\n```json\n{\"a\": 1}\n```\nHope so", &["a"], Fail, Fail, Pass),
            ("```bash\nls\n```\n{\"a\": 1}", &["a"], Fail, Fail, Pass),
            ("see [1]: {\"a\": {\"b\": 2}}", &["a.b"], Fail, Fail, Pass),
            ("", &[], Fail, Fail, Fail),
            ("```json\n```", &[], Fail, Fail, Fail),
            ("{\"a\": 1", &[], Fail, Fail, Fail),
            ("[1]", &["a"], Fail, Fail, Fail),
        ] {
            for (fenced, wanted) in [("allow", allow), ("forbid", forbid), ("prose", prose)] {
                let (found, reason) = graded(fenced, answer, keys);
                assert_eq!(found, wanted, "{fenced}: {answer}: {reason}");
            }
        }
    }

    #[test]
    fn the_reason_says_what_is_wrong() {
        for (fenced, answer, reason) in [
            ("forbid", "```json\n{\"a\": 1}\n```", "inside a code fence"),
            ("allow", "", "no JSON"),
            ("allow", "```json\n```", "no JSON"),
            ("allow", "{\"b\": 1}", "missing keys: `a`, `c.d`"),
            ("allow", "[1]", "expected an object, found a list"),
            ("allow", "Sure: {\"a\": 1}", "no bare JSON: there is text around it"),
            ("allow", "{\"a\": 1", "no JSON: EOF while parsing an object at line 1 column 7"),
        ] {
            assert_eq!(graded(fenced, answer, &["a", "c.d"]).1, reason, "{answer}");
        }
    }

    #[test]
    fn keys_come_from_the_case_when_the_grader_names_none() {
        let expected = json!({"required_keys": ["a"]});
        assert_eq!(verdict("json", json!({}), "{\"b\": 1}", &case(expected)).0, Fail);
        assert_eq!(verdict("json", json!({}), "{\"b\": 1}", &case(Value::Null)).0, Pass);
    }

    #[test]
    fn hostile_brackets_end() {
        assert_eq!(graded("prose", &"[{".repeat(50_000), &[]).0, Fail);
    }
}
