//! Reading a file of recorded outputs: JSONL, one output a line, every fault told at once.

use std::{
    collections::{BTreeSet, hash_map::Entry},
    fs,
    path::Path,
};

use serde_json::{Map, Value};

use super::{RecordedOutput, ReplayOutputs};
use crate::domain::{CaseId, Fault, Faults, Outcome, Repeat, Retrieved, Usage, nearest};

const FIELDS: [&str; 8] = ["id", "output", "repeat", "outcome", "usage", "latency_ms", "model", "retrieved"];

/// What a line of `caseload export` tells beside: known, and of no use here.
const EXPORTED_FIELDS: [&str; 17] = [
    "target",
    "verdict",
    "scores",
    "failure",
    "meta",
    "stop_reason",
    "usage_flag",
    "cost_usd",
    "first_token_ms",
    "queue_wait_ms",
    "backoff_wait_ms",
    "attempts",
    "request_id",
    "system_fingerprint",
    "source",
    "started_at",
    "finished_at",
];

const USAGE_FIELDS: [&str; 8] = [
    "input_uncached",
    "input",
    "cache_read",
    "cache_write_5m",
    "cache_write_30m",
    "cache_write_1h",
    "output",
    "reasoning",
];

const OUTCOMES: [&str; 4] = ["answered", "truncated", "refused", "filtered"];

impl ReplayOutputs {
    /// Reads the file at `path`: a line `{"id": …, "output": …}` for each output, with `repeat`
    /// (from 1), `usage`, `latency_ms`, `outcome`, `model` and `retrieved` where
    /// they are known.
    ///
    /// # Errors
    /// All faults of the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Faults> {
        let path = path.as_ref();
        let bytes =
            fs::read(path).map_err(|error| Fault::of_file(path, format!("cannot be read: {error}")))?;
        Self::read(path, &bytes)
    }

    /// Reads `bytes`; `file` is what faults name.
    ///
    /// # Errors
    /// All faults of the file.
    pub fn read(file: impl AsRef<Path>, bytes: &[u8]) -> Result<Self, Faults> {
        let file = file.as_ref();
        let text = text(file, bytes)?;
        let mut outputs = Self { file: file.to_owned(), ..Self::default() };
        let mut faults = vec![];
        let mut targets = BTreeSet::new();
        // Only LF ends a line: a record may hold U+2028 and its like. JSON skips the CR before it.
        for (index, line) in text.split('\n').enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let mut line = Line { file, number: index + 1, case: None, faults: &mut faults, text: line };
            let Some(fields) = line.object() else { continue };
            targets.extend(fields.get("target").and_then(Value::as_str).map(ToOwned::to_owned));
            if is_exported_without_answer(&fields) {
                continue;
            }
            let Some((id, repeat, recorded)) = line.read(&fields) else { continue };
            match outputs.rows.entry(id.clone()).or_default().entry(repeat) {
                Entry::Vacant(place) => {
                    place.insert(recorded);
                }
                Entry::Occupied(first) => faults.push(
                    Fault::on_line(
                        file,
                        index + 1,
                        format!(
                            "a second output for repeat {repeat}; the first is on line {}",
                            first.get().line
                        ),
                    )
                    .at(format!("case `{id}`"))
                    .with_hint("number the outputs of one case with `repeat`: 1, 2, …"),
                ),
            }
        }
        if targets.len() > 1 {
            let names: Vec<&str> = targets.iter().map(String::as_str).collect();
            let fault =
                Fault::of_file(file, format!("holds outputs of several targets: {}", names.join(", ")))
                    .with_hint(format!("export one of them: `caseload export RUN --target {}`", names[0]));
            return Err(fault.into());
        }
        if outputs.is_empty() && faults.is_empty() {
            faults.push(Fault::of_file(file, "holds no output"));
        }
        Faults(faults).none_or(outputs)
    }
}

/// Whether a line of an export tells of a trial that ended without an answer: there is nothing to replay.
fn is_exported_without_answer(fields: &Map<String, Value>) -> bool {
    let outcome = fields.get("outcome").and_then(Value::as_str).and_then(Outcome::from_name);
    fields.contains_key("attempts") && matches!(outcome, Some(Outcome::Failed | Outcome::Cancelled))
}

/// The file's text without its byte-order mark.
fn text<'a>(file: &Path, bytes: &'a [u8]) -> Result<&'a str, Fault> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Fault::of_file(file, "is UTF-16; expected UTF-8").with_hint("save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let column = 1 + String::from_utf8_lossy(&before[start..]).chars().count();
        Fault {
            column: Some(column),
            ..Fault::on_line(file, line, "a byte that is not UTF-8").with_hint("save the file as UTF-8")
        }
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// One line being read; its faults go to the file's.
struct Line<'a> {
    file: &'a Path,
    number: usize,
    case: Option<CaseId>,
    faults: &'a mut Vec<Fault>,
    text: &'a str,
}

impl Line<'_> {
    /// `None` when the line has a fault.
    fn read(&mut self, fields: &Map<String, Value>) -> Option<(CaseId, Repeat, RecordedOutput)> {
        let faults_before = self.faults.len();
        self.case = self.id(fields);
        self.unknown(fields, &FIELDS, "");
        let output = self.output(fields);
        let repeat = self.repeat(fields);
        let outcome = self.outcome(fields);
        let usage = self.usage(fields);
        let latency_ms = self.latency_ms(fields);
        let model = self.text_field(fields, "model").map(Into::into);
        let retrieved = self.retrieved(fields);
        if self.faults.len() > faults_before {
            return None;
        }
        let recorded = RecordedOutput {
            line: self.number,
            output: output?,
            outcome,
            usage,
            latency_ms,
            model,
            retrieved,
        };
        Some((self.case.take()?, repeat, recorded))
    }

    fn object(&mut self) -> Option<Map<String, Value>> {
        match serde_json::from_str(self.text) {
            Ok(Value::Object(fields)) => Some(fields),
            Ok(other) => {
                self.fault("", format!("{}; expected an object", found(&other)));
                None
            }
            Err(error) => {
                // serde_json counts bytes, an editor characters.
                let byte = error.column().saturating_sub(1).min(self.text.len());
                let column = 1 + self.text.char_indices().take_while(|(at, _)| *at < byte).count();
                let sentence = error.to_string();
                let what = sentence.split(" at line ").next().unwrap_or_default();
                let fault = Fault::on_line(self.file, self.number, format!("not valid JSON: {what}"));
                self.faults.push(Fault { column: Some(column), ..fault });
                None
            }
        }
    }

    /// A whole number is taken as its text, as golden sets do.
    fn id(&mut self, fields: &Map<String, Value>) -> Option<CaseId> {
        match fields.get("id") {
            Some(Value::String(id)) if !id.is_empty() => Some(id.as_str().into()),
            Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Some(id.to_string().into()),
            Some(other) => {
                self.fault("id", format!("{}; expected the id of a case", found(other)));
                None
            }
            None => {
                self.fault("id", "missing");
                None
            }
        }
    }

    fn output(&mut self, fields: &Map<String, Value>) -> Option<String> {
        match fields.get("output") {
            Some(Value::String(output)) => Some(output.clone()),
            Some(other) => {
                self.fault("output", format!("{}; expected a text", found(other)));
                None
            }
            None => {
                self.fault("output", "missing");
                None
            }
        }
    }

    fn repeat(&mut self, fields: &Map<String, Value>) -> Repeat {
        let Some(repeat) = present(fields, "repeat") else { return Repeat::FIRST };
        match repeat.as_u64().and_then(|repeat| u32::try_from(repeat).ok()) {
            Some(repeat) if repeat > 0 => Repeat(repeat),
            _ => {
                self.fault("repeat", format!("{}; expected a whole number from 1", found(repeat)));
                Repeat::FIRST
            }
        }
    }

    fn outcome(&mut self, fields: &Map<String, Value>) -> Outcome {
        let Some(name) = self.text_field(fields, "outcome") else { return Outcome::Answered };
        if OUTCOMES.contains(&name.as_str())
            && let Some(outcome) = Outcome::from_name(&name)
        {
            return outcome;
        }
        let message = format!("`{name}` is not how an output ends; expected one of {}", OUTCOMES.join(", "));
        self.fault_with_hint("outcome", message, nearest(&name, OUTCOMES));
        Outcome::Answered
    }

    fn latency_ms(&mut self, fields: &Map<String, Value>) -> Option<f64> {
        let latency = present(fields, "latency_ms")?;
        let number = latency.as_f64().filter(|number| number.is_finite() && *number >= 0.0);
        if number.is_none() {
            self.fault("latency_ms", format!("{}; expected milliseconds, not negative", found(latency)));
        }
        number
    }

    fn retrieved(&mut self, fields: &Map<String, Value>) -> Option<Vec<Retrieved>> {
        match Retrieved::list_from(present(fields, "retrieved")?) {
            Ok(retrieved) => Some(retrieved),
            Err(why) => {
                self.fault("retrieved", why.trim_start_matches(": "));
                None
            }
        }
    }

    fn usage(&mut self, fields: &Map<String, Value>) -> Option<Usage> {
        let usage = match present(fields, "usage")? {
            Value::Object(usage) => usage,
            other => {
                self.fault("usage", format!("{}; expected an object", found(other)));
                return None;
            }
        };
        self.unknown(usage, &USAGE_FIELDS, "usage.");
        let [uncached, input, cache_read, write_5m, write_30m, write_1h, output, reasoning] =
            USAGE_FIELDS.map(|field| self.count(usage, field));
        if uncached.is_some() && input.is_some() {
            self.fault("usage.input", "stands for `input_uncached`, which is given too");
        }
        let input_uncached = uncached.or(input);
        if input_uncached.is_none() {
            self.fault("usage.input_uncached", "missing");
        }
        if output.is_none() {
            self.fault("usage.output", "missing");
        }
        if let (Some(reasoning), Some(output)) = (reasoning, output)
            && reasoning > output
        {
            self.fault("usage.reasoning", "is a part of `output` and cannot be more");
        }
        Some(Usage {
            input_uncached: input_uncached?,
            cache_read: cache_read.unwrap_or(0),
            cache_write_5m: write_5m.unwrap_or(0),
            cache_write_30m: write_30m.unwrap_or(0),
            cache_write_1h: write_1h.unwrap_or(0),
            output: output?,
            reasoning,
        })
    }

    fn count(&mut self, usage: &Map<String, Value>, field: &str) -> Option<u64> {
        let value = present(usage, field)?;
        let count = value.as_u64().filter(|count| *count <= Usage::MAX_COUNT);
        if count.is_none() {
            let place = format!("usage.{field}");
            self.fault(&place, format!("{}; expected a number of tokens", found(value)));
        }
        count
    }

    fn text_field(&mut self, fields: &Map<String, Value>, field: &str) -> Option<String> {
        match present(fields, field)? {
            Value::String(text) => Some(text.clone()),
            other => {
                self.fault(field, format!("{}; expected a text", found(other)));
                None
            }
        }
    }

    fn unknown(&mut self, fields: &Map<String, Value>, known: &[&str], prefix: &str) {
        let exported = |field: &str| prefix.is_empty() && EXPORTED_FIELDS.contains(&field);
        let is_known = |field: &str| known.contains(&field) || exported(field);
        for field in fields.keys().filter(|field| !is_known(field)) {
            let near = nearest(field, known.iter().copied());
            self.fault_with_hint(&format!("{prefix}{field}"), "unknown field", near);
        }
    }

    fn fault_with_hint(&mut self, field: &str, message: impl Into<String>, near: Option<&str>) {
        self.fault(field, message);
        if let (Some(near), Some(fault)) = (near, self.faults.last_mut()) {
            fault.hint = Some(format!("did you mean `{near}`?"));
        }
    }

    fn fault(&mut self, field: &str, message: impl Into<String>) {
        let mut place: Vec<String> = self.case.iter().map(|case| format!("case `{case}`")).collect();
        if !field.is_empty() {
            place.push(format!("`{field}`"));
        }
        let fault = Fault::on_line(self.file, self.number, message);
        self.faults.push(if place.is_empty() { fault } else { fault.at(place.join(", ")) });
    }
}

/// A field that is there and not null.
fn present<'a>(fields: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    fields.get(field).filter(|value| !value.is_null())
}

/// What was found, in words short enough for a message.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "found null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("found {value}"),
        Value::String(text) if text.chars().count() <= 40 => format!("found {text:?}"),
        Value::String(_) => "found a text".to_owned(),
        Value::Array(_) => "found a list".to_owned(),
        Value::Object(_) => "found an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn faults(bytes: &[u8]) -> String {
        ReplayOutputs::read("o.jsonl", bytes).unwrap_err().to_string()
    }

    #[test]
    fn mark_crlf_blank_lines_and_a_missing_last_newline_are_accepted() {
        let bytes = b"\xef\xbb\xbf{\"id\":\"a\",\"output\":\"x\"}\r\n\r\n  \n{\"id\":7,\"output\":\"y\"}";
        let outputs = ReplayOutputs::read("o.jsonl", bytes).unwrap();
        assert_eq!(outputs.get(&"a".into(), Repeat::FIRST).unwrap().output, "x");
        assert_eq!(outputs.get(&"7".into(), Repeat::FIRST).unwrap().line, 4);
    }

    #[test]
    fn only_lf_ends_a_line() {
        let text = "{\"id\":\"a\",\"output\":\"one\u{2028}two\u{85}three\"}\n";
        let outputs = ReplayOutputs::read("o.jsonl", text.as_bytes()).unwrap();
        assert_eq!(outputs.get(&"a".into(), Repeat::FIRST).unwrap().output, "one\u{2028}two\u{85}three");
    }

    #[test]
    fn a_double_names_both_lines() {
        let text = "{\"id\":\"a\",\"output\":\"x\"}\n\n{\"id\":\"a\",\"output\":\"y\",\"repeat\":1}\n";
        assert_eq!(
            faults(text.as_bytes()).lines().next().unwrap(),
            "o.jsonl:3: case `a`: a second output for repeat 1; the first is on line 1"
        );
    }

    #[test]
    fn bad_json_is_named_with_line_and_column() {
        let text = "{\"id\":\"a\",\"output\":\"x\"}\n{\"id\":\"é\",\"output\" \"x\"}";
        assert_eq!(faults(text.as_bytes()), "o.jsonl:2:20: not valid JSON: expected `:`");
    }

    #[test]
    fn all_faults_are_told_in_one_go() {
        let text = r#"{"id":"a","ouput":"x"}
[1]
{"id":"","output":3,"repeat":0}
{"id":"b","output":"x","outcome":"refusd","latency_ms":-1}
{"id":"c","output":"x","usage":{"input":1,"input_uncached":1,"output":2,"reasoning":3,"cache_raed":1}}
{"id":"d","output":"x","usage":{"output":-2}}
{"id":1.5,"output":"x","model":7}
"#;
        assert_eq!(
            faults(text.as_bytes()),
            "o.jsonl:1: case `a`, `ouput`: unknown field\n  hint: did you mean `output`?\n\
             o.jsonl:1: case `a`, `output`: missing\n\
             o.jsonl:2: found a list; expected an object\n\
             o.jsonl:3: `id`: found \"\"; expected the id of a case\n\
             o.jsonl:3: `output`: found 3; expected a text\n\
             o.jsonl:3: `repeat`: found 0; expected a whole number from 1\n\
             o.jsonl:4: case `b`, `outcome`: `refusd` is not how an output ends; expected one of answered, \
             truncated, refused, filtered\n  hint: did you mean `refused`?\n\
             o.jsonl:4: case `b`, `latency_ms`: found -1; expected milliseconds, not negative\n\
             o.jsonl:5: case `c`, `usage.cache_raed`: unknown field\n  hint: did you mean `cache_read`?\n\
             o.jsonl:5: case `c`, `usage.input`: stands for `input_uncached`, which is given too\n\
             o.jsonl:5: case `c`, `usage.reasoning`: is a part of `output` and cannot be more\n\
             o.jsonl:6: case `d`, `usage.output`: found -2; expected a number of tokens\n\
             o.jsonl:6: case `d`, `usage.input_uncached`: missing\n\
             o.jsonl:6: case `d`, `usage.output`: missing\n\
             o.jsonl:7: `id`: found 1.5; expected the id of a case\n\
             o.jsonl:7: `model`: found 7; expected a text"
        );
    }

    #[test]
    fn encodings_are_named() {
        assert!(faults(b"\xff\xfe{\0").contains("UTF-16"));
        assert_eq!(
            faults(b"{\"id\":\"a\",\"output\":\"x\"}\nab\xff").lines().next().unwrap(),
            "o.jsonl:2:3: a byte that is not UTF-8"
        );
        assert_eq!(faults(b"\n \n"), "o.jsonl: holds no output");
    }

    #[test]
    fn a_file_that_is_not_there_is_a_fault() {
        let fault = ReplayOutputs::load("no/such/file.jsonl").unwrap_err().to_string();
        assert!(fault.starts_with("no/such/file.jsonl: cannot be read: "), "{fault}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = ReplayOutputs::read("o.jsonl", &bytes);
        }

        #[test]
        fn no_line_panics(line in "\\{\"id\":\"a\",\"output\":\"[a-zé\"]{0,9}[,:{}\\[\\]0-9\"é-]{0,20}") {
            let _ = ReplayOutputs::read("o.jsonl", line.as_bytes());
        }
    }
}
