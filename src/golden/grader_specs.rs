//! The graders of a case line, resolved against those that the experiment defines.

use serde_json::{Map, Value};

use super::{
    CaseDefaults,
    fields::{Problems, read_text},
};
use crate::domain::{GraderName, GraderSpec};

/// The graders that a case names, resolved; `None` when it names none.
pub(super) fn read_graders(
    value: Value,
    defaults: &CaseDefaults,
    problems: &mut Problems,
) -> Option<Vec<GraderSpec>> {
    let values = match value {
        Value::Null => return None,
        Value::Array(values) => values,
        other => {
            problems.expected("graders", "a list of graders", &other);
            return None;
        }
    };
    if values.is_empty() {
        problems.add_with_hint(
            "graders",
            "the list is empty",
            "leave it out to use the experiment's graders",
        );
    }
    let mut graders: Vec<GraderSpec> = Vec::with_capacity(values.len());
    for (index, value) in values.into_iter().enumerate() {
        let path = format!("graders[{index}]");
        let Some((grader, named)) = read_grader(&path, value, defaults, problems) else { continue };
        // Unnamed graders of one kind report their scores together, under the kind.
        if named && graders.iter().any(|other| other.name == grader.name) {
            problems.add(path, format!("the grader `{}` stands twice", grader.name));
            continue;
        }
        graders.push(grader);
    }
    Some(graders)
}

/// One grader, and whether its name was given rather than taken from its kind.
fn read_grader(
    path: &str,
    value: Value,
    defaults: &CaseDefaults,
    problems: &mut Problems,
) -> Option<(GraderSpec, bool)> {
    let mut object = match value {
        Value::String(name) if name.trim().is_empty() => {
            problems.add(path, "the grader's name is empty");
            return None;
        }
        Value::String(name) => {
            return Some(match defaults.named.get(&name) {
                Some(spec) => (spec.clone(), true),
                None => (bare_grader(name), false),
            });
        }
        Value::Object(object) => object,
        other => {
            problems.expected(path, "a grader's name or an object with `kind`", &other);
            return None;
        }
    };
    let kind = match object.shift_remove("kind") {
        Some(Value::String(kind)) if !kind.trim().is_empty() => kind,
        found => {
            problems.expected(format!("{path}.kind"), "a grader's kind", &found.unwrap_or_default());
            return None;
        }
    };
    let name = match object.shift_remove("name") {
        None | Some(Value::Null) => None,
        Some(value) => Some(read_text(&format!("{path}.name"), value, problems)?),
    };
    let hard = match object.shift_remove("hard") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(hard)) => hard,
        Some(other) => {
            problems.expected(format!("{path}.hard"), "`true` or `false`", &other);
            return None;
        }
    };
    let named = name.is_some();
    let name = GraderName::from(name.unwrap_or_else(|| kind.clone()));
    // Collected anew, so that a grader without parameters keeps no memory for those just taken out.
    let mut parameters = Map::with_capacity(object.len());
    parameters.extend(object);
    Some((GraderSpec { name, kind, hard, parameters }, named))
}

fn bare_grader(kind: String) -> GraderSpec {
    GraderSpec { name: GraderName::from(kind.as_str()), kind, hard: false, parameters: Map::new() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn problems_of<T>(read: impl FnOnce(&mut Problems) -> T) -> Vec<String> {
        let mut problems = Problems(vec![]);
        read(&mut problems);
        problems.0.into_iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
    }

    #[test]
    fn graders_are_resolved_by_name_then_by_kind() {
        let house = GraderSpec { kind: "regex".into(), hard: true, ..bare_grader("house".into()) };
        let defaults = CaseDefaults {
            named: BTreeMap::from([("house".into(), house.clone())]),
            ..CaseDefaults::default()
        };
        let mut problems = Problems(vec![]);
        let value =
            json!(["house", "exact", {"kind": "words", "any": ["a"]}, {"kind": "words", "hard": true}]);
        let graders = read_graders(value, &defaults, &mut problems).unwrap();
        let names: Vec<&str> = graders.iter().map(|grader| grader.name.as_str()).collect();
        assert_eq!(names, ["house", "exact", "words", "words"]);
        assert_eq!(graders[0], house);
        assert_eq!(Value::Object(graders[2].parameters.clone()), json!({"any": ["a"]}));
        assert!(graders[3].hard);
        assert_eq!(problems.0, []);
    }

    #[test]
    fn a_grader_without_kind_and_a_name_given_twice_are_faults() {
        let told = |value| problems_of(|problems| read_graders(value, &CaseDefaults::default(), problems));
        assert_eq!(told(json!([])), ["graders: the list is empty"]);
        assert_eq!(
            told(json!([{"any": []}, 3, {"kind": "a", "name": "n"}, {"kind": "b", "name": "n"}])),
            [
                "graders[0].kind: expected a grader's kind, found null",
                "graders[1]: expected a grader's name or an object with `kind`, found the number `3`",
                "graders[3]: the grader `n` stands twice",
            ]
        );
    }
}
