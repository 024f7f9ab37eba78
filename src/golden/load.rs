//! From a JSONL file to a golden set, or to all its faults.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
    sync::Arc,
};

use rayon::prelude::*;

use super::{
    CaseDefaults, GoldenSet,
    case_line::{ReadLine, read_case_line},
    fingerprint::{case_fingerprint, set_fingerprint},
    lines::{Lines, NotText},
};
use crate::domain::{Case, CaseId, Fault, Faults, SharedSegments};

/// Reads the golden set at `path`, line by line.
///
/// # Errors
/// All faults of the file: an unreadable file or wrong encoding, lines that are not cases, fields that
/// are unknown or wrong, ids that could be taken for one another, no case at all.
pub fn load(path: &Path, defaults: &CaseDefaults) -> Result<GoldenSet, Faults> {
    let (set, faults) = load_sound(path, defaults);
    faults.none_or(set)
}

/// Reads the sound lines of the golden set at `path`, and the faults of the others: for whoever has
/// more to say about the sound ones and wants to tell everything at once.
pub fn load_sound(path: &Path, defaults: &CaseDefaults) -> (GoldenSet, Faults) {
    match File::open(path) {
        Ok(file) => read_sound(BufReader::with_capacity(1 << 16, file), path, defaults),
        Err(error) => {
            let mut set = Building::new(path, defaults);
            set.faults.push(Fault::of_file(path, format!("cannot be opened: {error}")));
            set.finish()
        }
    }
}

/// Reads a golden set from `reader`; `path` is the name that its faults give.
///
/// # Errors
/// As [`load`].
pub fn read(reader: impl BufRead, path: &Path, defaults: &CaseDefaults) -> Result<GoldenSet, Faults> {
    let (set, faults) = read_sound(reader, path, defaults);
    faults.none_or(set)
}

fn read_sound(reader: impl BufRead, path: &Path, defaults: &CaseDefaults) -> (GoldenSet, Faults) {
    let mut lines = Lines::new(reader);
    let mut set = Building::new(path, defaults);
    loop {
        let line = match lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                set.fault(Fault::of_file(path, format!("cannot be read: {error}")));
                break;
            }
        };
        match line.text {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => {
                if set.is_first() && is_start_of_a_document(text) {
                    set.fault(
                        Fault::on_line(path, line.number, "this is one JSON document over several lines")
                            .with_hint("JSONL has one case a line: one object, without line breaks, on each"),
                    );
                    break;
                }
                set.take_line(line.number, text);
            }
            Err(NotText::Utf16) => {
                set.fault(Fault::of_file(path, "the file is in UTF-16").with_hint("UTF-16; save as UTF-8"));
                break;
            }
            Err(NotText::InvalidByte { byte, column }) => {
                let message = format!("invalid UTF-8: byte {byte:02X}");
                let fault = Fault { column: Some(column), ..Fault::on_line(path, line.number, message) };
                set.fault(fault.with_hint("save the file as UTF-8"));
            }
        }
    }
    set.finish()
}

/// A first line that opens a list or an object and closes nothing.
fn is_start_of_a_document(text: &str) -> bool {
    matches!(text.trim(), "[" | "{" | "[{")
}

/// So many lines are read at once, on all cores, ...
const AT_ONCE: usize = 512;

/// ... or fewer that have so many bytes.
const BYTES_AT_ONCE: usize = 4 << 20;

/// The lines of a set that are read on all cores. The memory of a larger one would stay with threads that
/// have nothing more to do, and be missed when the run is over and its scorecard read.
const ON_ALL_CORES: usize = 8_192;

/// A golden set while its file is read.
struct Building<'a> {
    path: &'a Path,
    defaults: &'a CaseDefaults,
    cases: Vec<Arc<Case>>,
    lines: Vec<usize>,
    /// Every id in comparable form: the line it was first used on, and how it was written there.
    ids: HashMap<String, (usize, CaseId)>,
    segments: SharedSegments,
    faults: Vec<Fault>,
    /// Lines that are not yet read, by their numbers.
    waiting: Vec<(usize, String)>,
    waiting_bytes: usize,
}

impl<'a> Building<'a> {
    fn new(path: &'a Path, defaults: &'a CaseDefaults) -> Self {
        Self {
            path,
            defaults,
            cases: vec![],
            lines: vec![],
            ids: HashMap::new(),
            segments: SharedSegments::default(),
            faults: vec![],
            waiting: vec![],
            waiting_bytes: 0,
        }
    }

    /// Whether nothing but blank lines has been seen.
    fn is_first(&self) -> bool {
        self.cases.is_empty() && self.faults.is_empty() && self.waiting.is_empty()
    }

    /// A fault behind those of the lines before it.
    fn fault(&mut self, fault: Fault) {
        self.read_waiting();
        self.faults.push(fault);
    }

    fn finish(mut self) -> (GoldenSet, Faults) {
        self.read_waiting();
        if self.is_first() {
            self.faults.push(Fault::of_file(self.path, "the golden set is empty: it has no case"));
        }
        self.cases.shrink_to_fit();
        self.lines.shrink_to_fit();
        self.cases.par_iter_mut().for_each(|case| {
            let case = Arc::get_mut(case).expect("a case that was just read has no other owner");
            case.fingerprint = case_fingerprint(case);
        });
        let fingerprint = set_fingerprint(self.cases.iter().map(AsRef::as_ref));
        let set = GoldenSet { path: self.path.to_owned(), cases: self.cases, fingerprint, lines: self.lines };
        (set, Faults(self.faults))
    }

    fn take_line(&mut self, number: usize, text: &str) {
        self.waiting.push((number, text.to_owned()));
        self.waiting_bytes += text.len();
        if self.waiting.len() == AT_ONCE || self.waiting_bytes >= BYTES_AT_ONCE {
            self.read_waiting();
        }
    }

    /// Reads the lines that wait, each for itself; what two of them share is seen to in
    /// their order.
    fn read_waiting(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let read = |(number, text): &(usize, String)| read_case_line(self.path, *number, text, self.defaults);
        let lines: Vec<ReadLine> = if self.cases.len() < ON_ALL_CORES {
            waiting.par_iter().map(read).collect()
        } else {
            waiting.iter().map(read).collect()
        };
        for ((number, _), line) in waiting.iter().zip(lines) {
            self.add(*number, line);
        }
    }

    fn add(&mut self, number: usize, line: ReadLine) {
        let ReadLine { id, case, mut faults } = line;
        let id = id.and_then(|own| match own.claim(self.path, number, &mut self.ids) {
            Ok(id) => Some(id),
            Err((at, fault)) => {
                faults.insert(at, fault);
                None
            }
        });
        if let (Some(id), Some(mut case), true) = (id, case, faults.is_empty()) {
            case.id = id;
            case.segment = self.segments.share(case.segment);
            self.cases.push(Arc::new(case));
            self.lines.push(number);
        }
        self.faults.extend(faults);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{GraderSpec, PassIf, Split};

    fn read_bytes(bytes: &[u8]) -> Result<GoldenSet, Faults> {
        read(bytes, Path::new("set.jsonl"), &CaseDefaults::default())
    }

    fn set(text: &str) -> GoldenSet {
        read_bytes(text.as_bytes()).unwrap()
    }

    /// Every fault, as it is printed.
    fn told(text: &str) -> Vec<String> {
        let Err(Faults(faults)) = read_bytes(text.as_bytes()) else { return vec![] };
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_id_and_input_are_required() {
        let set = set(r#"{"id": 1, "input": "x"}"#);
        let case = &set.cases[0];
        assert_eq!((case.id.as_str(), case.weight, case.repeats), ("1", 1.0, None));
        assert_eq!((&case.context, &case.expected, &case.meta), (&Value::Null, &Value::Null, &Value::Null));
    }

    #[test]
    fn every_field_is_read() {
        let line = json!({
            "id": "a", "split": "held-out", "added": "2026-01-02", "owner": "me",
            "source": {"trace_id": "t", "captured_at": "c", "why_kept": "w"},
            "segment": {"intent": "billing"}, "cluster": "c1", "weight": 2,
            "input": {"message": "b", "history": [{"role": "user", "content": "a"}]},
            "context": {"k": 1}, "expected": {"answer": "x"}, "graders": ["exact"], "repeats": 3,
            "pass_if": {"at_least": 2}, "examples": {"pass": ["x"], "fail": ["y"]}, "meta": {"any": "thing"},
        });
        let set = set(&line.to_string());
        let case = &set.cases[0];
        assert_eq!(case.split, Some(Split::HeldOut));
        assert_eq!(case.source.as_ref().unwrap().why_kept.as_deref(), Some("w"));
        assert_eq!((case.cluster.as_deref(), case.weight, case.repeats), (Some("c1"), 2.0, Some(3)));
        assert_eq!((case.pass_if, case.graders[0].kind.as_str()), (PassIf::AtLeast(2), "exact"));
        assert_eq!(
            (&case.examples.pass[..], &case.examples.fail[..]),
            (&["x".into()][..], &["y".into()][..])
        );
        assert_eq!(case.meta, json!({"any": "thing"}));
    }

    #[test]
    fn defaults_of_the_experiment_stand_in() {
        let exact = GraderSpec {
            name: "e".into(),
            kind: "exact".into(),
            hard: false,
            parameters: Default::default(),
        };
        let defaults =
            CaseDefaults { graders: vec![exact.clone()], pass_if: PassIf::Every, ..CaseDefaults::default() };
        let text = br#"{"id":"a","input":"x"}"#;
        let set = read(text.as_slice(), Path::new("s"), &defaults).unwrap();
        assert_eq!((&set.cases[0].graders, set.cases[0].pass_if), (&vec![exact], PassIf::Every));
    }

    #[test]
    fn a_byte_order_mark_and_carriage_returns_change_nothing() {
        let plain = "{\"id\":\"a\",\"input\":\"x\"}\n{\"id\":\"b\",\"input\":\"y\"}\n";
        let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n\r\n"));
        let (one, other) = (set(plain), set(windows.trim_end()));
        assert_eq!(one.fingerprint, other.fingerprint);
        assert_eq!(other.cases[0].id.as_str(), "a");
        assert_eq!(other.lines, [1, 3]);
    }

    #[test]
    fn unicode_line_separators_inside_a_string_are_text() {
        for separator in ['\u{2028}', '\u{2029}', '\u{85}', '\u{feff}'] {
            let set = set(&format!("{{\"id\":\"a\",\"input\":\"first{separator}second\"}}"));
            assert_eq!(set.cases[0].input.last_user_message(), format!("first{separator}second"));
        }
    }

    #[test]
    fn ids_that_are_equal_once_they_are_text_are_refused_with_both_lines() {
        let two = |one: &str, other: &str| {
            told(&format!("{{\"id\":{one},\"input\":\"a\"}}\n\n{{\"id\":{other},\"input\":\"b\"}}"))
        };
        assert_eq!(
            two("1", "\"1\""),
            [
                "set.jsonl:3:7: case `1`, `id`: the id is already used on line 1\n  hint: rename one of the two"
            ]
        );
        assert!(
            two("\"1\"", "\" 1\"")[0].contains("differs only in spaces or Unicode form from `1` on line 1")
        );
        assert!(two("\"e\u{301}\"", "\"é\"")[0].contains("on line 1"));
        assert_eq!(two("\"a\"", "\"A\""), Vec::<String>::new());
        for bad in ["1.0", "1e0", "true", "null", "\"\"", "\"a/b\"", "\"a\\nb\"", "\"a\\u0000\""] {
            assert_eq!(two(bad, "2").len(), 1, "{bad}");
        }
    }

    #[test]
    fn all_faults_of_a_file_are_told_at_once() {
        let faults = told(concat!(
            "{\"id\":\"é\",\"input\":\"x\",\"expcted\":1,\"split\":\"held_out\"}\n",
            "\n",
            "{\"id\":\"b\",\"inptu\":\"x\",\"weight\":-1}\n",
            "{\"id\":\"c\",\"input\":\"x\" \"weight\":1}\n",
            "{\"input\":\"\"}\n",
            "{\"id\":\"d\",\"input\":\"x\",\"meta\":{\"a\":1,\"a\":2},\"repeats\":2,\"pass_if\":{\"at_least\":3}}\n",
            "{\"id\":\"e\",\"input\":\"x\",\"input\":\"y\"}\n",
            "[1]\n",
        ));
        assert_eq!(
            faults,
            [
                "set.jsonl:1:33: case `é`, `expcted`: unknown field\n  hint: did you mean `expected`?",
                "set.jsonl:1:43: case `é`, `split`: unknown split `held_out`, expected `tuning`, `held-out` or `live`\n  hint: did you mean `held-out`?",
                "set.jsonl:3:19: case `b`, `inptu`: unknown field\n  hint: did you mean `input`?",
                "set.jsonl:3:32: case `b`, `weight`: expected a number of at least 0, found -1",
                "set.jsonl:3: case `b`, `input`: the case has no input",
                "set.jsonl:4:23: not JSON: expected `,` or `}`",
                "set.jsonl:5: `id`: the case has no id\n  hint: give each case a short, lasting name",
                "set.jsonl:5:10: `input`: the user message is empty",
                "set.jsonl:6:42: case `d`, `meta`: the key `a` stands twice",
                "set.jsonl:6: case `d`, `pass_if`: at least 3 of 2 repeats can never pass\n  hint: raise `repeats` or lower `at_least`",
                "set.jsonl:7:31: case `e`, `input`: the field stands twice",
                "set.jsonl:8:1: expected one JSON object\n  hint: each line of a golden set is one JSON object",
            ]
        );
    }

    #[test]
    fn a_parse_error_names_its_own_line_and_column() {
        let mut text = "\u{feff}{\"id\":0,\"input\":\"x\"}\n\n".to_owned();
        for id in 2..142 {
            text.push_str(&format!("{{\"id\":{id},\"input\":\"x\"}}\n"));
        }
        text.push_str("{\"id\":142,\"input\":}\n");
        assert_eq!(told(&text), ["set.jsonl:143:19: not JSON: expected value"]);
    }

    #[test]
    fn a_file_that_is_no_golden_set_is_refused_in_one_sentence() {
        assert_eq!(told("\n \n"), ["set.jsonl: the golden set is empty: it has no case"]);
        assert!(told("[\n{\"id\":1},\n{\"id\":2}\n]")[0].contains("one JSON document over several lines"));
        let told = |bytes: &[u8]| read_bytes(bytes).unwrap_err().to_string();
        assert_eq!(told(b"\xFF\xFE{\0"), "set.jsonl: the file is in UTF-16\n  hint: UTF-16; save as UTF-8");
        assert_eq!(
            told(b"{\"id\":1,\"input\":\"x\"}\n{\"id\":\"\xE9\"}\n"),
            "set.jsonl:2:8: invalid UTF-8: byte E9\n  hint: save the file as UTF-8"
        );
        let missing = load(Path::new("no/such.jsonl"), &CaseDefaults::default()).unwrap_err();
        assert!(missing.to_string().starts_with("no/such.jsonl: cannot be opened"));
    }

    #[test]
    fn nan_is_named() {
        let faults = told("{\"id\":\"a\",\"input\":\"x\",\"weight\":NaN}");
        assert!(faults[0].ends_with("hint: JSON has no NaN and no Infinity"), "{faults:?}");
    }

    #[test]
    fn the_order_of_lines_does_not_change_the_fingerprint_of_the_set() {
        let (a, b) = ("{\"id\":\"a\",\"input\":\"x\"}", "{\"id\":\"b\",\"input\":\"y\"}");
        assert_eq!(set(&format!("{a}\n{b}")).fingerprint, set(&format!("{b}\n{a}")).fingerprint);
        assert_ne!(set(a).fingerprint, set(b).fingerprint);
    }

    #[test]
    fn only_what_can_change_a_result_changes_a_fingerprint() {
        let base = json!({"id": "a", "input": "x", "context": 1, "expected": 2, "graders": ["exact"]});
        let print = |field: &str, value: Value| {
            let mut line = base.clone();
            line[field] = value;
            set(&line.to_string()).cases[0].fingerprint
        };
        let same = print("id", json!("a"));
        for (field, value) in [
            ("id", json!("b")),
            ("split", json!("live")),
            ("owner", json!("o")),
            ("segment", json!({"k": "v"})),
            ("source", json!({"trace_id": "t"})),
            ("repeats", json!(3)),
            ("examples", json!({"pass": ["2"]})),
            ("meta", json!({"n": 1})),
            ("expected", json!(2.0)),
            ("weight", json!(1.0)),
        ] {
            assert_eq!(print(field, value), same, "{field}");
        }
        for (field, value) in [
            ("input", json!("y")),
            ("context", json!(2)),
            ("expected", json!("2")),
            ("graders", json!(["words"])),
            ("graders", json!([{"kind": "exact", "hard": true}])),
            ("graders", json!([{"kind": "exact", "case": "keep"}])),
            ("pass_if", json!("every")),
            ("cluster", json!("c")),
            ("weight", json!(2)),
        ] {
            assert_ne!(print(field, value), same, "{field}");
        }
    }

    proptest! {
        /// Editing one prompt changes that case's fingerprint and no other's.
        #[test]
        fn changing_one_prompt_changes_that_case_only(count in 1_usize..20, at in any::<prop::sample::Index>(), prompt in "[a-z]{1,9}") {
            let changed = at.index(count);
            let file = |prompt: &dyn Fn(usize) -> String| {
                (0..count).map(|id| format!("{}\n", json!({"id": id, "input": prompt(id)}))).collect::<String>()
            };
            let before = set(&file(&|id| format!("prompt {id}")));
            let after = set(&file(&|id| if id == changed { prompt.clone() } else { format!("prompt {id}") }));
            for (index, (one, other)) in before.cases.iter().zip(&after.cases).enumerate() {
                prop_assert_eq!(one.fingerprint == other.fingerprint, index != changed);
            }
            prop_assert_ne!(before.fingerprint, after.fingerprint);
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), json in r#"(\{|\}|"id":|"input":|"graders":|\[|\]|"a"|1|,|\n|\u{feff}){0,30}"#) {
            let _ = read_bytes(&bytes);
            let _ = read_bytes(json.as_bytes());
        }
    }
}
