//! The floors and rooms of the house: who may import whom, and who may print.

mod circles;
mod imports;
mod tokens;

use std::{fs, path::Path};

use self::imports::{House, Source};

/// The floors from the top down: each may import every floor after it and none before.
const FLOORS: [&str; 19] = [
    "cli",
    "view",
    "report",
    "app",
    "runner",
    "mock",
    "compare",
    "estimate",
    "config",
    "judge",
    "evidence",
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
    let house = House::read();
    let crossings: Vec<String> = house
        .uses()
        .into_iter()
        .filter(|(from, to)| floor_of(from) != floor_of(to) && !may_import(floor_of(from), floor_of(to)))
        .map(|(from, to)| format!("src/{} uses src/{}", from.display(), to.display()))
        .collect();
    assert!(crossings.is_empty(), "imports that go up the house:\n{}", crossings.join("\n"));
}

#[test]
fn no_files_and_no_rooms_import_each_other_in_a_circle() {
    let house = House::read();
    let circles = circles::circles(&house.uses());
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n"));
}

#[test]
fn only_the_command_line_prints() {
    let prints = |source: &&Source| {
        let macros = source.words.windows(2).any(|two| {
            two[1] == "!" && matches!(two[0].as_str(), "print" | "println" | "eprint" | "eprintln" | "dbg")
        });
        macros || source.words.iter().any(|word| word == "print_stdout" || word == "print_stderr")
    };
    let house = House::read();
    let printing = house.files().filter(|source| floor_of(&source.path) != "cli").filter(prints);
    let printing: Vec<_> = printing.map(|source| source.path.display().to_string()).collect();
    assert!(printing.is_empty(), "files outside `cli` that print: {}", printing.join(", "));
}

#[test]
fn lib_rs_names_every_floor_in_order() {
    let text = std::fs::read_to_string("src/lib.rs").expect("src/lib.rs can be read");
    let named: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    let present: Vec<&str> =
        FLOORS.into_iter().filter(|floor| Path::new("src").join(floor).is_dir()).collect();
    assert_eq!(named, present, "`pub mod` lines of src/lib.rs and the folders of src/ differ");
}

/// What the command line does is a use case, and what it shows is a report.
#[test]
fn the_command_line_stands_on_use_cases_and_reports() {
    let house = House::read();
    let named = |source: &Source| {
        let floors = source.floors().into_iter().filter(|floor| !["app", "report", "domain"].contains(floor));
        floors.map(|floor| format!("{} names {floor}", source.path.display())).collect::<Vec<_>>()
    };
    let named: Vec<_> =
        house.files().filter(|source| floor_of(&source.path) == "cli").flat_map(named).collect();
    assert!(named.is_empty(), "{}", named.join("\n"));
}

/// What does not fit belongs on the floors below.
#[test]
fn the_command_line_and_the_coordinator_stay_small() {
    for (place, most) in [("src/cli", 2_500), ("src/runner/coordinator.rs", 300)] {
        let lines = lines_in(Path::new(place));
        assert!(lines <= most, "{place} has {lines} lines, and may have {most}");
    }
}

#[test]
fn reports_read_no_store_and_compute_no_statistics() {
    let house = House::read();
    let computes = |source: &&Source| ["store", "stats"].iter().any(|floor| source.floors().contains(floor));
    let reports = house.files().filter(|source| floor_of(&source.path) == "report").filter(computes);
    let computing: Vec<_> = reports.map(|source| source.path.display().to_string()).collect();
    assert!(computing.is_empty(), "reports that do more than draw: {}", computing.join(", "));
}

/// What follows from a provider's kind stands in `providers`: a new one changes no other floor.
#[test]
fn only_providers_ask_which_kind_a_provider_is() {
    let kinds = ["Model", "Replay", "Simulator", "Exec", "Http"];
    let asks = |source: &&Source| {
        let mut names = source.words.windows(3).filter(|three| three[0] == "Kind" && three[1] == "::");
        names.any(|three| kinds.contains(&three[2].as_str()))
    };
    let house = House::read();
    let asking = house.files().filter(|source| floor_of(&source.path) != "providers").filter(asks);
    let asking: Vec<_> = asking.map(|source| source.path.display().to_string()).collect();
    assert!(asking.is_empty(), "files outside `providers` that name a kind: {}", asking.join(", "));
}

/// What a new dialect takes, told by one that nobody speaks (`providers/toy`): beside its folder, its file
/// in the mock and what tests it, two names and two entries in lists.
#[test]
fn a_dialect_is_a_folder_a_file_of_the_mock_and_four_lines() {
    let own = |path: &str| {
        path.starts_with("providers/toy/")
            || ["mock/toy.rs", "runner/toy_tests.rs", "runner/mod.rs"].contains(&path)
    };
    let mut lines = vec![];
    for path in sources(Path::new("src")) {
        let name = path.strip_prefix("src").expect("a file below src").display().to_string();
        let text = fs::read_to_string(&path).expect("a source can be read");
        let naming = text.lines().map(str::trim).filter(|line| !own(&name) && line.contains("toy"));
        lines.extend(naming.map(|line| format!("{name}: {line}")));
    }
    lines.sort();
    let expected = [
        "mock/dialect.rs: &super::toy::DIALECT,",
        "mock/mod.rs: mod toy;",
        "providers/kind.rs: &super::toy::FACTS,",
        "providers/mod.rs: mod toy;",
    ];
    assert_eq!(lines, expected);
}

/// All files of a folder, tests too.
fn sources(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources can be read");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The lines of a file, or of all files of a folder.
fn lines_in(place: &Path) -> usize {
    let files = if place.is_dir() { sources(place) } else { vec![place.to_owned()] };
    let lines = |file| fs::read_to_string(file).expect("a source can be read").lines().count();
    files.into_iter().map(lines).sum()
}

/// Floors above the wire on which every file that does something is tested where it stands: in itself, or
/// by the `tests` of its room.
const TESTED: [&str; 4] = ["app", "runner", "evidence", "spend"];

#[test]
fn every_file_of_these_floors_has_unit_tests() {
    let house = House::read();
    let own = house.files().filter(|source| TESTED.contains(&floor_of(&source.path)));
    let doing: Vec<&Source> = own.filter(|source| has_a_function(&source.words)).collect();
    assert!(doing.len() > 50, "only {} files were looked at", doing.len());
    let untested = doing.into_iter().filter(|source| !is_tested(&source.path));
    let untested: Vec<_> = untested.map(|source| source.path.display().to_string()).collect();
    assert!(untested.is_empty(), "files without unit tests: {}", untested.join(", "));
}

/// Whether a function with a body stands among `words`: a trait may only declare some.
fn has_a_function(words: &[String]) -> bool {
    let is_name = |word: &String| word.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let begins = words.windows(2).enumerate().filter(|(_, two)| two[0] == "fn" && is_name(&two[1]));
    let mut begins = begins.map(|(at, _)| at);
    begins.any(|from| {
        let mut depth = 0;
        let end = words[from..].iter().find(|word| {
            match word.as_str() {
                "[" => depth += 1,
                "]" => depth -= 1,
                _ => {}
            }
            // The `;` of an array's type ends nothing.
            depth == 0 && (*word == "{" || *word == ";")
        });
        end.is_some_and(|end| end == "{")
    })
}

/// Whether the file has a module of tests, or its room has one beside it. A room is a folder below a floor.
fn is_tested(path: &Path) -> bool {
    let own = Path::new("src").join(path);
    // A file with rooms of its own goes by the name `mod.rs`, and may stand beside its folder.
    let folder = own.parent().expect("a file stands in a folder");
    let text = fs::read_to_string(&own).or_else(|_| fs::read_to_string(folder.with_extension("rs")));
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", own.display()));
    let has_module = ["mod tests {", "mod tests;"].iter().any(|module| text.contains(module));
    let is_in_a_room = path.components().count() > 2;
    has_module || (is_in_a_room && folder.join("tests.rs").is_file())
}

#[test]
fn a_function_has_a_body_and_a_declaration_has_none() {
    let has = |text| has_a_function(&tokens::words(text));
    assert!(has("pub(super) async fn f<T>(a: [u8; 2]) -> [T; 2] { g() }"));
    assert!(has("trait T { fn declared(&self); fn given(&self) {} }"));
    assert!(!has("trait T { fn declared(&self, a: [u8; 2]); }"));
    assert!(!has("struct S { hook: fn(u8) } enum E { A }"));
    assert!(!has("struct S; #[cfg(test)] mod tests { fn f() {} }"));
}

/// `stats` knows nothing of the project at all.
fn may_import(own: &str, imported: &str) -> bool {
    own != "stats" && position(own) < position(imported)
}

fn position(floor: &str) -> usize {
    FLOORS
        .iter()
        .position(|name| *name == floor)
        .unwrap_or_else(|| panic!("`{floor}` is not a floor of the house"))
}

/// The floor of a file; `lib.rs`, the map, is told by its own name.
fn floor_of(file: &Path) -> &str {
    let first = file.components().next().expect("a file has a name").as_os_str();
    first.to_str().expect("a floor's name is text")
}
