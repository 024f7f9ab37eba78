//! `--events FILE`: what happens in a run, read as whoever watches reads it.

use std::{collections::BTreeMap, fs, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    experiment,
    support::{Answer, Project, Signal, Stub, signal},
};

/// The right answer to the question in a chat request.
fn right(body: &Value) -> String {
    let question = body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap();
    format!("It is right {}.", question.rsplit(' ').next().unwrap())
}

/// The lines of `events.jsonl`.
fn events(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.path("events.jsonl")).unwrap();
    assert!(text.ends_with('\n'), "the last line is whole");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["event"] == kind).collect()
}

/// What happened to each trial, in order.
fn by_trial(events: &[Value]) -> BTreeMap<String, Vec<&str>> {
    let mut trials: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["purpose"] == "trial") {
        let trial = format!("{} {} {}", event["target"], event["case"], event["repeat"]);
        trials.entry(trial).or_default().push(event["event"].as_str().unwrap());
    }
    trials
}

const PRICE: &str = "[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n\
                     usd_per_mtok = { input = 3.00, output = 6.00 }\n";

#[test]
fn every_trial_is_told_from_its_queue_to_its_verdict_and_the_counts_are_those_of_the_store() {
    let stub = Stub::new(|number, body| match number {
        3 | 7 => Answer::error(500, "server_error", "no luck with key sk-test-123"),
        _ => Answer::chat(&right(body)),
    });
    let quick = "retry = { base_delay_ms = 1 }\n";
    let text = experiment(&stub.url(), "repeats = 2") + quick + "\n" + PRICE;
    let project = Project::new().with_cases(10).with("e.toml", &text);
    project.caseload(&["run", "e.toml", "--events", "events.jsonl"]).exits(0);
    let events = events(&project);

    let trials = by_trial(&events);
    assert_eq!(trials.len(), 20);
    assert!(trials.contains_key("\"t\" \"c9\" 2"), "{trials:?}");
    let (plain, repeated): (Vec<_>, Vec<_>) = trials.values().partition(|told| told.len() == 4);
    assert!(plain.iter().all(|told| **told == ["queued", "sent", "ended", "graded"]), "{plain:?}");
    let again = ["queued", "sent", "attempt_failed", "sent", "ended", "graded"];
    assert_eq!(repeated, [&again, &again]);

    let count = |query: &str| usize::try_from(project.sql::<i64>(query)).unwrap();
    assert_eq!(of(&events, "sent").len(), count("SELECT count(*) FROM attempt"));
    assert_eq!(of(&events, "ended").len(), count("SELECT count(*) FROM trial WHERE outcome = 'answered'"));
    let passes = of(&events, "graded").into_iter().filter(|event| event["verdict"] == "pass").count();
    assert_eq!(passes, count("SELECT count(*) FROM trial WHERE verdict = 'pass'"));
    for failed in of(&events, "attempt_failed") {
        assert_eq!((&failed["class"], &failed["kind"]), (&json!("retry"), &json!("server")));
        assert_eq!((&failed["http_status"], &failed["attempt"]), (&json!(500), &json!(1)));
        assert!(failed["retry_in_ms"].is_u64(), "{failed}");
    }
    for ended in of(&events, "ended") {
        assert_eq!((&ended["usage"]["input_uncached"], &ended["usage"]["output"]), (&json!(10), &json!(5)));
        assert_eq!(ended["cost_usd"], "0.00006");
        assert!(ended["latency_ms"].as_f64().unwrap() > 0.0, "{ended}");
    }

    let (first, last) = (&events[0], &events[events.len() - 1]);
    assert_eq!((&first["event"], &first["schema_version"]), (&json!("run_started"), &json!(1)));
    assert_eq!((&first["planned"], &first["to_do"]), (&json!(20), &json!(20)));
    assert_eq!((&last["event"], &last["status"]), (&json!("run_finished"), &json!("complete")));
    assert_eq!((&last["ended"], &last["pending"]), (&json!(20), &json!(0)));
    assert!(
        events.iter().all(|event| event["run"] == "test-1" && event["at"].as_str().unwrap().ends_with('Z'))
    );
}

#[test]
fn nobodys_own_words_and_no_key_are_in_it() {
    let stub = Stub::new(|number, _| match number {
        0 => Answer::error(400, "invalid", "question 0 was sent with sk-test-123"),
        _ => Answer::chat("a secret answer with sk-test-123"),
    });
    let project = Project::new().with_cases(4).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml", "--events", "events.jsonl"]).exits(3);
    let text = fs::read_to_string(project.path("events.jsonl")).unwrap();
    for secret in ["sk-test", "secret answer", "was sent with", "question"] {
        assert!(!text.contains(secret), "`{secret}` is in the file:\n{text}");
    }
}

#[test]
fn an_interrupted_run_says_so_and_its_resume_goes_on_in_the_same_file() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_millis(20)));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 4 }\n";
    let project = Project::new().with_cases(200).with("e.toml", &text);
    let child = project.start(&["run", "e.toml", "--quiet", "--events", "events.jsonl"]);
    while stub.count() < 40 {
        thread::sleep(Duration::from_millis(1));
    }
    signal(&child, Signal::INT);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    let first = events(&project);
    let ended = of(&first, "ended").len();
    assert_eq!(i64::try_from(ended).unwrap(), project.sql::<i64>("SELECT count(*) FROM trial"));
    let stops = of(&first, "stopped");
    assert_eq!(stops.iter().map(|stop| &stop["reason"]).collect::<Vec<_>>(), ["interrupted"]);
    let last = &first[first.len() - 1];
    assert_eq!((&last["status"], &last["pending"]), (&json!("interrupted"), &json!(200 - ended)));
    // What was queued and not sent went back; nothing is left open.
    for told in by_trial(&first).values() {
        assert!(
            matches!(told.as_slice(), ["queued", "sent", "ended", "graded"] | ["queued", "returned"]),
            "{told:?}"
        );
    }

    project.caseload(&["resume", "latest", "--quiet", "--events", "events.jsonl"]).exits(0);
    let both = events(&project);
    assert_eq!(both[..first.len()], first);
    assert_eq!(both[first.len()]["to_do"], 200 - ended);
    assert_eq!((of(&both, "ended").len(), of(&both, "run_started").len()), (200, 2));
}

#[test]
fn what_flew_when_all_was_stopped_is_told_as_cancelled_and_to_do_again() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)).after(Duration::from_secs(5)));
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 4 }\n";
    let project = Project::new().with_cases(50).with("e.toml", &text);
    let mut child = project.start(&["run", "e.toml", "--quiet", "--events", "events.jsonl"]);
    while stub.count() < 4 {
        thread::sleep(Duration::from_millis(1));
    }
    for _ in 0..2 {
        signal(&child, Signal::INT);
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let events = events(&project);
    let failed = of(&events, "attempt_failed");
    assert_eq!(failed.len(), 4);
    assert!(failed.iter().all(|event| event["kind"] == "cancelled" && event["may_be_billed"] == true));
    assert_eq!(of(&events, "queued").len(), of(&events, "returned").len());
    assert_eq!(events[events.len() - 1]["event"], "run_finished");
}

#[test]
fn a_refused_account_is_told_once() {
    let stub = Stub::new(|_, _| Answer::error(401, "invalid_api_key", "wrong key"));
    let project = Project::new().with_cases(30).with("e.toml", &experiment(&stub.url(), ""));
    project.caseload(&["run", "e.toml", "--events", "events.jsonl"]).exits(6);
    let events = events(&project);
    let stops = of(&events, "stopped");
    let [stop] = stops.as_slice() else { panic!("{stops:?}") };
    assert_eq!((&stop["reason"], &stop["provider"]), (&json!("queue_refused"), &json!("p")));
    assert_eq!((&stop["kind"], &stop["http_status"]), (&json!("authentication"), &json!(401)));
    assert_eq!(of(&events, "queued").len(), of(&events, "returned").len());
}

#[test]
fn what_is_waited_for_is_in_the_file_within_a_second() {
    let stub = Stub::new(|number, body| {
        let answer = Answer::chat(&right(body));
        if number == 0 { answer } else { answer.after(Duration::from_secs(4)) }
    });
    let text = experiment(&stub.url(), "") + "limits = { max_in_flight = 1 }\n";
    let project = Project::new().with_cases(2).with("e.toml", &text);
    let child = project.start(&["run", "e.toml", "--quiet", "--events", "events.jsonl"]);
    while stub.count() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(2_000));
    let events = events(&project);
    assert_eq!((of(&events, "ended").len(), of(&events, "sent").len()), (1, 2));
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_said_once_and_the_run_ends_as_it_would() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)));
    let project = Project::new().with_cases(8).with("e.toml", &experiment(&stub.url(), ""));
    let finished = project.caseload(&["run", "e.toml", "--events", "/dev/full"]).exits(0);
    assert_eq!(finished.stderr.matches("/dev/full").count(), 1, "{}", finished.stderr);
    finished.stderr_has("No space left on device (os error 28); no more events are written");
    assert_eq!(project.sql::<i64>("SELECT count(*) FROM trial WHERE verdict = 'pass'"), 8);
}

#[test]
fn a_file_that_cannot_be_opened_is_a_fault_of_usage_and_nothing_is_sent() {
    let stub = Stub::new(|_, body| Answer::chat(&right(body)));
    let project = Project::new().with_cases(4).with("e.toml", &experiment(&stub.url(), ""));
    let to = |file| project.caseload(&["run", "e.toml", "--events", file]).exits(2);
    to("nowhere/events.jsonl").stderr_has("--events <FILE>").stderr_has("No such file or directory");
    to("-").stderr_has("stdout has the result");
    to(".").stderr_has("Is a directory");
    project.caseload(&["run", "e.toml", "--dry-run", "--events", "events.jsonl"]).exits(2);
    assert!(stub.count() == 0 && !project.store().exists() && !project.path("nowhere").exists());
}

#[test]
fn every_command_that_sends_tells_its_events_and_an_earlier_answer_is_no_request() {
    let text = "name = \"test\"\ngolden = \"golden.jsonl\"\nreuse = true\n\n\
                [[target]]\nname = \"a\"\nprovider = \"simulator\"\nmodel = \"m\"\nsimulate = { skill = 0.9 }\n\n\
                [[target]]\nname = \"b\"\nprovider = \"simulator\"\nmodel = \"n\"\nsimulate = { skill = 0.1 }\n";
    let project = Project::new().with_cases(12).with("e.toml", text);
    let told = |arguments: &[&str]| {
        let _ = fs::remove_file(project.path("events.jsonl"));
        let arguments = [arguments, &["--quiet", "--events", "events.jsonl"]].concat();
        project.caseload(&arguments).exits(0);
        events(&project)
    };
    let pilot = told(&["pilot", "e.toml", "--cases", "4"]);
    assert_eq!((&pilot[0]["planned"], &pilot[0]["to_do"]), (&json!(24), &json!(8)));
    assert_eq!(of(&told(&["run", "e.toml", "--continue"]), "ended").len(), 16);
    let reused = told(&["run", "e.toml"]);
    assert_eq!((of(&reused, "sent").len(), of(&reused, "ended").len()), (0, 24));
    assert!(
        of(&reused, "ended").iter().all(|ended| ended["source"] == "cache" && ended["cost_usd"] == "0.00")
    );
    let confirm = told(&["confirm", "test-1:a", "test-1:b", "--repeats", "4"]);
    assert_eq!((of(&confirm, "run_started").len(), of(&confirm, "run_finished").len()), (2, 2));
}

#[test]
fn a_rehearsal_tells_what_its_own_server_causes() {
    let project = Project::new().with_cases(6).with("e.toml", &experiment("http://127.0.0.1:9", ""));
    let calm = ["rehearse", "e.toml", "--latency-ms", "1", "--jitter-ms", "0", "--events", "events.jsonl"];
    project.caseload(&calm).exits(0);
    let events = events(&project);
    assert_eq!((&events[0]["run"], of(&events, "ended").len()), (&json!("test-rehearsal-1"), 6));
}
