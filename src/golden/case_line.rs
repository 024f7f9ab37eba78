//! One line of a golden set, from fields as written to a case, or to its faults.

use std::{
    collections::{HashMap, hash_map::Entry},
    mem,
    path::Path,
};

use serde_json::{Value, value::RawValue};

use super::{
    CaseDefaults,
    fields::{
        Problem, Problems, read_examples, read_input, read_pass_if, read_repeats, read_segment, read_source,
        read_split, read_text, read_weight,
    },
    grader_specs::read_graders,
    id::{comparable, read_id},
    written::{FIELDS, NAMES_ELSEWHERE, Strict, WrittenLine},
};
use crate::domain::{Case, CaseId, Fault, Fingerprint, Input, PassIf, nearest};

/// What one line says by itself.
pub(super) struct ReadLine {
    pub(super) id: Option<OwnId>,
    /// Everything but the id, which is put in when the rest is right.
    pub(super) case: Option<Case>,
    pub(super) faults: Vec<Fault>,
}

/// Reads one line, whatever the others say.
pub(super) fn read_case_line(path: &Path, number: usize, text: &str, defaults: &CaseDefaults) -> ReadLine {
    let written: WrittenLine<'_> = match serde_json::from_str(text) {
        Ok(written) => written,
        Err(error) => {
            let faults = vec![syntax_fault(path, number, text, &error)];
            return ReadLine { id: None, case: None, faults };
        }
    };
    let mut line = LineReader { path, number, text, id: None, faults: vec![] };
    line.check_names(&written);
    let id = line.read_id(&written);
    let case = line.read_case(&written, defaults);
    ReadLine { id, case, faults: line.faults }
}

/// The id of a line, as far as the line alone can tell.
pub(super) struct OwnId {
    id: CaseId,
    column: usize,
    /// How many faults of its line stand before one of the id.
    faults_before: usize,
}

impl OwnId {
    /// The id, unless one of `known` could be taken for it: then where among the line's faults that one
    /// stands, and what it is.
    pub(super) fn claim(
        self,
        path: &Path,
        number: usize,
        known: &mut HashMap<String, (usize, CaseId)>,
    ) -> Result<CaseId, (usize, Fault)> {
        let id = self.id;
        match known.entry(comparable(id.as_str())) {
            Entry::Occupied(known) => {
                let (line, earlier) = known.get();
                let message = if *earlier == id {
                    format!("the id is already used on line {line}")
                } else {
                    format!("the id differs only in spaces or Unicode form from `{earlier}` on line {line}")
                };
                let fault = Fault { column: Some(self.column), ..Fault::on_line(path, number, message) };
                let fault = fault.at(format!("case `{id}`, `id`")).with_hint("rename one of the two");
                Err((self.faults_before, fault))
            }
            Entry::Vacant(free) => {
                free.insert((number, id.clone()));
                Ok(id)
            }
        }
    }
}

/// One line while it is read.
struct LineReader<'a> {
    path: &'a Path,
    number: usize,
    text: &'a str,
    /// The line's id as faults print it, once it is known.
    id: Option<String>,
    faults: Vec<Fault>,
}

impl LineReader<'_> {
    /// A fault at a value of this line; `offset` is in bytes from the value's start.
    fn fault(
        &mut self,
        place: &str,
        value: Option<(&RawValue, usize)>,
        message: String,
        hint: Option<String>,
    ) {
        let column = value.map(|(raw, offset)| self.column(raw, offset));
        let place = match &self.id {
            Some(id) => format!("case `{id}`, `{place}`"),
            None => format!("`{place}`"),
        };
        let fault = Fault { column, hint, ..Fault::on_line(self.path, self.number, message) };
        self.faults.push(fault.at(place));
    }

    /// Where a byte of a value stands. The value is a slice of the line, so that its address tells that.
    fn column(&self, value: &RawValue, offset: usize) -> usize {
        column_at(self.text, value.get().as_ptr().addr() - self.text.as_ptr().addr() + offset)
    }

    /// Fields that no case has, and fields that stand twice.
    fn check_names(&mut self, written: &WrittenLine<'_>) {
        if let Some((_, raw)) = written.fields.iter().find(|(name, _)| name == "id") {
            self.id = read_id(raw).ok();
        }
        for (index, (name, raw)) in written.fields.iter().enumerate() {
            if !FIELDS.contains(&name.as_str()) {
                let has = |field: &str| written.fields.iter().any(|(name, _)| name == field);
                self.fault(name, Some((raw, 0)), "unknown field".to_owned(), Some(hint_for(name, has)));
            } else if written.fields[..index].iter().any(|(earlier, _)| earlier == name) {
                self.fault(name, Some((raw, 0)), "the field stands twice".to_owned(), None);
            }
        }
    }

    /// The line's id, if it is one.
    fn read_id(&mut self, written: &WrittenLine<'_>) -> Option<OwnId> {
        let Some((_, raw)) = written.fields.iter().find(|(name, _)| name == "id") else {
            let hint = Some("give each case a short, lasting name".to_owned());
            self.fault("id", None, "the case has no id".to_owned(), hint);
            return None;
        };
        match read_id(raw) {
            Ok(id) => Some(OwnId {
                id: CaseId::from(id),
                column: self.column(raw, 0),
                faults_before: self.faults.len(),
            }),
            Err(message) => {
                self.fault("id", Some((raw, 0)), message, None);
                None
            }
        }
    }

    fn read_case(&mut self, written: &WrittenLine<'_>, defaults: &CaseDefaults) -> Option<Case> {
        let mut case = Case {
            id: CaseId::from(""),
            split: None,
            added: None,
            owner: None,
            source: None,
            segment: Default::default(),
            cluster: None,
            weight: 1.0,
            input: Input::Text(String::new()),
            context: Value::Null,
            expected: Value::Null,
            graders: vec![],
            repeats: None,
            pass_if: defaults.pass_if,
            examples: Default::default(),
            meta: Value::Null,
            fingerprint: Fingerprint::from([0; 32]),
        };
        let mut input = None;
        let mut graders = None;
        for (name, raw) in &written.fields {
            if name == "id" || !FIELDS.contains(&name.as_str()) {
                continue;
            }
            let Some(value) = self.read_value(name, raw) else { continue };
            let mut problems = Problems(vec![]);
            let told = &mut problems;
            match name.as_str() {
                "split" => case.split = read_split(&value, told),
                "added" => case.added = read_text(name, value, told),
                "owner" => case.owner = read_text(name, value, told),
                "source" => case.source = read_source(value, told),
                "segment" => case.segment = read_segment(value, told).into(),
                "cluster" => case.cluster = read_text(name, value, told),
                "weight" => case.weight = read_weight(&value, told),
                "input" => input = read_input(value, told),
                "context" => case.context = value,
                "expected" => case.expected = value,
                "graders" => graders = read_graders(value, defaults, told),
                "repeats" => case.repeats = read_repeats(&value, told),
                "pass_if" => case.pass_if = read_pass_if(&value, told).unwrap_or(case.pass_if),
                "examples" => case.examples = read_examples(value, told),
                "meta" => case.meta = value,
                _ => unreachable!("`FIELDS` lists every field"),
            }
            for Problem { path, message, hint } in mem::take(&mut problems.0) {
                self.fault(&path, Some((raw, 0)), message, hint);
            }
        }
        if !written.fields.iter().any(|(name, _)| name == "input") {
            self.fault("input", None, "the case has no input".to_owned(), None);
        }
        if let (PassIf::AtLeast(least), Some(repeats)) = (case.pass_if, case.repeats)
            && least > repeats
        {
            let message = format!("at least {least} of {repeats} repeats can never pass");
            self.fault("pass_if", None, message, Some("raise `repeats` or lower `at_least`".to_owned()));
        }
        case.graders = graders.unwrap_or_else(|| defaults.graders.clone());
        case.input = input?;
        Some(case)
    }

    fn read_value(&mut self, name: &str, raw: &RawValue) -> Option<Value> {
        match serde_json::from_str::<Strict>(raw.get()) {
            Ok(Strict(value)) => Some(value),
            Err(error) => {
                let (message, column) = without_position(&error);
                self.fault(name, Some((raw, column.saturating_sub(1))), message, None);
                None
            }
        }
    }
}

/// What was probably meant by a field that does not exist; `has` tells which fields the line has.
fn hint_for(name: &str, has: impl Fn(&str) -> bool) -> String {
    let elsewhere = NAMES_ELSEWHERE.iter().find(|(other, _)| *other == name.to_lowercase());
    match nearest(name, FIELDS).or(elsewhere.map(|(_, ours)| *ours)) {
        Some(meant) if !has(meant) => format!("did you mean `{meant}`?"),
        _ => "put what is your own under `meta`".to_owned(),
    }
}

/// The fault of a line that is not JSON, or not an object.
fn syntax_fault(path: &Path, number: usize, text: &str, error: &serde_json::Error) -> Fault {
    let (message, column) = without_position(error);
    let at = text.get(column.saturating_sub(1)..).unwrap_or_default();
    let hint = if ["NaN", "Infinity", "-Infinity"].iter().any(|word| at.starts_with(word)) {
        Some("JSON has no NaN and no Infinity")
    } else if error.is_eof() {
        Some("one case a line: is the object cut off, or spread over several lines?")
    } else if !text.trim_start().starts_with('{') {
        Some("each line of a golden set is one JSON object")
    } else {
        None
    };
    let column = Some(column_at(text, column.saturating_sub(1)));
    let message =
        if error.is_data() { "expected one JSON object".to_owned() } else { format!("not JSON: {message}") };
    Fault { column, hint: hint.map(str::to_owned), ..Fault::on_line(path, number, message) }
}

/// serde's message without its own position, and the column in bytes from 1.
fn without_position(error: &serde_json::Error) -> (String, usize) {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    (text[..end].to_owned(), error.column())
}

/// The column in characters, from 1, of the byte at `offset`.
fn column_at(text: &str, offset: usize) -> usize {
    text.char_indices().take_while(|(index, _)| *index < offset).count() + 1
}
