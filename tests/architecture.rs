//! The floors and rooms of the house: who may import whom, and who may print.

mod circles;
mod imports;
mod tokens;

use std::path::Path;

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

/// The lines of a file, or of all files below a folder.
fn lines_in(place: &Path) -> usize {
    match std::fs::read_dir(place) {
        Ok(entries) => entries.map(|entry| lines_in(&entry.expect("an entry can be read").path())).sum(),
        Err(_) => std::fs::read_to_string(place).expect("a file can be read").lines().count(),
    }
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
