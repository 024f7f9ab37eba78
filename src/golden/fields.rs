//! The fields of a case line, each from JSON to what it means.
//!
//! Every reader tells all that is wrong with its field, with the path within the line.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::domain::{Examples, Input, Message, PassIf, Role, Source, Split, nearest};

/// One thing wrong within a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The path within the line, such as `input.history[2].role`.
    pub(super) path: String,
    /// What was found and what was expected.
    pub(super) message: String,
    /// The likely fix.
    pub(super) hint: Option<String>,
}

/// Collects the problems of one field while its parts are read.
pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem { path: path.into(), message: message.into(), hint: None });
    }

    pub(super) fn add_with_hint(
        &mut self,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.0.push(Problem { path: path.into(), message: message.into(), hint: Some(hint.into()) });
    }

    pub(super) fn expected(&mut self, path: impl Into<String>, expected: &str, found: &Value) {
        self.add(path, format!("expected {expected}, found {}", kind_of(found)));
    }

    /// Keys of `object` that are not among `known`.
    fn unknown_keys(&mut self, path: &str, object: &Map<String, Value>, known: &[&str]) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = match nearest(key, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("it may have {}", listed(known)),
            };
            self.add_with_hint(format!("{path}.{key}"), "unknown field", hint);
        }
    }
}

/// What a value is, in words and with its value where that is short.
fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => format!("`{truth}`"),
        Value::Number(number) => format!("the number `{number}`"),
        Value::String(text) if text.chars().count() <= 40 => format!("the text `{}`", text.escape_debug()),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// `` `a`, `b` or `c` ``.
fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

pub(super) fn read_text(field: &str, value: Value, problems: &mut Problems) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => {
            problems.add(field, "the text is empty");
            None
        }
        Value::String(text) => Some(text),
        other => {
            problems.expected(field, "a text", &other);
            None
        }
    }
}

pub(super) fn read_split(value: &Value, problems: &mut Problems) -> Option<Split> {
    const SPLITS: [Split; 3] = [Split::Tuning, Split::HeldOut, Split::Live];
    let names = SPLITS.map(Split::as_str);
    match value {
        Value::Null => None,
        Value::String(text) => {
            let split = SPLITS.into_iter().find(|split| split.as_str() == text);
            if split.is_none() {
                let message = format!("unknown split `{}`, expected {}", text.escape_debug(), listed(&names));
                match nearest(&text.to_lowercase().replace(['_', ' '], "-"), names) {
                    Some(meant) => {
                        problems.add_with_hint("split", message, format!("did you mean `{meant}`?"))
                    }
                    None => problems.add("split", message),
                }
            }
            split
        }
        other => {
            problems.expected("split", &listed(&names), other);
            None
        }
    }
}

pub(super) fn read_source(value: Value, problems: &mut Problems) -> Option<Box<Source>> {
    match value {
        Value::Null => None,
        Value::Object(mut object) => {
            problems.unknown_keys("source", &object, &["trace_id", "captured_at", "why_kept"]);
            let mut take = |key: &str| {
                let value = object.get_mut(key).map_or(Value::Null, Value::take);
                read_text(&format!("source.{key}"), value, problems)
            };
            Some(Box::new(Source {
                trace_id: take("trace_id"),
                captured_at: take("captured_at"),
                why_kept: take("why_kept"),
            }))
        }
        other => {
            problems.expected("source", "an object", &other);
            None
        }
    }
}

pub(super) fn read_segment(value: Value, problems: &mut Problems) -> BTreeMap<String, String> {
    match value {
        Value::Null => BTreeMap::new(),
        Value::Object(object) => object
            .into_iter()
            .filter_map(|(key, value)| match value {
                Value::String(text) => Some((key, text)),
                other => {
                    problems.expected(format!("segment.{key}"), "a text", &other);
                    None
                }
            })
            .collect(),
        other => {
            problems.expected("segment", "an object of texts", &other);
            BTreeMap::new()
        }
    }
}

pub(super) fn read_weight(value: &Value, problems: &mut Problems) -> f64 {
    match value {
        Value::Null => 1.0,
        Value::Number(number) => match number.as_f64() {
            Some(weight) if weight.is_finite() && weight >= 0.0 => weight,
            _ => {
                problems.add("weight", format!("expected a number of at least 0, found {number}"));
                1.0
            }
        },
        other => {
            problems.expected("weight", "a number of at least 0", other);
            1.0
        }
    }
}

pub(super) fn read_repeats(value: &Value, problems: &mut Problems) -> Option<u32> {
    if value.is_null() {
        return None;
    }
    let repeats =
        value.as_u64().and_then(|repeats| u32::try_from(repeats).ok()).filter(|&repeats| repeats > 0);
    if repeats.is_none() {
        problems.expected("repeats", "a whole number of at least 1", value);
    }
    repeats
}

pub(super) fn read_pass_if(value: &Value, problems: &mut Problems) -> Option<PassIf> {
    const FORMS: &str = "`every`, `any`, `majority` or `{\"at_least\": n}`";
    match value {
        Value::Null => None,
        Value::String(text) => {
            let rule = match text.as_str() {
                "every" => Some(PassIf::Every),
                "any" => Some(PassIf::Any),
                "majority" => Some(PassIf::Majority),
                _ => None,
            };
            if rule.is_none() {
                problems.expected("pass_if", FORMS, value);
            }
            rule
        }
        Value::Object(object) if object.len() == 1 && object.contains_key("at_least") => {
            let least = &object["at_least"];
            match least.as_u64().and_then(|least| u32::try_from(least).ok()) {
                Some(least) if least > 0 => Some(PassIf::AtLeast(least)),
                _ => {
                    problems.expected("pass_if.at_least", "a whole number of at least 1", least);
                    None
                }
            }
        }
        other => {
            problems.expected("pass_if", FORMS, other);
            None
        }
    }
}

pub(super) fn read_examples(value: Value, problems: &mut Problems) -> Examples {
    match value {
        Value::Null => Examples::default(),
        Value::Object(mut object) => {
            problems.unknown_keys("examples", &object, &["pass", "fail"]);
            let mut take = |key: &str| {
                let value = object.get_mut(key).map_or(Value::Null, Value::take);
                read_texts(&format!("examples.{key}"), value, problems)
            };
            Examples { pass: take("pass"), fail: take("fail") }
        }
        other => {
            problems.expected("examples", "an object with `pass` and `fail`", &other);
            Examples::default()
        }
    }
}

fn read_texts(path: &str, value: Value, problems: &mut Problems) -> Vec<String> {
    match value {
        Value::Null => vec![],
        Value::Array(values) => {
            let mut texts = Vec::with_capacity(values.len());
            for (index, value) in values.into_iter().enumerate() {
                match value {
                    Value::String(text) => texts.push(text),
                    other => problems.expected(format!("{path}[{index}]"), "a text", &other),
                }
            }
            texts
        }
        other => {
            problems.expected(path, "a list of texts", &other);
            vec![]
        }
    }
}

pub(super) fn read_input(value: Value, problems: &mut Problems) -> Option<Input> {
    const FORMS: &str = "a text, `{\"message\", \"history\"}` or `{\"messages\"}`";
    match value {
        Value::String(text) => {
            if text.trim().is_empty() {
                problems.add("input", "the user message is empty");
            }
            Some(Input::Text(text))
        }
        Value::Object(object) if object.contains_key("messages") => read_conversation(object, problems),
        Value::Object(object) if object.contains_key("message") => read_turn(object, problems),
        Value::Object(object) => {
            problems.add("input", format!("expected {FORMS}, found an object without either"));
            problems.unknown_keys("input", &object, &["message", "messages", "history"]);
            None
        }
        other => {
            problems.expected("input", FORMS, &other);
            None
        }
    }
}

fn read_conversation(mut object: Map<String, Value>, problems: &mut Problems) -> Option<Input> {
    problems.unknown_keys("input", &object, &["messages"]);
    let messages = read_messages("input.messages", object["messages"].take(), problems)?;
    match messages.last() {
        None => problems.add("input.messages", "the conversation is empty"),
        Some(last) if last.role != Role::User => {
            problems.add("input.messages", "the conversation does not end with a user message");
        }
        Some(_) => {}
    }
    Some(Input::Conversation { messages })
}

fn read_turn(mut object: Map<String, Value>, problems: &mut Problems) -> Option<Input> {
    problems.unknown_keys("input", &object, &["message", "history"]);
    let history = match object.get_mut("history").map_or(Value::Null, Value::take) {
        Value::Null => Some(vec![]),
        value => read_messages("input.history", value, problems),
    };
    match object["message"].take() {
        Value::String(message) => {
            if message.trim().is_empty() {
                problems.add("input.message", "the user message is empty");
            }
            Some(Input::Turn { message, history: history? })
        }
        other => {
            problems.expected("input.message", "a text", &other);
            None
        }
    }
}

fn read_messages(path: &str, value: Value, problems: &mut Problems) -> Option<Vec<Message>> {
    let Value::Array(values) = value else {
        problems.expected(path, "a list of messages", &value);
        return None;
    };
    let read: Vec<Option<Message>> = values
        .into_iter()
        .enumerate()
        .map(|(index, value)| read_message(&format!("{path}[{index}]"), value, problems))
        .collect();
    read.into_iter().collect()
}

fn read_message(path: &str, value: Value, problems: &mut Problems) -> Option<Message> {
    let Value::Object(mut object) = value else {
        problems.expected(path, "an object with `role` and `content`", &value);
        return None;
    };
    problems.unknown_keys(path, &object, &["role", "content"]);
    let role = match object.get("role").and_then(Value::as_str) {
        Some("system") => Some(Role::System),
        Some("user") => Some(Role::User),
        Some("assistant") => Some(Role::Assistant),
        _ => {
            let found = object.get("role").unwrap_or(&Value::Null);
            problems.expected(format!("{path}.role"), "`system`, `user` or `assistant`", found);
            None
        }
    };
    let content = match object.get_mut("content").map_or(Value::Null, Value::take) {
        Value::String(content) => {
            if role == Some(Role::User) && content.trim().is_empty() {
                problems.add(format!("{path}.content"), "the user message is empty");
            }
            Some(content)
        }
        other => {
            problems.expected(format!("{path}.content"), "a text", &other);
            None
        }
    };
    Some(Message { role: role?, content: content?.into() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems_of<T>(read: impl FnOnce(&mut Problems) -> T) -> Vec<String> {
        let mut problems = Problems(vec![]);
        read(&mut problems);
        problems.0.into_iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
    }

    #[test]
    fn an_input_has_three_forms() {
        let mut problems = Problems(vec![]);
        let mut read = |value| read_input(value, &mut problems).unwrap();
        assert_eq!(read(json!("hi")), Input::Text("hi".into()));
        let turn = read(json!({"message": "b", "history": [{"role": "user", "content": "a"}]}));
        assert_eq!(turn.full_text(), "a\nb");
        let conversation = read(json!({"messages": [{"role": "user", "content": "a"}]}));
        assert_eq!(conversation.last_user_message(), "a");
        assert_eq!(problems.0, []);
    }

    #[test]
    fn every_fault_of_an_input_is_told_with_its_path() {
        let told = |value| problems_of(|problems| read_input(value, problems));
        assert_eq!(told(json!(" ")), ["input: the user message is empty"]);
        assert_eq!(told(json!({"messages": []})), ["input.messages: the conversation is empty"]);
        assert_eq!(
            told(json!({"messages": [{"role": "bot", "content": 3}, {"role": "user", "contents": "x"}]})),
            [
                "input.messages[0].role: expected `system`, `user` or `assistant`, found the text `bot`",
                "input.messages[0].content: expected a text, found the number `3`",
                "input.messages[1].contents: unknown field",
                "input.messages[1].content: expected a text, found null",
            ]
        );
        assert_eq!(
            told(
                json!({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})
            ),
            ["input.messages: the conversation does not end with a user message"]
        );
        assert_eq!(
            told(json!({"text": "x"})),
            [
                "input: expected a text, `{\"message\", \"history\"}` or `{\"messages\"}`, found an object without either",
                "input.text: unknown field"
            ]
        );
    }

    #[test]
    fn repeats_weight_and_pass_if_have_limits() {
        for bad in [json!(0), json!(-1), json!(1.5), json!(5_000_000_000_u64), json!("2")] {
            assert_eq!(problems_of(|problems| read_repeats(&bad, problems)).len(), 1, "{bad}");
        }
        for bad in [json!(-0.5), json!("1"), json!(true)] {
            assert_eq!(problems_of(|problems| read_weight(&bad, problems)).len(), 1, "{bad}");
        }
        for bad in [json!("all"), json!({"at_least": 0}), json!({"at_least": 1, "x": 2}), json!(3)] {
            assert_eq!(problems_of(|problems| read_pass_if(&bad, problems)).len(), 1, "{bad}");
        }
    }
}
