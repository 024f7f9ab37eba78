//! What a case expects, as far as a grader asks for it.

use serde_json::Value;

use super::parameters::texts_of;
use crate::domain::Case;

/// A field of `expected`, if that is an object and has it.
pub(super) fn field<'a>(case: &'a Case, name: &str) -> Option<&'a Value> {
    case.expected.as_object()?.get(name).filter(|value| !value.is_null())
}

/// `expected` itself, if it is a bare value rather than an object.
pub(super) fn bare(case: &Case) -> Option<&Value> {
    Some(&case.expected).filter(|value| !value.is_null() && !value.is_object())
}

/// The texts in `expected.name`.
///
/// # Errors
/// The field is there and is neither a text nor a list of texts.
pub(super) fn texts(case: &Case, name: &str) -> Result<Option<Vec<String>>, String> {
    match field(case, name) {
        None => Ok(None),
        Some(value) => match texts_of(value) {
            Some(texts) => Ok(Some(texts)),
            None => Err(format!("`expected.{name}` is not a list of texts")),
        },
    }
}

/// The answers that count as right: `expected.answer` or a bare `expected`; each a text, a number
/// or a truth value, several of them alternatives.
pub(super) fn answers(case: &Case) -> Option<Vec<String>> {
    scalars(field(case, "answer").or_else(|| bare(case))?)
}

/// A scalar as its text, a list of scalars as theirs.
pub(super) fn scalars(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) if values.is_empty() => None,
        Value::Array(values) => values.iter().map(scalar).collect(),
        other => scalar(other).map(|text| vec![text]),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}
