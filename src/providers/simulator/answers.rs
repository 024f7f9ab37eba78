//! What a simulated model says: from a case's own examples, else from what the case expects.

use rand::RngExt;
use rand_pcg::Pcg64;
use serde_json::{Map, Value};

use crate::domain::Case;

/// Wrong about anything: it commits to nothing.
const EVASION: &str = "I am not sure about that.";

/// A right answer to `case`; the question itself where nothing is known of right answers.
pub(super) fn right(case: &Case, draw: &mut Pcg64) -> String {
    match pick(&case.examples.pass, draw) {
        Some(example) => example.to_owned(),
        None => from_expected(&case.expected).unwrap_or_else(|| case.input.last_user_message().to_owned()),
    }
}

/// A wrong but plausible answer to `case`; the question itself where nothing at all is known.
pub(super) fn wrong(case: &Case, draw: &mut Pcg64) -> String {
    if let Some(example) = pick(&case.examples.fail, draw) {
        return example.to_owned();
    }
    let known = from_expected(&case.expected).is_some() || !case.examples.pass.is_empty();
    if !known {
        return case.input.last_user_message().to_owned();
    }
    core_of(&case.expected).and_then(near_miss).unwrap_or_else(|| EVASION.to_owned())
}

/// The characters of the longest answer to `case`, right or wrong.
pub(super) fn longest(case: &Case) -> usize {
    let examples = case.examples.pass.iter().chain(&case.examples.fail).map(String::as_str);
    let made_up = [from_expected(&case.expected), core_of(&case.expected).and_then(near_miss)];
    let texts = examples.chain(made_up.iter().flatten().map(String::as_str));
    let texts = texts.chain([EVASION, case.input.last_user_message()]);
    texts.map(|text| text.chars().count()).max().unwrap_or_default()
}

fn pick<'a>(examples: &'a [String], draw: &mut Pcg64) -> Option<&'a str> {
    match examples {
        [] => None,
        examples => Some(&examples[draw.random_range(0..examples.len())]),
    }
}

/// An answer that has everything `expected` asks for, if it asks for anything that can be said.
fn from_expected(expected: &Value) -> Option<String> {
    let Value::Object(fields) = expected else {
        return spoken(expected);
    };
    let mut answer = fields.get("answer").and_then(spoken).unwrap_or_default();
    for part in ["must_contain", "numbers"].into_iter().flat_map(|field| listed(fields, field)) {
        if !answer.contains(&part) {
            if !answer.is_empty() {
                answer.push_str("; ");
            }
            answer.push_str(&part);
        }
    }
    // An object without any of these names is itself the answer: structured output.
    let named = ["answer", "must_contain", "numbers"].iter().any(|name| fields.contains_key(*name));
    if named {
        (!answer.is_empty()).then_some(answer)
    } else {
        (!fields.is_empty()).then(|| expected.to_string())
    }
}

/// The one value that an answer turns on, which a near miss gets wrong.
fn core_of(expected: &Value) -> Option<&Value> {
    let core = match expected {
        Value::Object(fields) => {
            fields.get("answer").or_else(|| fields.get("numbers")).or_else(|| fields.get("must_contain"))?
        }
        other => other,
    };
    match core {
        Value::Array(values) => values.first(),
        core => Some(core),
    }
}

/// A value as an answer says it; the first of several that are as good as each other.
fn spoken(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        Value::Array(values) => spoken(values.first()?),
    }
}

fn listed(fields: &Map<String, Value>, name: &str) -> Vec<String> {
    match fields.get(name) {
        Some(Value::Array(values)) => values.iter().filter_map(spoken).collect(),
        Some(value) => spoken(value).into_iter().collect(),
        None => vec![],
    }
}

/// The same with another value: a number is off by one, a truth turned round, and of a text its
/// first number is off by one. `None` where no near miss is known.
fn near_miss(value: &Value) -> Option<String> {
    match value {
        Value::Bool(truth) => Some((!truth).to_string()),
        Value::Number(number) => number
            .as_i64()
            .and_then(|number| number.checked_add(1))
            .map(|number| number.to_string())
            .or_else(|| number.as_f64().map(|number| (number + 1.0).to_string())),
        Value::String(text) => digit_changed(text),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// `text` with its first digit replaced by the next one.
fn digit_changed(text: &str) -> Option<String> {
    let at = text.find(|character: char| character.is_ascii_digit())?;
    let digit = text.as_bytes()[at];
    // 9 becomes 1, so that no number begins with a 0 that was not there.
    let next = if digit == b'9' { '1' } else { char::from(digit + 1) };
    Some(format!("{}{next}{}", &text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::{super::test_cases::case, *};
    use crate::{domain::Examples, providers::simulator::draws};
    use serde_json::json;

    fn answers(expected: Value) -> (String, String) {
        let mut case = case("a");
        case.examples = Examples::default();
        case.expected = expected;
        let mut draw = draws::generator(1, &[]);
        (right(&case, &mut draw), wrong(&case, &mut draw))
    }

    #[test]
    fn without_examples_answers_follow_from_what_is_expected() {
        for (expected, right, wrong) in [
            (json!("4"), "4", "5"),
            (json!(42), "42", "43"),
            (json!(0.5), "0.5", "1.5"),
            (json!(true), "true", "false"),
            (json!("Paris"), "Paris", EVASION),
            (json!(["Paris", "paris"]), "Paris", EVASION),
            (json!({"answer": "£98 a year", "must_contain": ["98"]}), "£98 a year", "£18 a year"),
            (json!({"must_contain": ["red", "blue"]}), "red; blue", EVASION),
            (json!({"answer": "twelve", "numbers": [12]}), "twelve; 12", EVASION),
            (json!({"label": "spam"}), r#"{"label":"spam"}"#, EVASION),
            (Value::Null, "question a", "question a"),
        ] {
            assert_eq!(answers(expected.clone()), (right.to_owned(), wrong.to_owned()), "{expected}");
        }
    }

    #[test]
    fn examples_come_first() {
        let mut draw = draws::generator(1, &[]);
        let case = case("a");
        assert!(case.examples.pass.contains(&right(&case, &mut draw)));
        assert!(case.examples.fail.contains(&wrong(&case, &mut draw)));
    }
}
