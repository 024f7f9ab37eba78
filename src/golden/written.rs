//! A case line as it is written: its fields in order, each with the raw text of its value.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value, value::RawValue};

/// Every field that a line may have.
pub(super) const FIELDS: [&str; 16] = [
    "id", "split", "added", "owner", "source", "segment", "cluster", "weight", "input", "context",
    "expected", "graders", "repeats", "pass_if", "examples", "meta",
];

/// What other tools call a field of ours.
pub(super) const NAMES_ELSEWHERE: [(&str, &str); 16] = [
    ("prompt", "input"),
    ("question", "input"),
    ("query", "input"),
    ("message", "input"),
    ("messages", "input"),
    ("target", "expected"),
    ("ideal", "expected"),
    ("answer", "expected"),
    ("expected_output", "expected"),
    ("reference", "expected"),
    ("tags", "segment"),
    ("labels", "segment"),
    ("assert", "graders"),
    ("scorers", "graders"),
    ("epochs", "repeats"),
    ("metadata", "meta"),
];

/// The fields of one line in the order in which they stand, a repeated one as often as it stands.
pub(super) struct WrittenLine<'a> {
    pub(super) fields: Vec<(String, &'a RawValue)>,
}

impl<'de> Deserialize<'de> for WrittenLine<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = WrittenLine<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a case, which is a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = vec![];
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(WrittenLine { fields })
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// A JSON value in which no object has the same key twice, and no more memory than it fills: a golden
/// set keeps all of its values.
pub(super) struct Strict(pub(super) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Strict;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON value")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Strict, E> {
                let number =
                    Number::from_f64(value).ok_or_else(|| E::custom("a number that is not finite"))?;
                Ok(Strict(number.into()))
            }

            fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_string<E>(self, value: String) -> Result<Strict, E> {
                Ok(Strict(value.into()))
            }

            fn visit_unit<E>(self) -> Result<Strict, E> {
                Ok(Strict(Value::Null))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Strict, A::Error> {
                let mut values = vec![];
                while let Some(Strict(value)) = list.next_element()? {
                    values.push(value);
                }
                values.shrink_to_fit();
                Ok(Strict(Value::Array(values)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strict, A::Error> {
                let mut fields: Vec<(String, Value)> = vec![];
                while let Some(key) = map.next_key::<String>()? {
                    let Strict(value) = map.next_value()?;
                    fields.push((key, value));
                }
                let mut object = Map::with_capacity(fields.len());
                for (key, value) in fields {
                    if object.contains_key(&key) {
                        return Err(de::Error::custom(format_args!("the key `{key}` stands twice")));
                    }
                    object.insert(key, value);
                }
                Ok(Strict(Value::Object(object)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_fields_in_order_and_repeated() {
        let line: WrittenLine<'_> = serde_json::from_str(r#"{"b": [1, 2], "a": 1.0, "b": null}"#).unwrap();
        let fields: Vec<_> = line.fields.iter().map(|(name, raw)| (name.as_str(), raw.get())).collect();
        assert_eq!(fields, [("b", "[1, 2]"), ("a", "1.0"), ("b", "null")]);
    }

    #[test]
    fn a_repeated_key_inside_a_value_is_an_error() {
        let twice = serde_json::from_str::<Strict>(r#"{"a": {"b": 1, "b": 2}}"#);
        assert_eq!(twice.err().unwrap().to_string(), "the key `b` stands twice at line 1 column 22");
        let Strict(once) = serde_json::from_str(r#"{"a": [true, null, -1, 2.5, "x"]}"#).unwrap();
        assert_eq!(once, serde_json::json!({"a": [true, null, -1, 2.5, "x"]}));
    }
}
