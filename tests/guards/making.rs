//! How the stores were made, once, with version 0.1. Not to be made anew: a later version writes
//! later stores.

use std::{fs, thread, time::Duration};

use rusqlite::Connection;

use super::{script, shop};
use crate::support::{Project, Signal, Stub, signal};

const WHY: &str = "the folder for kept stores can be written";

/// Packs the project's `file` as the kept store `name`: one whole file, no trace of this machine.
fn keep(project: &Project, file: &str, name: &str) {
    let path = project.path(file);
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE run_lock SET machine = 'elsewhere'", []).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(connection);
    assert!(!project.path(&format!("{file}-wal")).exists(), "the store is not one file");
    let packed = zstd::encode_all(fs::File::open(path).unwrap(), 19).unwrap();
    fs::write(shop::kept(&format!("{name}.db.zst")), packed).expect(WHY);
}

/// A run of `nightly.toml` with more arguments.
fn run(project: &Project, arguments: &[&str]) -> i32 {
    project.caseload(&[&["run", "nightly.toml", "--quiet"], arguments].concat()).code
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn complete() {
    let project = shop::empty();
    for seed in ["1", "2", "3"] {
        run(&project, &["--seed", seed]);
    }
    let worse = ["--set", "target.new.model=m-2b", "--set", "target.new.simulate.skill=0.25"];
    for seed in ["4", "5", "6"] {
        run(&project, &[&["--seed", seed], &worse[..]].concat());
    }
    keep(&project, "store.db", "complete");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn out_of_budget() {
    let project = shop::empty();
    assert_eq!(run(&project, &["--max-cost", "0.002", "--target", "old", "--target", "new"]), 4);
    keep(&project, "store.db", "budget");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn reused() {
    let project = shop::empty();
    run(&project, &["--repeats", "2", "--set", "reuse=true"]);
    run(&project, &["--repeats", "3", "--set", "reuse=true"]);
    keep(&project, "store.db", "reused");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn shards() {
    let project = shop::empty();
    for (shard, name) in [("1/2", "shard-1"), ("2/2", "shard-2")] {
        let file = format!("{name}.db");
        run(&project, &["--shard", shard, "--store", &file]);
        keep(&project, &file, name);
    }
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn hashed() {
    let project = shop::empty();
    run(&project, &["--set", "store_answers=hash"]);
    keep(&project, "store.db", "hashed");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn confirmed() {
    let project = shop::empty();
    run(&project, &["--target", "old", "--target", "new"]);
    project.caseload(&["confirm", "latest:old", "latest:new", "--repeats", "8", "--quiet"]);
    project.caseload(&["baseline", "set", "nightly-1:old", "--file", "baseline.json"]).exits(0);
    fs::copy(project.path("baseline.json"), shop::kept("baseline.json")).expect(WHY);
    keep(&project, "store.db", "confirmed");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn application() {
    let project = shop::empty();
    project.caseload(&["run", "bot.toml", "--quiet"]).exits(3);
    keep(&project, "store.db", "application");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn weather() {
    let project = shop::empty();
    let stub = script::weather();
    live(&project, &stub);
    project.caseload(&["run", "live.toml", "--quiet"]).exits(6);
    shop::redirect(&project, &stub.url(), shop::NOWHERE);
    keep(&project, "store.db", "weather");
}

/// Lets the experiment `live.toml` ask `stub`.
fn live(project: &Project, stub: &Stub) {
    let text = fs::read_to_string(shop::kept("live.toml")).unwrap();
    project.write("live.toml", &text.replace(shop::NOWHERE, &stub.url()));
}

/// Starts `live.toml` with one target, of which ten questions are answered and four hang.
fn hanging(project: &Project) -> (Stub, std::process::Child) {
    let stub = script::slow_after(10);
    live(project, &stub);
    let child = project.start(&[
        "run",
        "live.toml",
        "-q",
        "--target",
        "priced",
        "--set",
        "provider.o.limits.max_in_flight=4",
    ]);
    while stub.count() < 14 {
        thread::sleep(Duration::from_millis(5));
    }
    // What was answered is stored by then.
    thread::sleep(Duration::from_millis(500));
    (stub, child)
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn interrupted() {
    let project = shop::empty();
    let (stub, child) = hanging(&project);
    for _ in 0..2 {
        signal(&child, Signal::INT);
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    shop::redirect(&project, &stub.url(), shop::NOWHERE);
    keep(&project, "store.db", "interrupted");
}

#[test]
#[ignore = "the stores of version 0.1 are made once"]
fn killed() {
    let project = shop::empty();
    let (stub, mut child) = hanging(&project);
    child.kill().unwrap();
    child.wait().unwrap();
    shop::redirect(&project, &stub.url(), shop::NOWHERE);
    keep(&project, "store.db", "killed");
}
