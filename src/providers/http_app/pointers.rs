//! Where in an endpoint's answer what stands: JSON pointers (RFC 6901).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::domain::text::with_ellipsis;
use crate::{
    domain::{Metered, Reply, Retrieved},
    providers::{told_cost, usage_object},
};

/// Of an answer's shape no more than this is shown, in characters.
const MAX_SHAPE: usize = 200;

/// Where in an answer what stands. A pointer that is given promises that its place exists; `null` there
/// means *not told*.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerPointers {
    /// The answer's text; empty: the whole body, JSON or not.
    pub text: String,
    /// The list of retrieved passages.
    pub retrieved: Option<String>,
    /// Where in each passage what stands.
    pub passage: PassagePointers,
    /// The token counts.
    pub usage: Option<String>,
    /// The cost in dollars.
    pub cost: Option<String>,
    /// The model's name.
    pub model: Option<String>,
}

/// Where in a retrieved passage what stands; a place that is not there is not told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PassagePointers {
    /// The document's id.
    pub doc: String,
    /// The passage's own id.
    pub chunk: String,
    /// Its text.
    pub text: String,
    /// How well it matched.
    pub score: String,
}

impl Default for PassagePointers {
    fn default() -> Self {
        let pointer = |name: &str| format!("/{name}");
        Self { doc: pointer("doc"), chunk: pointer("chunk"), text: pointer("text"), score: pointer("score") }
    }
}

impl AnswerPointers {
    /// Everything that is no JSON pointer: its key and why.
    pub fn faults(&self) -> Vec<(&'static str, String)> {
        let passage = &self.passage;
        let all = [
            ("text", Some(&self.text)),
            ("retrieved", self.retrieved.as_ref()),
            ("usage", self.usage.as_ref()),
            ("cost", self.cost.as_ref()),
            ("model", self.model.as_ref()),
            ("passage.doc", Some(&passage.doc)),
            ("passage.chunk", Some(&passage.chunk)),
            ("passage.text", Some(&passage.text)),
            ("passage.score", Some(&passage.score)),
        ];
        let wrong = |(key, pointer): (&'static str, Option<&String>)| {
            let pointer = pointer.filter(|pointer| !pointer.is_empty() && !pointer.starts_with('/'))?;
            Some((key, format!("`{pointer}` is no JSON pointer: it must begin with `/`")))
        };
        all.into_iter().filter_map(wrong).collect()
    }

    /// Reads an answer: `body` as it came, `answer` where it is JSON.
    ///
    /// # Errors
    /// A pointer that points nowhere, with the answer's shape; a value that is not what it should be.
    pub(super) fn read(&self, body: &str, answer: Option<&Value>) -> Result<Reply, String> {
        let text = match (answer, self.text.as_str()) {
            (None, "") => body.to_owned(),
            (None, _) => return Err(format!("the answer is no JSON: `{}`", with_ellipsis(body, 80))),
            (Some(answer), pointer) => match at(answer, "text", pointer)? {
                Value::String(text) => text.clone(),
                Value::Null => {
                    return Err(format!("`answer.text` = `{pointer}` is null in {}", shape(answer)));
                }
                _ if pointer.is_empty() => body.to_owned(),
                other => other.to_string(),
            },
        };
        let told = |name: &str, pointer: &Option<String>| match (answer, pointer) {
            (Some(answer), Some(pointer)) => {
                at(answer, name, pointer).map(|value| Some(value).filter(|value| !value.is_null()))
            }
            (None, Some(_)) => Err(format!("the answer is no JSON: `{}`", with_ellipsis(body, 80))),
            (_, None) => Ok(None),
        };
        let retrieved = told("retrieved", &self.retrieved)?.map(|list| self.passages(list)).transpose()?;
        Ok(Reply {
            retrieved,
            reported_cost: told("cost", &self.cost)?.and_then(told_cost),
            metered: told("usage", &self.usage)?.map_or_else(Metered::default, usage_object),
            model: told("model", &self.model)?.and_then(Value::as_str).map(str::to_owned),
            ..Reply::answered(text)
        })
    }

    fn passages(&self, list: &Value) -> Result<Vec<Retrieved>, String> {
        let passage = |entry: &Value| {
            if !entry.is_object() {
                return entry.clone();
            }
            let PassagePointers { doc, chunk, text, score } = &self.passage;
            let names = [("doc", doc), ("chunk", chunk), ("text", text), ("score", score)];
            let fields = names
                .into_iter()
                .filter_map(|(name, pointer)| Some((name.to_owned(), entry.pointer(pointer)?.clone())));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        let list = match list {
            Value::Array(entries) => json!(entries.iter().map(passage).collect::<Vec<_>>()),
            other => other.clone(),
        };
        Retrieved::list_from(&list).map_err(|why| format!("`answer.retrieved`{why}"))
    }
}

fn at<'a>(answer: &'a Value, name: &str, pointer: &str) -> Result<&'a Value, String> {
    answer
        .pointer(pointer)
        .ok_or_else(|| format!("`answer.{name}` = `{pointer}` points nowhere in {}", shape(answer)))
}

/// What an answer looks like, without what it says: `{answer: {text: text}, sources: [{doc: text} × 5]}`.
fn shape(answer: &Value) -> String {
    with_ellipsis(&shape_of(answer, 3), MAX_SHAPE)
}

fn shape_of(value: &Value, depth: usize) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(entries) => match entries.first() {
            None => "[]".to_owned(),
            Some(_) if depth == 0 => "[…]".to_owned(),
            Some(first) => format!("[{} × {}]", shape_of(first, depth - 1), entries.len()),
        },
        Value::Object(fields) if depth == 0 && !fields.is_empty() => "{…}".to_owned(),
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", shape_of(value, depth.saturating_sub(1))))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(value: Value) -> AnswerPointers {
        serde_json::from_value(value).unwrap()
    }

    fn read(pointers: &AnswerPointers, answer: &Value) -> Result<Reply, String> {
        pointers.read(&answer.to_string(), Some(answer))
    }

    #[test]
    fn everything_is_found_where_it_is_said_to_stand() {
        let pointers = pointers(json!({
            "text": "/result/answer", "retrieved": "/sources", "usage": "/usage", "cost": "/cost",
            "model": "/model", "passage": {"doc": "/meta/file", "text": "/content"},
        }));
        let answer = json!({
            "result": {"answer": "14 days"}, "model": "m-1", "cost": "0.002",
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
            "sources": [{"meta": {"file": "refunds"}, "content": "within 14 days", "score": 0.5}],
        });
        let reply = read(&pointers, &answer).unwrap();
        assert_eq!(reply.text, "14 days");
        let passage = &reply.retrieved.unwrap()[0];
        assert_eq!((passage.doc.as_str(), passage.text.as_str()), ("refunds", "within 14 days"));
        assert_eq!((passage.chunk.as_deref(), passage.score), (None, Some(0.5)));
        assert_eq!(reply.reported_cost.unwrap().to_string(), "0.002");
        assert_eq!(reply.metered.usage.unwrap().output, 2);
        assert_eq!(reply.model.as_deref(), Some("m-1"));
        for (told, cost) in [(json!(0.1 + 0.2), Some("0.30")), (json!(-1), None)] {
            let answer = json!({"text": "x", "cost": told});
            let pointers = AnswerPointers { cost: Some("/cost".to_owned()), ..AnswerPointers::default() };
            let reply = read(&pointers, &answer).unwrap();
            assert_eq!(reply.reported_cost.map(|cost| cost.to_string()).as_deref(), cost);
        }
    }

    #[test]
    fn a_pointer_to_nowhere_is_named_with_the_answers_shape() {
        let pointers = pointers(json!({"text": "/answer"}));
        let answer = json!({"result": {"text": "secret words"}, "sources": [{"doc": "a"}, {"doc": "b"}]});
        assert_eq!(
            read(&pointers, &answer).unwrap_err(),
            "`answer.text` = `/answer` points nowhere in {result: {text: text}, sources: [{doc: text} × 2]}"
        );
        let many: Map<String, Value> = (0..100).map(|at| (format!("field-{at}"), json!(1))).collect();
        let why = read(&pointers, &Value::Object(many)).unwrap_err();
        assert!(why.chars().count() < 300, "{why}");
        assert!(pointers.read("<html>", None).unwrap_err().contains("no JSON"));
    }

    #[test]
    fn null_is_not_told_and_a_whole_body_may_be_the_answer() {
        let optional = pointers(json!({"text": "/t", "retrieved": "/r", "usage": "/u"}));
        let reply = read(&optional, &json!({"t": 5, "r": null, "u": null})).unwrap();
        assert_eq!((reply.text.as_str(), reply.retrieved), ("5", None));
        assert!(read(&optional, &json!({"t": null, "r": null, "u": null})).is_err());
        let whole = AnswerPointers::default();
        assert_eq!(whole.read("plain words", None).unwrap().text, "plain words");
        assert_eq!(read(&whole, &json!("quoted")).unwrap().text, "quoted");
        assert_eq!(read(&whole, &json!({"a": 1})).unwrap().text, r#"{"a":1}"#);
    }

    #[test]
    fn a_pointer_begins_with_a_slash() {
        let wrong = pointers(json!({"text": "answer", "passage": {"doc": "doc"}}));
        let keys: Vec<&str> = wrong.faults().iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, ["text", "passage.doc"]);
        assert!(AnswerPointers::default().faults().is_empty());
    }
}
