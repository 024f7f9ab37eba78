//! Steering a run that another process works on, sharing an account, and using answers again.

use std::{
    process::Child,
    thread,
    time::{Duration, Instant},
};

use caseload::mock::{MockServer, MockSettings};
use serde_json::{Value, json};

use crate::{
    experiment,
    support::{Answer, Project, Stub},
};

/// The right answer to the question in a chat request.
fn right(body: &Value) -> String {
    let question = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    format!("It is right {}.", question.rsplit(' ').next().unwrap())
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what} did not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

/// How a started process ended, and when.
fn end(child: Child) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_running_run_is_paused_goes_on_and_takes_other_limits() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_millis(30)));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 2 }\n";
    let project = Project::new().with_cases(200).with("e.toml", &text);
    let child = project.start(&["run", "e.toml"]);
    wait_until("the start", || stub.count() >= 5);
    project.caseload(&["pause"]).exits(0).stdout_has("test-1 · p · paused by you");
    thread::sleep(Duration::from_millis(1_200));
    let held = stub.count();
    thread::sleep(Duration::from_millis(400));
    assert_eq!(stub.count(), held, "nothing new starts in a paused run");
    assert!(held < 150 && stub.most_open() <= 2);

    let limits = ["limits", "test-1", "--max-in-flight", "8", "--rpm", "60000", "--json"];
    let told = project.caseload(&limits).exits(0).json();
    assert_eq!(told["queues"][0]["limits"]["max_in_flight"], 8);
    assert_eq!(told["queues"][0]["paused"], true);
    project.caseload(&["continue", "latest", "--provider", "p"]).exits(0);
    let (code, stderr) = end(child);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("at most 8 in flight, 60,000 requests/min"), "{stderr}");
    assert!((3..=8).contains(&stub.most_open()), "{} at once", stub.most_open());
    assert_eq!(stub.count(), 200);
}

#[test]
fn a_run_that_is_not_running_cannot_be_steered() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)));
    let project = Project::new().with_cases(2).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["pause"]).exits(2).stderr_has("run `test-1` is not running").stderr_has("hint:");
    project.caseload(&["limits", "latest", "--rpm", "0"]).exits(2);
    project.caseload(&["limits", "latest"]).exits(2);
}

#[test]
fn two_processes_on_one_account_stay_under_its_limit_together_and_neither_starves() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let settings = MockSettings { requests_per_minute: Some(600.0), ..MockSettings::default() };
    let server = runtime.block_on(MockServer::start(settings, vec![])).unwrap();
    let text = experiment(&server.url(), "") + "limits = { requests_per_minute = 600 }\n";
    let project = Project::new().with_cases(60).with("e.toml", &text);
    let began = Instant::now();
    let first = project.start(&["run", "e.toml", "--quiet"]);
    // In the middle of the other's work, when the account has nothing to spare.
    wait_until("the first's start", || server.stats().requests >= 15);
    let second = project.start(&["run", "e.toml", "--quiet"]);
    let waiting = thread::spawn(move || (end(first), began.elapsed()));
    let (code, stderr) = end(second);
    assert_eq!(code, 0, "{stderr}");
    let second_took = began.elapsed();
    let ((code, stderr), first_took) = waiting.join().unwrap();
    assert_eq!(code, 0, "{stderr}");

    let stats = server.stats();
    assert_eq!(stats.by_status.get(&429), None, "{stats:?}");
    assert_eq!(stats.by_status.get(&200), Some(&120));
    // 110 requests after the burst at 10 a second are 11 s. The first, alone for 0.6 s, has 45 left
    // and gets half: another 9 s. Had it not shared it would be done after 5 s.
    assert!(first_took > Duration::from_secs(7), "the second starved: {first_took:?}");
    assert!(second_took < Duration::from_secs(20), "time was lost: {second_took:?}");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial"), 120);
    let shared = project.sql::<String>("SELECT record FROM queue_log WHERE run = 1");
    assert!(shared.contains("\"most_members\":2"), "{shared}");
    let folders = std::fs::read_dir(project.path("caseload")).unwrap();
    let left: usize = folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count()).sum();
    assert_eq!(left, 0, "whoever ends leaves the account");
}

#[test]
fn no_file_is_made_where_nothing_is_shared() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)));
    for limits in ["", "limits = { requests_per_minute = 60000, shared = false }\n"] {
        let text = experiment(&stub.url(), "") + limits;
        let project = Project::new().with_cases(4).with("e.toml", &text);
        project.caseload(&["run", "e.toml"]).exits(0);
        assert!(!project.path("caseload").exists());
    }
}

const PRICE: &str = "[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
                     usd_per_mtok = { input = 3.00, output = 6.00 }\n";

/// ASKS 31 and 37.
#[test]
fn a_second_run_with_reuse_asks_nothing_and_its_latency_is_not_measured() {
    let stub = Stub::new(|number, body| Answer::chat(&format!("{} ({number})", right(body))));
    let text = experiment(&stub.url(), "repeats = 3\nreuse = true") + PRICE;
    let project = Project::new().with_cases(4).with("e.toml", &text);
    let cold = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(stub.count(), 12, "three repeats are three requests");
    assert_eq!(cold["targets"][0]["reused_trials"], 0);
    assert_eq!(project.sql::<i64>("SELECT count(DISTINCT answer) FROM trial_view"), 12);

    let warm = project.caseload(&["run", "e.toml", "--json"]).exits(0).json();
    assert_eq!(stub.count(), 12);
    let target = &warm["targets"][0];
    assert_eq!((&target["reused_trials"], &target["graded"]), (&json!(12), &json!(12)));
    assert_eq!((&target["latency_ms"]["n"], &target["latency_ms"]["p95"]), (&json!(0), &Value::Null));
    assert_eq!((&target["cost_usd"], &target["attempts"]), (&json!("0.00"), &json!(0)));
    assert_eq!(target["reused_original_cost_usd"], cold["targets"][0]["cost_usd"]);
    assert_eq!(target["pass_rate"], cold["targets"][0]["pass_rate"]);
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE run = 2 AND source = 'cache'"), 12);
    let kept = "SELECT count(*) FROM reuse_view WHERE run = 'test-2' AND original_run = 'test-1'
        AND original_latency_ms > 0 AND original_cost_picodollars > 0";
    assert_eq!(project.sql::<i64>(kept), 12);
    project.caseload(&["show"]).exits(0).stdout_has("12 answers of earlier runs");
    project.caseload(&["show", "--case", "c0"]).exits(0).stdout_has("answer of an earlier run");

    // A fourth repeat, another parameter and a run that does not reuse are asked.
    project.caseload(&["run", "e.toml", "--repeats", "4"]).exits(0);
    assert_eq!(stub.count(), 16);
    project.caseload(&["run", "e.toml", "--set", "target.t.max_tokens=51"]).exits(0);
    assert_eq!(stub.count(), 28);
    project.caseload(&["run", "e.toml", "--set", "reuse=false"]).exits(0);
    assert_eq!(stub.count(), 40);
}

#[test]
fn a_reused_answer_is_not_held_against_the_budget() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)));
    let text = experiment(&stub.url(), "reuse = true") + PRICE;
    let project = Project::new().with_cases(4).with("e.toml", &text);
    project.caseload(&["run", "e.toml"]).exits(0);
    project.caseload(&["run", "e.toml", "--max-cost", "0.000001"]).exits(0);
    project.caseload(&["run", "e.toml", "--max-cost", "0.000001", "--set", "reuse=false"]).exits(4);
    assert_eq!(stub.count(), 4);
}
