//! The floors of the house: who may import whom.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The floors from the top down: each may import every floor after it and none before.
const FLOORS: [&str; 17] = [
    "cli",
    "report",
    "runner",
    "mock",
    "batch",
    "compare",
    "estimate",
    "judge",
    "config",
    "queue",
    "providers",
    "spend",
    "grading",
    "golden",
    "stats",
    "store",
    "domain",
];

#[test]
fn every_import_goes_down_the_house() {
    let crossings: Vec<String> = sources()
        .iter()
        .flat_map(|file| {
            let own = floor_of(file);
            let text = fs::read_to_string(file).expect("a source file can be read");
            imported_floors(&text)
                .into_iter()
                .filter(move |&imported| imported != own && !is_below(imported, own))
                .map(|imported| format!("{} (floor {own}) imports {imported}", file.display()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(crossings.is_empty(), "imports that go up the house:\n{}", crossings.join("\n"));
}

#[test]
fn lib_rs_names_every_floor_in_order() {
    let text = fs::read_to_string("src/lib.rs").expect("src/lib.rs can be read");
    let named: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let present: Vec<&str> =
        FLOORS.into_iter().filter(|floor| Path::new("src").join(floor).is_dir()).collect();
    assert_eq!(named, present, "`pub mod` lines of src/lib.rs and the folders of src/ differ");
}

/// What follows from a provider's kind stands in `providers`: a new one changes no other floor.
#[test]
fn only_providers_ask_which_kind_a_provider_is() {
    let asked: Vec<String> = sources()
        .iter()
        .filter(|file| floor_of(file) != "providers")
        .flat_map(|file| {
            let text = fs::read_to_string(file).expect("a source file can be read");
            let lines = text.lines().enumerate().filter(|(_, line)| names_a_kind(line));
            lines
                .map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(asked.is_empty(), "kinds of providers named outside `providers`:\n{}", asked.join("\n"));
}

/// Whether a line names a variant of `providers::Kind`.
fn names_a_kind(line: &str) -> bool {
    ["Model", "Replay", "Simulator", "Exec", "Http"].iter().any(|variant| {
        let name = format!("Kind::{variant}");
        line.match_indices(&name).any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
    })
}

/// `stats` and `domain` stand on the ground: `stats` knows nothing of the project at all.
fn is_below(imported: &str, own: &str) -> bool {
    own != "stats" && position(imported) > position(own)
}

fn position(floor: &str) -> usize {
    FLOORS
        .iter()
        .position(|name| *name == floor)
        .unwrap_or_else(|| panic!("`{floor}` is not a floor of the house"))
}

fn floor_of(file: &Path) -> &'static str {
    let name = file.components().nth(1).expect("a path below src").as_os_str();
    let name = name.to_str().expect("a floor's name is text");
    FLOORS[position(name.trim_end_matches(".rs"))]
}

/// The floors that a file names after `crate::`, or after `super::` at a floor's own top.
fn imported_floors(text: &str) -> BTreeSet<&'static str> {
    let code =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut floors = BTreeSet::new();
    for (start, marker) in code.match_indices("crate::") {
        let rest = &code[start + marker.len()..];
        let group = match rest.strip_prefix('{') {
            Some(inside) => top_level_names(inside),
            None => vec![leading_name(rest)],
        };
        floors.extend(FLOORS.iter().filter(|floor| group.contains(floor)));
    }
    floors
}

/// The first names of each member of `{a::b, c::{d, e}}`, given what follows the opening brace.
fn top_level_names(inside: &str) -> Vec<&str> {
    let mut names = vec![];
    let mut depth = 0;
    let mut start = 0;
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(leading_name(inside[start..at].trim_start()));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(leading_name(inside[start..at].trim_start()));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

fn leading_name(text: &str) -> &str {
    let end =
        text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
    &text[..end]
}

/// Every `.rs` file in a floor's folder (`main.rs` and `lib.rs` are the door and the map).
fn sources() -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of src can be read") {
            let path = entry.expect("an entry of src can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && path.components().count() > 2
            {
                found.push(path);
            }
        }
    }
    found
}
