use std::{collections::BTreeSet, fs};

use serde_json::{Value, json};

use super::*;
use crate::{
    app::{run, testing::Stored},
    domain::event_samples::{WORDS_OF_OTHERS, one_of_each, stops},
};

fn names() -> Names {
    Names::of(&run::begin(Stored::empty("").ready()).unwrap())
}

fn line(names: &Names, event: &RunEvent) -> Value {
    serde_json::to_value(names.line(UnixMillis(1_764_590_400_123), event)).unwrap()
}

/// The lines of every kind of event, and of every reason to stop.
fn lines() -> Vec<Value> {
    let names = names();
    one_of_each().iter().map(|event| line(&names, event)).collect()
}

fn of_kind(kind: &str) -> Value {
    lines().into_iter().find(|line| line["event"] == kind).unwrap()
}

#[test]
fn a_call_is_named_by_target_case_and_repeat() {
    let expected = json!({
        "at": "2025-12-01T12:00:00.123Z", "run": "test-1", "event": "sent", "provider": "account",
        "purpose": "trial", "target": "good", "case": "c1", "repeat": 2, "attempt": 1,
    });
    assert_eq!(of_kind("sent"), expected);
}

#[test]
fn an_answer_is_told_in_figures() {
    let line = of_kind("ended");
    assert_eq!(
        (&line["outcome"], &line["kind"], &line["source"]),
        (&json!("answered"), &json!(null), &json!("live"))
    );
    assert_eq!((&line["cost_usd"], &line["latency_ms"]), (&json!("0.01"), &json!(812.5)));
    assert_eq!(line["usage"]["input_uncached"], 100);
}

#[test]
fn waits_are_milliseconds_and_end_at_an_instant() {
    let paused = of_kind("paused");
    assert_eq!((&paused["wait_ms"], &paused["until"]), (&json!(7_000), &json!("2025-12-01T12:00:07.123Z")));
    let failed = of_kind("attempt_failed");
    assert_eq!((&failed["class"], &failed["retry_in_ms"]), (&json!("retry_slow"), &json!(1_500)));
}

#[test]
fn a_stop_names_what_stops() {
    let lines = lines();
    let stopped: Vec<_> = lines.iter().filter(|line| line["event"] == "stopped").collect();
    let told: Vec<_> =
        stopped.iter().map(|line| (&line["reason"], &line["provider"], &line["target"])).collect();
    let text = |text: &str| json!(text);
    let (account, good, none) = (text("account"), text("good"), Value::Null);
    let reasons = [
        (text("queue_refused"), &account, &none),
        (text("target_refused"), &none, &good),
        (text("breaker"), &account, &none),
        (text("wait_too_long"), &account, &none),
        (text("budget"), &none, &none),
        (text("unbounded"), &none, &good),
        (text("decided"), &none, &none),
        (text("interrupted"), &none, &none),
    ];
    assert_eq!(told, reasons.each_ref().map(|(reason, provider, target)| (reason, *provider, *target)));
    assert_eq!(stopped.len(), stops().len());
    assert_eq!((&stopped[4]["spent_usd"], &stopped[4]["limit_usd"]), (&json!("0.99"), &json!("1.00")));
}

#[test]
fn nobodys_own_words_are_told() {
    for line in lines() {
        assert!(!line.to_string().contains(WORDS_OF_OTHERS), "{line}");
    }
}

/// The fields that every line has.
const EVERYWHERE: [&str; 3] = ["at", "run", "event"];

/// The fields that `*call*` stands for.
const CALL: [&str; 4] = ["purpose", "target", "case", "repeat"];

/// The rows of the table below the heading `## Events` in docs/json.md: an event, and its fields.
fn documented() -> BTreeSet<(String, BTreeSet<String>)> {
    let text = fs::read_to_string("docs/json.md").unwrap();
    let section = text.split("\n## Events\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let row = |row: &str| {
        let (event, cells) = row.split_once('`').unwrap();
        let cell = cells.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let call = CALL.into_iter().filter(|_| cell.starts_with("*call*"));
        let fields = cell.split('`').skip(1).step_by(2).chain(call);
        (event.to_owned(), fields.map(ToOwned::to_owned).collect())
    };
    section.lines().filter_map(|line| line.strip_prefix("| `")).map(row).collect()
}

#[test]
fn the_documentation_lists_every_event_with_every_field_and_no_other() {
    let told = |line: &Value| {
        let fields = line.as_object().unwrap().keys();
        let own = fields.filter(|field| !EVERYWHERE.contains(&field.as_str())).cloned().collect();
        (line["event"].as_str().unwrap().to_owned(), own)
    };
    assert_eq!(lines().iter().map(told).collect::<BTreeSet<_>>(), documented());
}
