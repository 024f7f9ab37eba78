//! The sizes that a store must bear. Not part of every test run:
//! `cargo test --release --lib store::scale -- --ignored`.

use std::{
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tempfile::TempDir;

use super::{
    ConfigForm, Merged, NewRun, NewTarget, Store, StoreWriter,
    fixtures::{answered, case, graded, key, trial, write_attempt},
};
use crate::domain::{AnswerKeeping, AttemptEnd, Case, CasePos, Fingerprint, RunRow, Shard, Verdict};

/// Puts a run of `cases` times `repeats` trials into the store at `path`.
fn fill(path: &std::path::Path, cases: &[Case], repeats: u32, shard: Option<Shard>) {
    let mut store = Store::open(path).unwrap();
    let places: Vec<CasePos> =
        (0..).map(CasePos).zip(cases).filter(|(_, case)| holds(shard, case)).map(|(at, _)| at).collect();
    let target = NewTarget {
        name: "t".into(),
        provider: "p".into(),
        model: "m".into(),
        config: serde_json::Value::Null,
    };
    let new = NewRun {
        experiment: "nightly",
        seed: 1,
        golden_fingerprint: Fingerprint::of(b"golden"),
        golden_path: "golden.jsonl",
        golden_name: "golden",
        config: &serde_json::json!({"settings": {"shard": shard}}),
        gates: None,
        graders: &[],
        targets: &[target],
        prices: &[],
        tool_version: "0",
        git_commit: None,
        store_answers: AnswerKeeping::Full,
        shard,
        golden_positions: &places,
    };
    let asked = cases.iter().filter(|case| holds(shard, case)).map(|case| (case, repeats));
    let run = store.create_run(&new, asked).unwrap();
    let id = run.id;
    let writer = StoreWriter::start(store, run.claim, None).unwrap();
    for case in 0..u32::try_from(places.len()).unwrap() {
        for repeat in 1..=repeats {
            let key = key(id, 0, case, repeat);
            let text =
                format!("The answer to case {} of run {id}, the {repeat}th time.", places[case as usize]);
            writer.blocking_send(write_attempt(key, 1, AttemptEnd::Answered)).unwrap();
            writer.blocking_send(trial(answered(key, &text))).unwrap();
            writer.blocking_send(graded(key, Verdict::Pass)).unwrap();
        }
    }
    writer.finish().unwrap();
    let store = Store::open(path).unwrap();
    store.set_status(id, crate::domain::RunStatus::Complete, None).unwrap();
}

fn holds(shard: Option<Shard>, case: &Case) -> bool {
    shard.is_none_or(|shard| shard.holds(case.cluster_or_id()))
}

fn cases(count: usize) -> Vec<Case> {
    (0..count).map(|number| case(&format!("c{number}"))).collect()
}

#[test]
#[ignore = "a timing at scale for a release build: `cargo test --release -- --ignored shards`"]
fn eight_shards_of_10_000_trials_merge_in_less_than_10_s() {
    let folder = TempDir::new().unwrap();
    let cases = cases(16_000);
    let others: Vec<_> = (1..=8)
        .map(|number| {
            let path = folder.path().join(format!("{number}.db"));
            fill(&path, &cases, 5, Shard::new(number, 8));
            path
        })
        .collect();
    let mut store = Store::open(folder.path().join("all.db")).unwrap();
    let began = Instant::now();
    let form = ConfigForm { is_one_run: |_, _| true, whole: Clone::clone };
    let merged = store.merge(&others, false, &form).unwrap();
    let took = began.elapsed();
    assert_eq!(merged, [Merged::Joined { name: "nightly-1".into(), shards: 8, of: 8 }]);
    let trials: i64 = store.connection.query_row("SELECT count(*) FROM trial", [], |row| row.get(0)).unwrap();
    assert_eq!(trials, 80_000);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
#[ignore = "a timing at scale for a release build: `cargo test --release -- --ignored one_run_of_30`"]
fn one_run_of_30_of_100_000_trials_goes_in_less_than_5_s_and_no_reader_waits() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("all.db");
    let cases = cases(20_000);
    for _ in 0..30 {
        fill(&path, &cases, 5, None);
    }
    let mut store = Store::open(&path).unwrap();
    let (took, slowest) = thread::scope(|scope| {
        let deleting = scope.spawn(|| {
            let began = Instant::now();
            store.delete_run(RunRow(15)).unwrap();
            began.elapsed()
        });
        let reader = Connection::open(&path).unwrap();
        let mut slowest = Duration::ZERO;
        while !deleting.is_finished() {
            let began = Instant::now();
            let sql = "SELECT count(*) FROM trial WHERE run = 3 AND target = 0 AND case_position < 1000";
            assert_eq!(reader.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 5_000);
            slowest = slowest.max(began.elapsed());
            thread::sleep(Duration::from_millis(5));
        }
        (deleting.join().unwrap(), slowest)
    });
    assert!(took < Duration::from_secs(5) && slowest < Duration::from_millis(500), "{took:?}, {slowest:?}");
}
