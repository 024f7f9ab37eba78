//! Every reading command over every kept store: screens, JSON, exit codes.

use super::{
    shop,
    transcript::{self, holds},
};

/// What every store can be asked about its latest run.
const LATEST: [&str; 13] = [
    "runs",
    "runs --json",
    "show",
    "show --json",
    "show --gate",
    "show --failures",
    "show --failures --json",
    "show latest --case case-08",
    "show latest --case case-09 --json",
    "trend",
    "flaky",
    "store check",
    "runs keep --last 1 --dry-run",
];

/// Asks the store `name` what every store can be asked, and `more`.
#[track_caller]
fn read(name: &str, more: &[&str]) {
    let project = shop::with(name);
    holds!(format!("read_{name}"), transcript::of(&project, &LATEST));
    holds!(format!("read_{name}_more"), transcript::of(&project, more));
}

#[test]
fn a_complete_store_reads_as_before() {
    read(
        "complete",
        &[
            "show nightly-1",
            "show nightly-4 --gate",
            "show nightly-4 --gate --json",
            "show nightly-3 --case case-07",
            "trend --json",
            "trend nightly --target old --last 3",
            "flaky --json",
            "flaky nightly-2 --target new --limit 2",
            "runs delete latest nightly-1 --dry-run",
            "runs keep --last 2 --per-name --dry-run",
        ],
    );
}

#[test]
fn comparisons_read_as_before_in_every_format() {
    let project = shop::with("complete");
    let pair = "nightly-3:new nightly-6:new";
    for format in ["text", "json", "markdown", "junit", "csv", "github"] {
        let sides = [
            format!("compare {pair} --format {format}"),
            format!("compare nightly-1:old nightly-1:unpriced --format {format}"),
        ];
        let commands: Vec<&str> = sides.iter().map(String::as_str).collect();
        holds!(format!("compare_{format}"), transcript::of(&project, &commands));
    }
    project
        .write("gates.toml", "[gates]\nflip_budget = 3\nnon_inferiority_margin = 0.5\nmin_pass_rate = 0.2\n");
    let more = [
        "compare nightly-3:new nightly-6:new --list",
        "compare nightly-3:new nightly-6:new --case case-00",
        "compare nightly-3:new nightly-6:new --case case-09",
        "compare nightly-3:new nightly-6:new --gates gates.toml",
        "compare nightly-3:new nightly-6:new --allow-grader-change --json",
        "compare nightly-1:old nightly-1:new nightly-1:unpriced",
        "compare nightly-1:old nightly-1:new nightly-1:unpriced --format json",
        "compare nightly-1:old nightly-1:new nightly-1:unpriced --format markdown",
        "compare nightly-1 nightly-2",
        "compare latest~1:old latest:old",
    ];
    holds!("compare_more", transcript::of(&project, &more));
}

#[test]
fn what_was_confirmed_reads_as_before() {
    read(
        "confirmed",
        &[
            "compare nightly-1:old nightly-1:new",
            "compare nightly-1:old nightly-1:new --json",
            "compare nightly-1:old nightly-1:new --format markdown",
            "compare nightly-1:old nightly-1:new --format junit",
            "trend nightly --json",
            "show nightly-1",
            "show nightly-confirm-1",
        ],
    );
}

#[test]
fn a_kept_baseline_is_compared_as_before() {
    let project = shop::with("confirmed");
    let kept = std::fs::read_to_string(shop::kept("baseline.json")).unwrap();
    project.write("old.json", &kept);
    let commands = [
        "compare old.json nightly-1:new",
        "compare old.json nightly-1:new --json",
        "compare old.json nightly-1:new --case case-00",
        "compare old.json nightly-1:old",
        "baseline set nightly-1:old --file again.json",
    ];
    holds!("compare_baseline", transcript::of(&project, &commands));
    let again = std::fs::read_to_string(project.path("again.json")).unwrap();
    assert_eq!(again, kept, "a baseline is written otherwise");
}

#[test]
fn an_application_reads_as_before() {
    read(
        "application",
        &[
            "export bot-1",
            "show latest --case case-10",
            "show latest --case case-11 --json",
            "show latest --case case-12",
            "compare bot-1:bot bot-1:bot",
            "compare bot-1:bot bot-1:bot --json",
        ],
    );
}

#[test]
fn every_outcome_reads_as_before() {
    let cases: Vec<String> = (0..20).map(|number| format!("show latest --case case-{number:02}")).collect();
    let mut more: Vec<&str> = cases.iter().map(String::as_str).collect();
    more.extend([
        "show latest --case case-14 --json",
        "show latest --case case-16 --json",
        "export live-1",
        "export live-1 --target claude",
        "compare live-1:priced live-1:claude",
        "compare live-1:priced live-1:claude --json",
        "compare live-1:priced live-1:gone",
        "compare live-1:unpriced live-1:priced --format csv",
    ]);
    read("weather", &more);
}

#[test]
fn unfinished_runs_read_as_before() {
    read("interrupted", &["export live-1", "show latest --case case-19"]);
    read("killed", &["export latest", "show latest --case case-19 --json"]);
    read("budget", &["export nightly-1", "compare nightly-1:old nightly-1:new"]);
}

#[test]
fn reused_and_hashed_answers_read_as_before() {
    read("reused", &["export nightly-2 --target old", "compare nightly-1:old nightly-2:old"]);
    read("hashed", &["export nightly-1 --target new", "compare nightly-1:old nightly-1:new --case case-00"]);
}

#[test]
fn shards_read_as_before() {
    read("shard-1", &["export nightly-1 --target unpriced"]);
    read("shard-2", &["compare nightly-1:old nightly-1:new"]);
}

#[test]
fn what_cannot_be_found_is_told_as_before() {
    let project = shop::with("complete");
    let commands = [
        "show nigtly-1",
        "show nightly-9",
        "show latest --case case-0",
        "show latest --case case-00 --failures",
        "export latest --target nw",
        "export",
        "compare nightly-1:old",
        "compare nightly-1:old nightly-1:nw",
        "compare nothing.json nightly-1:old",
        "compare nightly-1:old nightly-1:new --case nobody",
        "trend weekly",
        "trend nightly --target nobody",
        "flaky weekly",
        "grade nightly-9",
        "resume nightly-9",
        "confirm nightly-1:old nightly-9:new",
        "runs delete nightly-9",
        "store merge nowhere.db",
        "show --store nowhere.db",
        "run nowhere.toml",
    ];
    holds!("not_found", transcript::of(&project, &commands));
}

#[test]
fn experiments_are_checked_and_estimated_as_before() {
    let project = shop::with("complete");
    let commands = [
        "check nightly.toml",
        "check live.toml",
        "check bot.toml",
        "run nightly.toml --dry-run",
        "run nightly.toml --dry-run --shard 1/2 --repeats 2 --filter segment.intent=plans",
        "estimate nightly.toml",
        "estimate nightly.toml --json",
        "estimate live.toml",
        "estimate bot.toml",
        "estimate nightly.toml --detect 5 --budget 3",
    ];
    holds!("check_and_estimate", transcript::of(&project, &commands));
}

#[test]
fn help_reads_as_before() {
    let project = shop::empty();
    let commands = [
        "",
        "init",
        "check",
        "estimate",
        "pilot",
        "run",
        "resume",
        "limits",
        "pause",
        "continue",
        "runs",
        "runs delete",
        "runs keep",
        "show",
        "compare",
        "baseline",
        "baseline set",
        "grade",
        "export",
        "confirm",
        "trend",
        "flaky",
        "rehearse",
        "store",
        "store info",
        "store compact",
        "store backup",
        "store merge",
        "store check",
        "store forget",
        "serve-mock",
    ];
    let commands: Vec<String> = commands.iter().map(|command| format!("{command} --help")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    holds!("help", transcript::of(&project, &commands));
}
