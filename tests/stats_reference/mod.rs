//! The statistics against reference values made by other programs.
//!
//! Every `*.json` of `tests/reference/`, and of the folder that `CASELOAD_REFERENCE_DIR` names, is
//! a procedure with inputs and expected outputs. An unknown procedure, or an expected field that
//! our side does not produce, is a failure: nothing is skipped. Where a formula and a reference
//! disagree the formula is looked at; the tolerance stays.

use std::{
    env, fs, panic,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

mod core;
mod resampling_judges;

/// What a procedure of ours answers for one reference input; `None` if it is not ours.
fn compute(procedure: &str, input: &Value) -> Option<Value> {
    core::compute(procedure, input).or_else(|| resampling_judges::compute(procedure, input))
}

#[test]
fn every_reference_value_is_reproduced() {
    let mut failures = vec![];
    let mut compared = 0;
    for path in reference_files() {
        let file = read(&path);
        for case in file["cases"].as_array().expect("a reference file has cases") {
            compared += 1;
            failures.extend(
                differences_of(&file, case)
                    .into_iter()
                    .map(|difference| format!("{}: {difference}", path.display())),
            );
        }
    }
    assert!(compared > 0, "there is no reference case at all");
    assert!(
        failures.is_empty(),
        "{} differences in {compared} reference cases:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn an_unknown_reference_procedure_is_a_failure() {
    let file = serde_json::json!({"procedure": "z_nothing", "rel_tol": 1e-10, "abs_tol": 1e-12});
    let case = serde_json::json!({"name": "x", "input": {}, "expected": {}});
    assert_eq!(differences_of(&file, &case), ["x: procedure `z_nothing` is not known"]);
}

#[test]
fn a_reference_field_that_is_not_produced_is_a_failure() {
    let expected = serde_json::json!({"se": 0.5, "ci": [null, 1.0]});
    let ours = serde_json::json!({"ci": [0.0, 1.0 + 1e-6]});
    let tolerance = Tolerance { relative: 1e-10, absolute: 1e-12 };
    let mut found = vec![];
    tolerance.compare("x", &ours, &expected, &mut found);
    assert_eq!(found.len(), 3, "{found:?}");
}

fn reference_files() -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("tests/reference")];
    folders.extend(env::var_os("CASELOAD_REFERENCE_DIR").map(PathBuf::from));
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| {
            fs::read_dir(folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
                .map(|entry| entry.expect("an entry can be read").path())
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("a reference file can be read");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every difference between what is expected of one case and what we compute for it.
fn differences_of(file: &Value, case: &Value) -> Vec<String> {
    let procedure = file["procedure"].as_str().expect("a reference file names its procedure");
    let name = case["name"].as_str().expect("a reference case has a name");
    let tolerance = Tolerance {
        relative: file["rel_tol"].as_f64().expect("a relative tolerance"),
        absolute: file["abs_tol"].as_f64().expect("an absolute tolerance"),
    };
    let answer = panic::catch_unwind(|| compute(procedure, &case["input"]));
    let ours = match answer {
        Err(_) => return vec![format!("{name}: panicked")],
        Ok(None) => return vec![format!("{name}: procedure `{procedure}` is not known")],
        Ok(Some(ours)) => ours,
    };
    let mut found = vec![];
    tolerance.compare(name, &ours, &case["expected"], &mut found);
    found
}

/// How far two numbers may lie apart: the larger of the two bounds counts.
#[derive(Clone, Copy)]
struct Tolerance {
    relative: f64,
    absolute: f64,
}

impl Tolerance {
    fn compare(self, at: &str, ours: &Value, expected: &Value, found: &mut Vec<String>) {
        match (ours, expected) {
            (Value::Object(ours), Value::Object(expected)) => {
                self.compare_fields(at, ours, expected, found);
            }
            (Value::Array(ours), Value::Array(expected)) if ours.len() == expected.len() => {
                for (index, (ours, expected)) in ours.iter().zip(expected).enumerate() {
                    self.compare(&format!("{at}[{index}]"), ours, expected, found);
                }
            }
            (Value::Number(ours_number), Value::Number(expected_number)) => {
                let (a, b) = (ours_number.as_f64(), expected_number.as_f64());
                let (a, b) = a.zip(b).expect("numbers of references fit a double");
                if (a - b).abs() > self.absolute.max(self.relative * b.abs()) {
                    found.push(format!("{at}: {ours}, expected {expected}"));
                }
            }
            _ if ours == expected => {}
            _ => found.push(format!("{at}: {ours}, expected {expected}")),
        }
    }

    /// A field that is expected to be null may be absent if our side gives a `reason` instead.
    fn compare_fields(
        self,
        at: &str,
        ours: &Map<String, Value>,
        expected: &Map<String, Value>,
        found: &mut Vec<String>,
    ) {
        for (field, expected) in expected {
            let at = format!("{at}.{field}");
            match ours.get(field) {
                Some(value) => self.compare(&at, value, expected, found),
                None if expected.is_null() && ours.get("reason").is_some_and(Value::is_string) => {}
                None => found.push(format!("{at}: not produced, expected {expected}")),
            }
        }
    }
}
