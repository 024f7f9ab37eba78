//! A grader's parameters, from JSON to what they mean, with all faults at once.

use regex::Regex;
use serde_json::{Map, Value};

use crate::domain::nearest;

/// Reads parameters one by one; [`finish`](Self::finish) reports those that were never asked for.
pub(super) struct Parameters<'a> {
    given: &'a Map<String, Value>,
    asked: Vec<&'static str>,
    faults: Vec<String>,
}

impl<'a> Parameters<'a> {
    pub(super) fn new(given: &'a Map<String, Value>) -> Self {
        Self { given, asked: vec![], faults: vec![] }
    }

    /// The value of a parameter, if it is given; null counts as not given.
    pub(super) fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.push(name);
        self.given.get(name).filter(|value| !value.is_null())
    }

    /// Records what is wrong with a parameter.
    pub(super) fn fault(&mut self, name: &str, message: impl AsRef<str>) {
        self.faults.push(format!("parameter `{name}`: {}", message.as_ref()));
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        match self.value(name)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.fault(name, format!("expected a text, found `{other}`"));
                None
            }
        }
    }

    /// A list of texts that are not blank; a single text counts as a list of one.
    pub(super) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        let value = self.value(name)?;
        match texts_of(value) {
            Some(texts) if texts.iter().any(|text| text.trim().is_empty()) => {
                self.fault(name, "a text in it is empty");
                None
            }
            Some(texts) => Some(texts),
            None => {
                self.fault(name, format!("expected a list of texts, found `{value}`"));
                None
            }
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> bool {
        match self.value(name) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                self.fault(name, format!("expected `true` or `false`, found `{other}`"));
                false
            }
        }
    }

    /// One of `choices`, the first being the default.
    pub(super) fn choice<T: Copy>(&mut self, name: &'static str, choices: &[(&'static str, T)]) -> T {
        let default = choices[0].1;
        let Some(value) = self.value(name) else { return default };
        let chosen = value.as_str().and_then(|text| choices.iter().find(|(choice, _)| *choice == text));
        if let Some((_, meaning)) = chosen {
            return *meaning;
        }
        let listed: Vec<String> = choices.iter().map(|(choice, _)| format!("`{choice}`")).collect();
        self.fault(name, format!("expected one of {}, found `{value}`", listed.join(", ")));
        default
    }

    /// Whether a difference is folded, `"fold"` or `"keep"`; folded by default.
    pub(super) fn folded(&mut self, name: &'static str) -> bool {
        self.choice(name, &[("fold", true), ("keep", false)])
    }

    /// A regular expression.
    pub(super) fn regex(&mut self, name: &'static str, pattern: &str) -> Option<Regex> {
        match Regex::new(pattern) {
            Ok(regex) => Some(regex),
            Err(error) => {
                // The first lines of the error repeat the pattern; the last one says what is wrong.
                let message = error.to_string();
                let wrong = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.fault(name, format!("not a regular expression: {wrong}"));
                None
            }
        }
    }

    /// `value`, unless something is wrong.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Vec<String>> {
        for name in self.given.keys().filter(|name| !self.asked.contains(&name.as_str())) {
            let hint = match nearest(name, self.asked.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if self.asked.is_empty() => "this grader has none".to_owned(),
                None => format!("it has {}", self.asked.join(", ")),
            };
            self.faults.push(format!("unknown parameter `{name}`; {hint}"));
        }
        if self.faults.is_empty() { Ok(value) } else { Err(self.faults) }
    }
}

/// A text, or a list of texts; `None` for anything else.
pub(super) fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(values) => values.iter().map(|value| value.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}
