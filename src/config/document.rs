//! A TOML file as a tree that remembers its lines, so that every fault names one.
//!
//! [`Document::read`] turns the tree into a typed value and, instead of giving up at the first
//! fault, notes it, takes the offending entry out and goes on: all faults are told in one go.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use crate::domain::{Fault, Faults, nearest};

/// What to do where an experiment file is not there.
pub(super) const NAME_AN_EXPERIMENT: &str = "give the path of an experiment file such as `config/demo.toml`";

/// A parsed TOML file.
#[derive(Clone, Debug)]
pub struct Document {
    file: PathBuf,
    tree: Value,
    /// From a path such as `target[1].model` to its line.
    lines: HashMap<String, usize>,
    /// Where dates, NaN, infinities and too large integers stand: JSON has none of them, and in the tree they
    /// are texts.
    beyond_json: Vec<String>,
}

/// What is noted of a text while its tree is made.
#[derive(Default)]
struct Notes {
    lines: HashMap<String, usize>,
    beyond_json: Vec<String>,
}

impl Document {
    /// Reads and parses `file`; `hint` is the likely fix where it is not there.
    ///
    /// # Errors
    /// The file cannot be read, is not UTF-8, or is not TOML (every syntax fault is told).
    pub fn open(file: &Path, hint: &str) -> Result<Self, Faults> {
        let bytes = std::fs::read(file)
            .map_err(|error| Fault::of_file(file, format!("cannot be read: {error}")).with_hint(hint))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Fault::of_file(file, "not UTF-8").with_hint("save the file as UTF-8"))?;
        Self::parse(file, &text)
    }

    /// Parses `text`, which stands in `file`.
    ///
    /// # Errors
    /// Every syntax fault.
    pub fn parse(file: &Path, text: &str) -> Result<Self, Faults> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let mut faults: Vec<Fault> = errors.iter().map(|error| syntax_fault(file, text, error)).collect();
            faults.sort_by_key(|fault| (fault.line, fault.column));
            return Err(Faults(faults));
        }
        let mut notes = Notes::default();
        let starts = LineStarts::of(text);
        let tree = table_tree(table.get_ref(), "", &starts, &mut notes);
        let Notes { lines, beyond_json } = notes;
        Ok(Self { file: file.to_owned(), tree, lines, beyond_json })
    }

    /// The file it was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The whole tree, as it is frozen with a run.
    pub fn tree(&self) -> &Value {
        &self.tree
    }

    /// Overrides one entry: `target.opus-5.max_tokens=256`. In a list of tables, an entry is named
    /// by its `name` or its position.
    ///
    /// # Errors
    /// The assignment has no `=`, or its path leads through something that is not a table.
    pub fn set(&mut self, assignment: &str) -> Result<(), Faults> {
        let fault =
            |message: &str| Faults::from(Fault::of_file("--set", format!("`{assignment}`: {message}")));
        let (path, text) = assignment.split_once('=').ok_or_else(|| fault("expected `key=value`"))?;
        let keys: Vec<&str> = path.trim().split('.').collect();
        let (last, parents) = keys.split_last().expect("a split has at least one part");
        let mut place = &mut self.tree;
        let mut path = String::new();
        for key in parents {
            let no_such = || fault(&format!("there is no `{key}` to set this in"));
            place = child(place, key, &mut path).ok_or_else(no_such)?;
        }
        path = joined(&path, last);
        let mut notes = Notes::default();
        match place {
            Value::Object(table) => {
                table.insert((*last).to_owned(), value_of(text.trim(), &path, &mut notes))
            }
            _ => return Err(fault("its parent is not a table")),
        };
        self.beyond_json.retain(|noted| !is_within(noted, &path));
        self.beyond_json.extend(notes.beyond_json);
        Ok(())
    }

    /// A fault for every value at or below `path` that JSON has no word for: what is sent would be a text.
    pub(super) fn beyond_json(&self, path: &str) -> Vec<Fault> {
        let within = self.beyond_json.iter().filter(|noted| is_within(noted, path));
        let fault = |noted: &String| {
            let fault = self.fault(noted, "JSON has no such value, so it cannot be sent");
            fault.with_hint("put it in quotes to send it as a text")
        };
        within.map(fault).collect()
    }

    /// The tree as a `T`, with every fault found; `None` when no value could be made at all.
    pub fn read<T: DeserializeOwned>(&self) -> (Option<T>, Faults) {
        let mut tree = self.tree.clone();
        let mut faults = Faults::default();
        loop {
            match serde_path_to_error::deserialize::<_, T>(&tree) {
                Ok(value) => return (Some(value), faults),
                Err(error) => {
                    let path = error.path().to_string();
                    faults.0.push(self.typed_fault(&path, &error.inner().to_string()));
                    if !remove(&mut tree, &path) {
                        return (None, faults);
                    }
                }
            }
        }
    }

    /// A fault at `path`, such as `target[1].model`; its line is that of the nearest known parent.
    pub fn fault(&self, path: &str, message: impl Into<String>) -> Fault {
        let fault = match self.line(path) {
            Some(line) => Fault::on_line(&self.file, line, message),
            None => Fault::of_file(&self.file, message),
        };
        fault.at(format!("`{path}`"))
    }

    /// The line of `path`, or of its nearest known parent.
    pub(super) fn line(&self, path: &str) -> Option<usize> {
        let mut path = path;
        loop {
            if let Some(line) = self.lines.get(path) {
                return Some(*line);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }

    pub(super) fn typed_fault(&self, path: &str, message: &str) -> Fault {
        let message = message.split(" at line ").next().unwrap_or(message);
        let Some(rest) = message.strip_prefix("unknown field `") else {
            return self.fault(path, message.to_owned());
        };
        let (found, expected) = rest.split_once('`').unwrap_or((rest, ""));
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        let fault = self.fault(path, format!("unknown key; expected one of {}", known.join(", ")));
        match nearest(found, known) {
            Some(meant) => fault.with_hint(format!("did you mean `{meant}`?")),
            None => fault,
        }
    }
}

/// A path that stands in `file`, relative to the file itself.
pub(super) fn beside(file: &Path, path: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or_else(|| Path::new(""));
    let whole = folder.join(path).components().fold(PathBuf::new(), |mut whole, part| {
        // `config/../golden` reads as `golden` where that is safe: below a plain folder name.
        let plain = whole.file_name().is_some();
        if part == std::path::Component::ParentDir && plain {
            whole.pop();
        } else {
            whole.push(part);
        }
        whole
    });
    // `config/..` is the folder that one stands in.
    if whole.as_os_str().is_empty() { PathBuf::from(".") } else { whole }
}

/// The path of `key` in the table at `path`.
fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Whether `place` is `path` or stands below it.
fn is_within(place: &str, path: &str) -> bool {
    place.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The entry `key` of a table, made if it is missing, or of a list by name or position; `path` follows.
fn child<'a>(place: &'a mut Value, key: &str, path: &mut String) -> Option<&'a mut Value> {
    match place {
        Value::Object(table) => {
            *path = joined(path, key);
            Some(table.entry(key.to_owned()).or_insert_with(|| Value::Object(Map::new())))
        }
        Value::Array(entries) => {
            let named = |entry: &Value| entry.get("name").and_then(Value::as_str) == Some(key);
            let position = entries.iter().position(named).or_else(|| key.parse().ok())?;
            path.push_str(&format!("[{position}]"));
            entries.get_mut(position)
        }
        _ => None,
    }
}

/// What `--set` means by `text`: a TOML value, else the text itself.
fn value_of(text: &str, path: &str, notes: &mut Notes) -> Value {
    match DeValue::parse(text) {
        Ok(value) => value_tree(value.get_ref(), path, &LineStarts::of(""), notes),
        Err(_) => Value::String(text.to_owned()),
    }
}

/// Takes the entry at `path` out of `tree`; whether there was one.
fn remove(tree: &mut Value, path: &str) -> bool {
    let mut place = tree;
    let keys = path_keys(path);
    let Some((last, parents)) = keys.split_last() else {
        return false;
    };
    for key in parents {
        let next = match place {
            Value::Object(table) => table.get_mut(key),
            Value::Array(entries) => key.parse().ok().and_then(|at: usize| entries.get_mut(at)),
            _ => None,
        };
        let Some(next) = next else { return false };
        place = next;
    }
    match place {
        Value::Object(table) => table.shift_remove(last).is_some(),
        Value::Array(entries) => match last.parse::<usize>() {
            Ok(at) if at < entries.len() => {
                entries.remove(at);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// `target[1].model` as `["target", "1", "model"]`. The path of the whole document is `.`.
fn path_keys(path: &str) -> Vec<String> {
    path.split(['.', '['])
        .map(|key| key.trim_end_matches(']').to_owned())
        .filter(|key| !key.is_empty())
        .collect()
}

fn syntax_fault(file: &Path, text: &str, error: &toml::de::Error) -> Fault {
    let message = error.message().to_owned();
    let Some(span) = error.span() else { return Fault::of_file(file, message) };
    let before = &text[..span.start.min(text.len())];
    let mut fault = Fault::on_line(file, before.matches('\n').count() + 1, message);
    fault.column = Some(before.chars().rev().take_while(|character| *character != '\n').count() + 1);
    fault
}

/// Where each line of a text begins, to find a byte's line by bisection.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> Self {
        let after_newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        Self(std::iter::once(0).chain(after_newlines).collect())
    }

    fn line(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte)
    }
}

fn table_tree(table: &DeTable<'_>, path: &str, starts: &LineStarts, notes: &mut Notes) -> Value {
    let entries = table.iter().map(|(key, value)| {
        let name = key.get_ref().to_string();
        let path = joined(path, &name);
        notes.lines.insert(path.clone(), starts.line(key.span().start));
        (name, value_tree(value.get_ref(), &path, starts, notes))
    });
    Value::Object(entries.collect())
}

fn value_tree(value: &DeValue<'_>, path: &str, starts: &LineStarts, notes: &mut Notes) -> Value {
    let mut beyond_json = |text: String| {
        notes.beyond_json.push(path.to_owned());
        Value::String(text)
    };
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(datetime) => beyond_json(datetime.to_string()),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix()).ok();
            number.map_or_else(|| beyond_json(integer.to_string()), Value::from)
        }
        // JSON has no NaN and no infinity: they stay text, and whoever wants a number says so.
        DeValue::Float(float) => {
            let number = float.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
            number.map_or_else(|| beyond_json(float.to_string()), Value::Number)
        }
        DeValue::Array(array) => {
            let entries = array.iter().enumerate().map(|(at, entry)| {
                let path = format!("{path}[{at}]");
                notes.lines.insert(path.clone(), starts.line(entry.span().start));
                value_tree(entry.get_ref(), &path, starts, notes)
            });
            Value::Array(entries.collect())
        }
        DeValue::Table(table) => table_tree(table, path, starts, notes),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its reading is tested")]
    struct Sample {
        repeats: Option<u32>,
        #[serde(default)]
        target: Vec<Target>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its reading is tested")]
    struct Target {
        name: Option<String>,
        max_tokens: Option<u32>,
    }

    fn document(text: &str) -> Document {
        Document::parse(Path::new("a.toml"), text).unwrap()
    }

    #[test]
    fn what_json_has_no_word_for_is_found_wherever_it_stands() {
        let text = "[target.a.extra]\nf = nan\n\n[target.a.extra.deep]\nlist = [1, -inf]\nwhen = 2026-01-01\n\
                    large = 99999999999999999999\ngood = [1.5, \"nan\", \"2026-01-01\"]\n\
                    [target.a.extras]\nf = inf\n";
        let mut document = document(text);
        let places = |document: &Document| {
            let told = document.beyond_json("target.a.extra").into_iter();
            told.map(|fault| fault.to_string().split(':').nth(2).unwrap_or("").trim().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            places(&document),
            [
                "`target.a.extra.f`",
                "`target.a.extra.deep.list[1]`",
                "`target.a.extra.deep.when`",
                "`target.a.extra.deep.large`",
            ]
        );
        document.set("target.a.extra.deep=1").unwrap();
        document.set("target.a.extra.g=inf").unwrap();
        assert_eq!(places(&document), ["`target.a.extra.f`", "`target.a.extra.g`"]);
    }

    #[test]
    fn every_fault_is_told_with_its_line_and_a_suggestion() {
        let text = "repeats = \"five\"\nsede = 1\n\n[[target]]\nname = \"a\"\n[[target]]\nmax_token = 3\n";
        let (value, faults) = document(text).read::<Sample>();
        assert!(value.is_some());
        let told: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "a.toml:1: `repeats`: invalid type: string \"five\", expected u32",
                "a.toml:2: `sede`: unknown key; expected one of repeats, target",
                "a.toml:7: `target[1].max_token`: unknown key; expected one of name, max_tokens\n  \
                 hint: did you mean `max_tokens`?",
            ]
        );
    }

    #[test]
    fn every_syntax_fault_is_told_with_line_and_column() {
        let faults = Document::parse(Path::new("a.toml"), "a = \nb = 1\nc = [1,\n").unwrap_err();
        assert_eq!((faults.0[0].line, faults.0[0].column), (Some(1), Some(5)));
        assert!(faults.0.len() > 1, "{faults}");
    }

    #[test]
    fn an_override_reaches_a_table_by_its_name_or_position() {
        let mut document = document("[[target]]\nname = \"a\"\n[[target]]\nname = \"b\"\n");
        document.set("target.b.max_tokens=256").unwrap();
        document.set("target.0.model = plain words").unwrap();
        document.set("limits.burst_s=0.5").unwrap();
        assert_eq!(
            *document.tree(),
            json!({
                "target": [{"name": "a", "model": "plain words"}, {"name": "b", "max_tokens": 256}],
                "limits": {"burst_s": 0.5},
            })
        );
        assert!(document.set("no equals sign").is_err());
        assert!(document.set("target.nobody.model=x").is_err());
    }
}
