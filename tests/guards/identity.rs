//! What things are known by: fingerprints of cases and sets, hashes of requests, seeds of trials.
//!
//! A changed one makes every case *changed* and every answer paid again.

use std::fs;

use rusqlite::Connection;

use super::{shop, transcript::holds};
use crate::support::Project;

/// The one place here that names columns of the store.
const ASKED: &str =
    "SELECT v.target, v.case_id, v.repeat, lower(hex(c.fingerprint)), lower(hex(t.request_hash))
    FROM trial t
    JOIN trial_view v ON v.run_id = t.run AND v.target_position = t.target
        AND v.case_position = t.case_position AND v.repeat = t.repeat
    JOIN run_case r ON r.run = t.run AND r.position = t.case_position
    JOIN case_content c ON c.id = r.content
    ORDER BY t.run, t.target, t.case_position, t.repeat";

/// A line for every trial: target, case, repeat, its case's fingerprint, its request's hash.
fn asked(project: &Project) -> String {
    let connection = Connection::open(project.store()).unwrap();
    let set: String =
        connection.query_row("SELECT lower(hex(golden_fingerprint)) FROM run", [], |row| row.get(0)).unwrap();
    let mut statement = connection.prepare(ASKED).unwrap();
    let lines = statement.query_map([], |row| {
        let [target, case] = [row.get::<_, String>(0)?, row.get(1)?];
        let [fingerprint, hash] = [row.get::<_, String>(3)?, row.get(4)?];
        Ok(format!("{target} {case} {} {} {}\n", row.get::<_, u32>(2)?, &fingerprint[..24], &hash[..24]))
    });
    let lines: String = lines.unwrap().map(Result::unwrap).collect();
    format!("golden set {set}\n{lines}")
}

/// What identifies the trials of a simulated run over the shipped set `name`.
fn of_shipped(name: &str) -> String {
    let golden = fs::read_to_string(format!("golden/{name}.jsonl")).unwrap();
    let experiment = "name = \"x\"\ngolden = \"golden.jsonl\"\nseed = 5\nreuse = true\n\n[prompt]\n\
        system = \"You are the help desk.\"\n\n[[target]]\nname = \"t\"\nprovider = \"simulator\"\nmodel = \"m\"\n\
        max_tokens = 50\n";
    let project = Project::new().with("golden.jsonl", &golden).with("e.toml", experiment);
    let code = project.caseload(&["run", "e.toml", "-q"]).code;
    assert_eq!(code, 0, "the simulator answers all");
    asked(&project)
}

#[test]
fn the_shipped_sets_have_the_fingerprints_of_before() {
    holds!("identity_smoke", of_shipped("smoke"));
    holds!("identity_help_desk", of_shipped("help-desk"));
}

#[test]
fn every_shape_of_case_and_setting_is_known_as_before() {
    let project = shop::empty();
    let live = fs::read_to_string(shop::kept("live.toml")).unwrap();
    let more = "[[target]]\nname = \"full\"\nprovider = \"o\"\nmodel = \"m-1\"\nmax_tokens = 50\ntemperature = 0.5\n\
        top_p = 0.9\nstop = [\"END\"]\nstream = true\ncache = { at = \"history\", ttl = \"1h\" }\n\
        extra = { b = 1, a = { y = 2.5, x = [true] } }\n\n[target.prompt]\n\
        user = \"{{ id }}: {{ message }}\"\n\n";
    // Nobody answers there: what was asked is known all the same.
    let live = live
        .replace("[provider.o]", &format!("{more}[provider.o]"))
        .replace("max_retries = 2", "max_retries = 0");
    project.write("live.toml", &live);
    project.caseload(&["run", "live.toml", "-q", "--set", "reuse=true", "--repeats", "2"]);
    // The breaker opens at the fiftieth failure, between the trials of that case: which of them were asked is chance.
    let certain = |line: &&str| line.starts_with("claude") || !line.contains(" case-12 ");
    let asked = asked(&project);
    holds!(
        "identity_shapes",
        asked.lines().filter(certain).map(|line| format!("{line}\n")).collect::<String>()
    );
}

#[test]
fn the_order_of_keys_and_what_is_not_asked_change_no_fingerprint() {
    let golden = |line: &str| {
        let project = shop::empty();
        project.write("golden.jsonl", &format!("{line}\n"));
        project.write("none.toml", "");
        project.caseload(&[
            "run",
            "nightly.toml",
            "-q",
            "--repeats",
            "1",
            "--set",
            "gates.sign_offs=none.toml",
            "--set",
            "reuse=true",
        ]);
        let text = asked(&project);
        text.lines().nth(1).and_then(|line| line.split(' ').nth(3)).expect("one trial at least").to_owned()
    };
    let one = r#"{"id": "a", "input": "x", "context": {"b": 1, "a": [1, 2]}, "graders": [{"kind": "words", "all": ["x"]}]}"#;
    let other = r#"{"graders": [{"all": ["x"], "kind": "words"}], "context": {"a": [1, 2], "b": 1}, "input": "x", "id": "a"}"#;
    holds!("identity_keys", format!("{}\n{}\n", golden(one), golden(other)));
}
