//! How a session ends, and what its store's one file then holds.

use std::{fs, process::Child, thread, time::Duration};

use rusqlite::Connection;
use serde_json::Value;

use crate::{
    experiment,
    support::{Answer, Project, Signal, Stub, signal},
};

/// A server that takes its time and is always right.
fn slow() -> Stub {
    Stub::new(|_, body| {
        let question = body["messages"][0]["content"].as_str().unwrap_or_default();
        let number = question.rsplit(' ').next().unwrap_or_default();
        Answer::chat(&format!("It is right {number}.")).after(Duration::from_millis(20))
    })
}

fn project(stub: &Stub, cases: usize, top: &str) -> Project {
    let text = experiment(&stub.url(), top) + "limits = { max_in_flight = 4 }\n";
    Project::new().with_cases(cases).with("e.toml", &text)
}

/// A run that has asked a few questions and has many more to ask.
fn under_way(stub: &Stub, project: &Project) -> Child {
    let child = project.start(&["run", "e.toml", "--quiet"]);
    while stub.count() < 12 {
        thread::sleep(Duration::from_millis(1));
    }
    child
}

/// The trials and the state of the last run that the store's file holds when it is taken alone, as an
/// artefact or a cache takes it; nothing may stand beside it.
fn file_alone(project: &Project) -> (usize, String) {
    let store = project.store();
    for beside in ["-wal", "-shm"] {
        let path = format!("{}{beside}", store.display());
        assert!(!fs::exists(&path).unwrap(), "{path} was left");
    }
    let copy = project.path("copy/caseload.db");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(&store, &copy).unwrap();
    let copy = Connection::open(copy).unwrap();
    let check: String = copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let trials: i64 = copy.query_row("SELECT count(*) FROM trial", [], |row| row.get(0)).unwrap();
    let status = "SELECT status FROM run ORDER BY id DESC LIMIT 1";
    (usize::try_from(trials).unwrap(), copy.query_row(status, [], |row| row.get(0)).unwrap())
}

#[test]
fn after_a_run_and_all_that_reads_it_the_file_alone_is_the_whole_store() {
    let stub = slow();
    let project = project(&stub, 30, "");
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    assert_eq!(file_alone(&project), (30, "complete".to_owned()));
    project.caseload(&["resume", "latest"]).exits(0);
    for reading in [&["show"][..], &["runs"], &["export", "latest"], &["trend"], &["store", "info"]] {
        project.caseload(reading).exits(0);
        assert_eq!(file_alone(&project), (30, "complete".to_owned()), "{reading:?}");
    }
    project.caseload_into_nobody(&["show", "--failures"]);
    assert_eq!(file_alone(&project).0, 30);
}

#[test]
fn a_run_that_uses_earlier_answers_leaves_one_file() {
    let stub = slow();
    let project = project(&stub, 30, "");
    let text = fs::read_to_string(project.path("e.toml")).unwrap();
    project.write("e.toml", &text.replace("max_tokens = 50", "max_tokens = 50\nreuse = true"));
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
    assert_eq!((stub.count(), file_alone(&project)), (30, (60, "complete".to_owned())));
}

#[test]
fn a_run_that_ends_with_any_other_exit_code_leaves_one_file() {
    let stub = slow();
    let project = project(&stub, 30, "");
    let text = fs::read_to_string(project.path("e.toml")).unwrap();
    project.write("e.toml", &format!("{text}[gates]\nmax_p95_latency_ms = 1\n"));
    project.caseload(&["run", "e.toml", "--quiet"]).exits(1);
    assert_eq!(file_alone(&project), (30, "complete".to_owned()));
    project.caseload(&["show", "no-such-run"]).exits(2);
    assert_eq!(file_alone(&project).0, 30);

    let refusing = Stub::new(|_, _| Answer::error(401, "invalid_api_key", "Incorrect API key"));
    let project = self::project(&refusing, 30, "");
    project.caseload(&["run", "e.toml", "--quiet"]).exits(6);
    assert_eq!(file_alone(&project).0, 0);

    let failing = Stub::new(|at, _| match at {
        0 => Answer::error(400, "context_length_exceeded", "maximum context length is 5 tokens"),
        _ => Answer::chat("right"),
    });
    let project = self::project(&failing, 30, "");
    project.caseload(&["run", "e.toml", "--quiet"]).exits(3);
    assert_eq!(file_alone(&project), (30, "incomplete".to_owned()));
}

#[test]
fn every_signal_that_asks_to_end_drains_and_leaves_one_file_that_holds_every_answer() {
    for (asked, times) in [
        (Signal::INT, 1),
        (Signal::TERM, 1),
        (Signal::HUP, 1),
        // A shell and the kernel both tell of a closed terminal: that is no second wish.
        (Signal::HUP, 3),
    ] {
        let stub = slow();
        let project = project(&stub, 400, "");
        let child = under_way(&stub, &project);
        for _ in 0..times {
            signal(&child, asked);
            thread::sleep(Duration::from_millis(3));
        }
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{asked:?}");
        let (trials, status) = file_alone(&project);
        assert_eq!((trials, status.as_str()), (stub.count(), "interrupted"), "{asked:?}, {times} times");
    }
}

#[test]
fn whoever_insists_ends_at_once_and_still_leaves_one_file() {
    for [first, second] in
        [[Signal::INT, Signal::INT], [Signal::TERM, Signal::INT], [Signal::HUP, Signal::TERM]]
    {
        let never = Stub::new(|at, _| {
            let answer = Answer::chat("right");
            if at < 12 { answer } else { answer.after(Duration::from_secs(60)) }
        });
        let project = project(&never, 400, "");
        let child = under_way(&never, &project);
        thread::sleep(Duration::from_millis(100));
        signal(&child, first);
        thread::sleep(Duration::from_millis(100));
        signal(&child, second);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{first:?}, {second:?}");
        let (trials, status) = file_alone(&project);
        assert!(trials >= 12 && status == "interrupted", "{trials} {status}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does_so() {
    use std::process::{Command, Stdio};

    let stub = slow();
    let project = project(&stub, 60, "");
    let mut child = Command::new("nohup")
        .args([env!("CARGO_BIN_EXE_caseload"), "run", "e.toml", "--quiet"])
        .current_dir(project.path(""))
        .env("TEST_KEY", "sk-test-123")
        .env("CASELOAD_STORE", project.store())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while stub.count() < 12 {
        thread::sleep(Duration::from_millis(1));
    }
    signal(&child, Signal::HUP);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(file_alone(&project), (60, "complete".to_owned()));
}

#[test]
fn after_a_kill_the_next_command_completes_the_file() {
    for next in [&["runs"][..], &["show"], &["resume", "latest", "--quiet"]] {
        let stub = slow();
        let project = project(&stub, 60, "");
        let mut child = under_way(&stub, &project);
        child.kill().unwrap();
        child.wait().unwrap();
        let stored: i64 = {
            let store =
                Connection::open_with_flags(project.store(), rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
            store.unwrap().query_row("SELECT count(*) FROM trial", [], |row| row.get(0)).unwrap()
        };
        let told = project.caseload(next).exits(0);
        let (trials, _) = file_alone(&project);
        let expected = if next[0] == "resume" { 60 } else { usize::try_from(stored).unwrap() };
        assert_eq!(trials, expected, "{next:?}: {}", told.stderr);
    }
}

#[test]
fn while_another_process_has_the_store_open_its_readers_complete_nothing_and_the_last_one_does() {
    let stub = slow();
    let project = project(&stub, 60, "");
    let reader = {
        let child = under_way(&stub, &project);
        let reader = Connection::open(project.store()).unwrap();
        let _: i64 = reader.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
        reader
    };
    let card: Value = project.caseload(&["show", "--json"]).exits(0).json();
    assert_eq!(card["targets"][0]["graded"], 60);
    drop(reader);
    project.caseload(&["runs"]).exits(0);
    assert_eq!(file_alone(&project), (60, "complete".to_owned()));
}

#[test]
#[ignore = "half a minute: cargo test --test integration -- --ignored thirty_moments"]
fn at_thirty_moments_whatever_ends_a_run_its_file_is_whole_at_once_or_after_the_next_command() {
    let mut orderly = 0;
    for moment in 0..30_u64 {
        let stub = slow();
        let project = project(&stub, 120, "");
        let mut child = project.start(&["run", "e.toml", "--quiet"]);
        // Spread unevenly over the life of the run, its beginning included.
        thread::sleep(Duration::from_millis(moment * moment * 617 % 700));
        match moment % 4 {
            0 => child.kill().unwrap(),
            1 => signal(&child, Signal::HUP),
            2 => signal(&child, Signal::TERM),
            _ => {
                signal(&child, Signal::INT);
                thread::sleep(Duration::from_millis(moment));
                signal(&child, Signal::INT);
            }
        }
        let ended = child.wait().unwrap().code().is_some();
        if !project.store().exists() {
            continue;
        }
        if ended {
            orderly += 1;
            assert_ne!(file_alone(&project).1, "running", "moment {moment}");
        }
        let runs = project.caseload(&["runs"]);
        if !ended && runs.code == 2 {
            // It was killed before there was a store: nothing was asked, and the next run makes one.
            assert_eq!(stub.count(), 0, "moment {moment}");
            project.caseload(&["run", "e.toml", "--quiet"]).exits(0);
        } else {
            runs.exits(0);
            file_alone(&project);
            project.caseload(&["resume", "latest", "--quiet"]);
        }
        assert_eq!(file_alone(&project).0, 120, "moment {moment}");
    }
    assert!(orderly > 10, "{orderly}");
}
