//! Kept stores are gone on with: resumed, graded again, merged, compacted.

use rusqlite::Connection;

use super::{
    script, shop,
    transcript::{self, holds},
};
use crate::support::Project;

/// Whether SQLite finds the store whole.
#[track_caller]
fn is_sound(project: &Project) {
    let connection = Connection::open(project.store()).unwrap();
    let found: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
    project.caseload(&["store", "check"]).exits(0);
}

/// Does `commands` with the kept store `name`, its server being `url`.
#[track_caller]
fn go_on(name: &str, url: Option<&str>, commands: &[&str]) -> Project {
    let project = shop::with(name);
    if let Some(url) = url {
        shop::redirect(&project, shop::NOWHERE, url);
    }
    holds!(format!("go_on_{name}"), transcript::timeless(&project, commands));
    is_sound(&project);
    project
}

#[test]
fn an_interrupted_run_is_resumed() {
    let stub = script::fair();
    go_on("interrupted", Some(&stub.url()), &["resume latest -q", "show --json", "export live-1"]);
    assert_eq!(stub.count(), 14, "other than what was missing was asked");
}

/// Version 0.1 kept no attempt of what was stopped on its way; four of these trials were.
#[test]
fn what_an_older_version_stopped_on_its_way_counts_for_ever() {
    let stub = script::fair();
    let project = shop::with("interrupted");
    shop::redirect(&project, shop::NOWHERE, &stub.url());
    let stopped =
        || project.sql::<i64>("SELECT count(*) FROM attempt WHERE kind = 'cancelled' AND may_be_billed");
    project.caseload(&["show", "latest"]).exits(0);
    assert_eq!(stopped(), 4);
    project.caseload(&["resume", "latest", "-q"]).exits(1);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE outcome = 'cancelled'"), 0);
    assert_eq!(stopped(), 4);
}

#[test]
fn a_killed_run_is_resumed() {
    let stub = script::fair();
    go_on("killed", Some(&stub.url()), &["resume live-1 -q --json", "export live-1"]);
    assert_eq!(stub.count(), 14, "other than what was missing was asked");
}

#[test]
fn a_refused_run_is_resumed_once_the_weather_is_fair() {
    let stub = script::fair();
    let commands =
        ["resume latest -q", "show --json", "resume latest -q --failed", "show --json", "export live-1"];
    go_on("weather", Some(&stub.url()), &commands);
}

#[test]
fn a_run_out_of_budget_stays_so() {
    go_on("budget", None, &["resume latest -q", "show --json", "export latest"]);
}

#[test]
fn what_is_complete_has_nothing_to_ask() {
    go_on("complete", None, &["resume nightly-1 -q", "resume nightly-3 -q", "resume nightly-3 -q --failed"]);
    go_on("application", None, &["resume latest -q", "resume latest -q --failed", "export latest"]);
    go_on("reused", None, &["resume latest -q --json"]);
    go_on("hashed", None, &["resume latest -q"]);
    go_on("confirmed", None, &["resume latest -q"]);
}

#[test]
fn answers_are_graded_again() {
    for name in ["complete", "application", "weather", "killed", "hashed", "reused"] {
        let project = shop::with(name);
        let commands = ["grade latest", "grade latest --json", "show --failures"];
        holds!(format!("grade_{name}"), transcript::of(&project, &commands));
        is_sound(&project);
    }
}

#[test]
fn flips_are_judged_and_confirmed_again() {
    let project = shop::with("confirmed");
    let commands = [
        "confirm nightly-1:old nightly-1:new --judge",
        "confirm nightly-1:old nightly-1:new --judge --json",
        "compare nightly-1:old nightly-1:new",
        "runs",
    ];
    holds!("confirm_again", transcript::of(&project, &commands));
    is_sound(&project);
}

#[test]
fn shards_become_one_run() {
    let project = shop::with("shard-1");
    shop::unpack(&project, "shard-2", "other.db");
    let commands = [
        "store merge other.db",
        "store merge other.db",
        "runs",
        "show",
        "show --json",
        "export nightly-1",
        "resume nightly-1 -q",
    ];
    holds!("merge_shards", transcript::timeless(&project, &commands));
    is_sound(&project);
}

#[test]
fn shards_join_with_those_of_this_version() {
    let project = shop::with("shard-1");
    project.caseload(&["run", "nightly.toml", "-q", "--shard", "2/2", "--store", "own.db"]);
    project.caseload(&["store", "merge", "own.db"]).exits(0).stdout_has("2 of 2 shards");
    holds!("merge_with_own", transcript::timeless(&project, &["runs --json", "show --json"]));
    is_sound(&project);
}

#[test]
fn runs_of_this_version_stand_beside_those_of_then() {
    let project = shop::with("complete");
    project.caseload(&["run", "nightly.toml", "-q", "--seed", "1"]);
    let commands = [
        // The same seed gave the same answers, and nobody changed a thing but what was changed back.
        "trend nightly --target old",
        "trend nightly --target new --json",
        "compare nightly-1:old nightly-7:old",
        "compare nightly-1:old nightly-7:old --allow-grader-change",
        "compare nightly-1:new nightly-7:new --json --allow-grader-change",
        "run nightly.toml -q --dry-run",
    ];
    holds!("beside_own", transcript::timeless(&project, &commands));
    is_sound(&project);
}

#[test]
fn answers_of_then_are_used_again() {
    let project = shop::with("reused");
    let run = ["run", "nightly.toml", "-q", "--repeats", "3", "--set", "reuse=true", "--json"];
    let card = project.caseload(&run).json();
    assert_eq!(card["targets"][1]["reused_trials"], 59);
    holds!("reused_again", transcript::timeless(&project, &["show --json"]));
    is_sound(&project);
}

#[test]
fn stores_are_compacted_copied_and_emptied() {
    let project = shop::with("weather");
    let commands = [
        "store backup copy.db",
        "store compact",
        "show --json",
        "show --store copy.db",
        "export live-1 --target priced",
        "store forget --case case-00",
        "runs delete live-1",
        "runs",
        "store check",
    ];
    let text = transcript::timeless(&project, &commands);
    let sizes = regex::Regex::new(r"\d[\d,.]* (B|kB|MB)\b").unwrap();
    holds!("upkeep", sizes.replace_all(&text, "[size]").into_owned());
}

#[test]
fn several_commands_at_once_bring_an_older_store_up_to_date_once() {
    for _ in 0..4 {
        let project = shop::with("complete");
        let commands: Vec<_> = [["show", "latest"], ["runs", "--json"], ["store", "check"]]
            .iter()
            .cycle()
            .take(9)
            .map(|arguments| project.start(arguments))
            .collect();
        for command in commands {
            let output = command.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{stderr}");
        }
        is_sound(&project);
        let kept = Connection::open(project.path("store.db.before-v8")).unwrap();
        let runs: i64 = kept.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
        let version: i64 = kept.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!((version, runs), (6, 6), "the copy is of the store as it was");
        let left = std::fs::read_dir(project.path("")).unwrap();
        let left = left.map(|file| file.unwrap().file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.contains(".part")).count(), 0);
    }
}

/// A disk that is full is called that, and not a place that cannot be written.
#[cfg(unix)]
#[test]
fn an_older_store_that_cannot_be_brought_up_to_date_says_why() {
    let project = shop::with("complete");
    let before = std::fs::read(project.store()).unwrap();
    // Forty kilobytes: what SQLite keeps beside a store fits, a copy of it does not.
    for command in ["show latest", "store check"] {
        let (code, stderr) = crate::store_life::on_a_full_disk(&project, 80, command);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("store.db.before-v8`; the store is untouched"), "{stderr}");
        assert!(!stderr.contains("a place that can be written to"), "{stderr}");
    }
    assert_eq!(std::fs::read(project.store()).unwrap(), before);
    project.caseload(&["show", "latest"]).exits(0);
}
