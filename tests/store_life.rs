//! The life of a store: shards and merging, deleting, copies, forgetting, a full disk.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    experiment,
    support::{Answer, Project, Stub},
};

/// Two simulated targets over `golden.jsonl`.
const SIMULATED: &str = r#"
name = "test"
golden = "golden.jsonl"
repeats = 3
seed = 7

[[target]]
name = "large"
provider = "simulator"
model = "made-up-large"
simulate = { skill = 0.8, difficulty_spread = 0.6, cluster_correlation = 0.3, latency_ms = { mean = 1, jitter = 1 } }

[[target]]
name = "small"
provider = "simulator"
model = "made-up-small"
simulate = { skill = 0.6, difficulty_spread = 0.6, cluster_correlation = 0.3, latency_ms = { mean = 1, jitter = 1 } }

[provider.simulator]
kind = "simulator"
limits = { max_in_flight = 50 }

[[price]]
model = "made-up-large"
effective_from = 2026-01-01
source = "made up"
usd_per_mtok = { input = 4.00, output = 20.00 }
"#;

/// The figures without those that time gives.
fn timeless(mut card: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                for key in ["wall_s", "wall_seconds", "latency_ms", "queue_wait_ms", "queues"] {
                    map.remove(key);
                }
                map.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut card);
    card
}

fn run_shards(project: &Project, of: u32) -> Vec<String> {
    (1..=of)
        .map(|number| {
            let store = format!("shard-{number}.db");
            let shard = format!("{number}/{of}");
            project.caseload(&["run", "e.toml", "--quiet", "--shard", &shard, "--store", &store]).exits(0);
            store
        })
        .collect()
}

#[test]
fn eight_merged_shards_equal_the_run_of_one_machine() {
    let project = Project::new().with_cases(200).with("e.toml", SIMULATED);
    let whole =
        project.caseload(&["run", "e.toml", "--quiet", "--json", "--store", "whole.db"]).exits(0).json();
    let shards = run_shards(&project, 8);
    let mut arguments = vec!["store", "merge"];
    arguments.extend(shards.iter().map(String::as_str));
    project.caseload(&arguments).exits(0).stdout_has("test-1  8 of 8 shards");
    let merged = project.caseload(&["show", "--json"]).exits(0).json();
    assert_eq!(merged["targets"][0]["cases"], 200);
    assert_eq!(timeless(merged), timeless(whole));
    // Trials come in golden-set order, as those of the run of one machine do.
    let exported = |arguments: &[&str]| -> Vec<(String, String, String)> {
        let text = project.caseload(arguments).exits(0).stdout;
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|l| (l["id"].to_string(), l["output"].to_string(), l["scores"].to_string())).collect()
    };
    assert_eq!(exported(&["export", "test-1"]), exported(&["export", "test-1", "--store", "whole.db"]));
    project.caseload(&arguments).exits(0).stdout_has("test-1  is there already");
    project.caseload(&["store", "check"]).exits(0);
    // Nothing is left to ask.
    project.caseload(&["resume", "test-1", "--quiet"]).exits(0);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 1_200);
}

#[test]
fn shards_join_one_after_the_other_and_those_that_do_not_fit_are_named() {
    let project = Project::new().with_cases(40).with("e.toml", SIMULATED);
    let shards = run_shards(&project, 3);
    let merge = |store: &str| project.caseload(&["store", "merge", store]);
    merge(&shards[2]).exits(0).stdout_has("1 of 3 shards");
    merge(&shards[0]).exits(0).stdout_has("2 of 3 shards");
    let status = |field: &str| project.sql::<String>(&format!("SELECT {field} FROM run"));
    assert_eq!(
        (status("status"), status("stop_reason")),
        ("incomplete".into(), "shards missing of 3: 2".into())
    );

    let other = |store: &str, arguments: &[&str]| {
        let mut all = vec!["run", "e.toml", "--quiet", "--store", store];
        all.extend(arguments);
        project.caseload(&all).exits(0);
        merge(store).exits(2).stderr_has(store)
    };
    other("seed.db", &["--shard", "2/3", "--seed", "8"]).stderr_has("its seed is 8 and not 7");
    other("set.db", &["--shard", "2/3", "--repeats", "1"]).stderr_has("its settings differ");
    other("of.db", &["--shard", "2/4"]).stderr_has("another number of shards");
    other("twice.db", &["--shard", "1/3"]).stderr_has("shard 1/3 is there already");
    project.write(
        "golden.jsonl",
        &fs::read_to_string(project.path("golden.jsonl")).unwrap().replace("right 1\"", "left\""),
    );
    other("golden.db", &["--shard", "2/3"]).stderr_has("another golden set");

    merge(&shards[1]).exits(0).stdout_has("3 of 3 shards");
    assert_eq!(status("status"), "complete");
    merge("store.db").exits(2).stderr_has("is the store itself");
    project.caseload(&["run", "e.toml", "--shard", "9/8"]).exits(2).stderr_has("write `3/8`");
}

#[test]
fn runs_of_another_machine_are_taken_over_under_a_free_name() {
    let project = Project::new().with_cases(8).with("e.toml", SIMULATED);
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    project.caseload(&["run", "e.toml", "--quiet", "--store", "other.db"]).exits(0);
    project.caseload(&["store", "merge", "other.db"]).exits(2).stderr_has("that name is taken");
    project.caseload(&["store", "merge", "other.db", "--renumber"]).exits(0).stdout_has("test-2  added");
    let card = |run: &str| project.caseload(&["show", run, "--json"]).exits(0).json()["targets"].clone();
    assert_eq!(timeless(card("test-1")), timeless(card("test-2")));
    project.caseload(&["store", "check"]).exits(0);
}

#[test]
fn runs_are_deleted_and_kept() {
    let project = Project::new().with_cases(4).with("e.toml", SIMULATED);
    for _ in 0..4 {
        project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    }
    let runs = || project.caseload(&["runs", "--json"]).exits(0).json()["runs"].as_array().unwrap().len();
    project
        .caseload(&["runs", "keep", "--last", "2", "--per-name", "--dry-run"])
        .exits(0)
        .stdout_has("test-1");
    assert_eq!(runs(), 4);
    let kept = project.caseload(&["runs", "keep", "--last", "2", "--per-name"]).exits(0);
    assert_eq!(kept.stdout, "test-2  deleted\ntest-1  deleted\n");
    project.caseload(&["runs", "delete", "nosuch"]).exits(2).stderr_has("no run is called");
    project.caseload(&["runs", "delete", "latest"]).exits(0).stdout_has("test-4  deleted");
    assert_eq!(runs(), 1);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 24);
    project.caseload(&["store", "check"]).exits(0);
    project.caseload(&["store", "compact"]).exits(0);
    let info = project.caseload(&["store", "info", "--json"]).exits(0).json();
    assert_eq!((&info["runs"][0]["trials"], &info["free_bytes"]), (&json!(24), &json!(0)));
    project.caseload(&["store", "info"]).exits(0).stdout_has("test-3");
}

#[test]
fn a_forgotten_person_leaves_no_byte() {
    let secret = "Erika Mustermann of Heidestrasse 17";
    let stub = Stub::new(move |_, body| {
        let asked = body["messages"].to_string();
        if asked.contains("broken") {
            return Answer::error(400, "invalid", &format!("cannot help {secret} at all"));
        }
        // Long enough to be compressed, and short enough to stay plain.
        let length = if asked.contains("long") { 200 } else { 1 };
        Answer::chat(&format!("Dear {secret}, it is right. ").repeat(length))
    });
    let case = |id: &str, trace: &str| {
        json!({
            "id": id, "source": {"trace_id": trace}, "input": format!("{id}: who is {secret}?"),
            "context": {"account": secret}, "expected": {"must_contain": [secret]},
            "graders": [{"kind": "words"}], "examples": {"pass": [secret], "fail": ["no"]},
        })
        .to_string()
    };
    let lines = [case("short", "tr-1"), case("long", "tr-1"), case("broken", "tr-1")].join("\n");
    let other = json!({"id": "other", "input": "hello", "expected": {"must_contain": ["right"]}, "graders": [{"kind": "words"}]});
    let project = Project::new()
        .with("golden.jsonl", &format!("{lines}\n{other}\n"))
        .with("e.toml", &experiment(&stub.url(), "repeats = 2"));
    project.caseload(&["run", "e.toml", "--quiet"]).exits(3);
    project.caseload(&["run", "e.toml", "--quiet"]).exits(3);
    // Another person's answer, which is none of ours: it goes with its own case.
    assert!(project.store_holds(secret));
    let before = project.caseload(&["show", "--json"]).exits(0).json();
    project.caseload(&["store", "forget", "--trace", "tr-9"]).exits(2).stderr_has("no run holds `tr-9`");
    project
        .caseload(&["store", "forget", "--trace", "tr-1"])
        .exits(0)
        .stdout_has("forgot broken, long, short in 2 runs, 12 trials");
    project.caseload(&["store", "forget", "--case", "other"]).exits(0);
    for word in [secret, "Mustermann", "tr-1", "Heidestrasse"] {
        assert!(!project.store_holds(word), "{word}");
    }
    for run in ["test-1", "test-2"] {
        for arguments in
            [&["export", run][..], &["show", run, "--failures"], &["show", run, "--case", "long", "--json"]]
        {
            assert!(!project.caseload(arguments).exits(0).stdout.contains("Mustermann"));
        }
    }
    // The compressed texts are gone, too.
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM answer WHERE text <> '' OR zstd IS NOT NULL"), 0);
    let after = project.caseload(&["show", "--json"]).exits(0).json();
    assert_eq!(after["targets"], before["targets"]);
    project.caseload(&["grade", "latest"]).exits(2).stderr_has("was forgotten");
    project.caseload(&["store", "check"]).exits(0);
}

#[test]
fn answers_can_be_kept_as_hashes_alone() {
    let stub = Stub::new(|_, _| Answer::chat("It is right 0, said the walrus."));
    let project = Project::new()
        .with_cases(1)
        .with("e.toml", &experiment(&stub.url(), "store_answers = \"hash\"\nrepeats = 3"));
    let card = project.caseload(&["run", "e.toml", "--quiet", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["pass_rate"]["point"], 1.0);
    assert!(!project.store_holds("walrus"));
    let line: Value =
        serde_json::from_str(project.caseload(&["export", "latest"]).exits(0).stdout.lines().next().unwrap())
            .unwrap();
    assert_eq!((&line["output"], &line["verdict"]), (&Value::Null, &json!("pass")));
    project.caseload(&["show", "--case", "c0"]).exits(0).stdout_has("(not kept)");
    // What is not there cannot be graded again: that is said, and the verdicts stay.
    project.caseload(&["grade", "latest"]).exits(2).stderr_has("kept only the hashes of its answers");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE verdict = 'pass'"), 3);
    // Three equal answers are one.
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM answer"), 1);
}

/// Runs the program with files limited to `blocks` of 512 bytes, as on a disk that fills up.
pub fn on_a_full_disk(project: &Project, blocks: u64, arguments: &str) -> (i32, String) {
    let script = format!("ulimit -f {blocks}; exec \"$0\" {arguments}");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_caseload")])
        .current_dir(project.path(""))
        .env("CASELOAD_STORE", project.store())
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_disk_that_fills_up_half_way_loses_nothing() {
    let project = Project::new().with_cases(200).with("e.toml", SIMULATED);
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    project.caseload(&["runs", "delete", "test-1"]).exits(0);
    let card = project.caseload(&["show", "--json"]).exits(0).json();
    let before = names(&project.path(""));

    let (code, stderr) = on_a_full_disk(&project, 100, "store backup copy.db");
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("failed to write the copy"), "{stderr}");
    assert_eq!(names(&project.path("")), before);
    let (code, stderr) = on_a_full_disk(&project, 100, "store compact");
    assert_eq!(code, 2, "{stderr}");
    project.caseload(&["store", "check"]).exits(0);
    assert_eq!(project.caseload(&["show", "--json"]).exits(0).json(), card);

    project.caseload(&["store", "backup", "copy.db"]).exits(0);
    project.caseload(&["store", "backup", "copy.db"]).exits(2).stderr_has("is there already");
    project.caseload(&["store", "compact"]).exits(0);
    for store in ["copy.db", "store.db"] {
        assert_eq!(project.caseload(&["show", "--json", "--store", store]).exits(0).json(), card);
        project.caseload(&["store", "check", "--store", store]).exits(0);
    }
}

#[test]
fn a_backup_is_made_while_a_run_writes() {
    let slow = SIMULATED.replace("mean = 1,", "mean = 40,");
    let project = Project::new().with_cases(400).with("e.toml", &slow);
    let mut run = project.start(&["run", "e.toml", "--quiet"]);
    while !project.store().exists() || project.caseload(&["show", "--json"]).code != 0 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    project.caseload(&["store", "compact"]).exits(2).stderr_has("is being worked on");
    project.caseload(&["runs", "delete", "latest"]).exits(2).stderr_has("is being worked on");
    project.caseload(&["store", "backup", "copy.db"]).exits(0);
    assert!(run.wait().unwrap().success());
    project.caseload(&["store", "check", "--store", "copy.db"]).exits(0);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 2_400);
}
