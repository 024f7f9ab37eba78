//! Fingerprints over canonical JSON: equal meaning, equal bytes.
//!
//! Keys are sorted at every depth, there is no white space, and a number that is whole is written as
//! an integer (`1.0` is `1`), so that neither the order of keys nor the writer's habits matter.

use std::io::Write;

use serde_json::{Map, Value, json};

use crate::domain::{Case, Fingerprint, GraderSpec};

/// Whole numbers of at least this size are written as serde writes them: both readings of `1e21`
/// are the same 64-bit float.
const INTEGER_LIMIT: f64 = 1e21;

/// `value` as canonical JSON.
pub fn canonical_json(value: &Value) -> String {
    let mut out = Vec::new();
    write_value(&mut out, value);
    String::from_utf8(out).expect("JSON is written as UTF-8")
}

/// The fingerprint of everything about a case that can change its result: input, context, expected,
/// graders, `pass_if`, cluster and weight; not its id, split, owner, segment, repeats or notes.
pub(super) fn case_fingerprint(case: &Case) -> Fingerprint {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"cluster\":");
    write_string(&mut out, case.cluster.as_deref().unwrap_or_default());
    out.extend_from_slice(b",\"context\":");
    write_value(&mut out, &case.context);
    out.extend_from_slice(b",\"expected\":");
    write_value(&mut out, &case.expected);
    out.extend_from_slice(b",\"graders\":[");
    for (index, grader) in case.graders.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_grader(&mut out, grader);
    }
    out.extend_from_slice(b"],\"input\":");
    write_value(&mut out, &json!(case.input));
    out.extend_from_slice(b",\"pass_if\":");
    write_value(&mut out, &json!(case.pass_if));
    out.extend_from_slice(b",\"weight\":");
    write_float(&mut out, case.weight);
    out.push(b'}');
    Fingerprint::of(&out)
}

/// The fingerprint of a whole set: every case's id and fingerprint, sorted by id, so that the order
/// of lines does not matter.
pub(super) fn set_fingerprint<'a>(cases: impl Iterator<Item = &'a Case>) -> Fingerprint {
    let mut pairs: Vec<(&str, &Fingerprint)> =
        cases.map(|case| (case.id.as_str(), &case.fingerprint)).collect();
    pairs.sort_unstable();
    let mut out = Vec::with_capacity(pairs.len() * 64);
    for (id, fingerprint) in pairs {
        // An id holds no control character, so the NUL ends it.
        out.extend_from_slice(id.as_bytes());
        out.push(0);
        out.extend_from_slice(fingerprint.as_bytes());
    }
    Fingerprint::of(&out)
}

/// The name is left out: it says under which heading a score stands, not what the score is.
fn write_grader(out: &mut Vec<u8>, grader: &GraderSpec) {
    out.extend_from_slice(if grader.hard {
        b"{\"hard\":true,\"kind\":"
    } else {
        b"{\"hard\":false,\"kind\":"
    });
    write_string(out, &grader.kind);
    out.extend_from_slice(b",\"parameters\":");
    write_object(out, &grader.parameters);
    out.push(b'}');
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => write_float(out, float),
            _ => write!(out, "{number}").expect("a vector takes every byte"),
        },
        Value::String(text) => write_string(out, text),
        Value::Array(values) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, value);
            }
            out.push(b']');
        }
        Value::Object(object) => write_object(out, object),
    }
}

fn write_object(out: &mut Vec<u8>, object: &Map<String, Value>) {
    let mut fields: Vec<(&String, &Value)> = object.iter().collect();
    fields.sort_unstable_by_key(|(key, _)| *key);
    out.push(b'{');
    for (index, (key, value)) in fields.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, key);
        out.push(b':');
        write_value(out, value);
    }
    out.push(b'}');
}

fn write_float(out: &mut Vec<u8>, float: f64) {
    if float == 0.0 {
        out.push(b'0'); // also for -0.0
    } else if float.fract() == 0.0 && float.abs() < INTEGER_LIMIT {
        write!(out, "{float:.0}").expect("a vector takes every byte");
    } else {
        serde_json::to_writer(out, &float).expect("a vector takes every byte");
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("a vector takes every byte");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> String {
        canonical_json(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn canonical_json_sorts_keys_and_drops_spaces() {
        assert_eq!(
            canonical("{ \"b\" : [1, {\"d\": 2, \"c\": \"é\\u0041\"}],\n \"a\": null }"),
            r#"{"a":null,"b":[1,{"c":"éA","d":2}]}"#
        );
    }

    #[test]
    fn whole_numbers_have_one_form() {
        for (text, form) in [
            ("1.0", "1"),
            ("1e0", "1"),
            ("-0.0", "0"),
            ("1.50", "1.5"),
            ("1e19", "10000000000000000000"),
            ("10000000000000000000", "10000000000000000000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
        ] {
            assert_eq!(canonical(text), form, "{text}");
        }
    }

    /// Any JSON value of a modest size.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<i32>().prop_map(|quarters| Value::from(f64::from(quarters) / 4.0)),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// The same value with the keys of every object in reverse.
    fn reversed(value: &Value) -> Value {
        match value {
            Value::Array(values) => values.iter().map(reversed).collect(),
            Value::Object(object) => Value::Object(
                object.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect(),
            ),
            other => other.clone(),
        }
    }

    proptest! {
        #[test]
        fn neither_key_order_nor_white_space_matters(value in values()) {
            let pretty = serde_json::to_string_pretty(&reversed(&value)).unwrap();
            prop_assert_eq!(canonical(&pretty), canonical_json(&value));
        }

        #[test]
        fn canonical_json_is_its_own_canonical_form(value in values()) {
            let once = canonical_json(&value);
            prop_assert_eq!(canonical(&once), once);
        }
    }
}
