//! The store as a whole: what is written by one connection and read by another.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::{
    CommitListener, CreatedRun, Detail, Store, StoreError, StoreWriter, ToGrade,
    fixtures::{answered, attempt, case, create, failed, graded, key, score, trial, write_attempt},
    write::{Write, patience::Patience},
};
use crate::domain::{
    AttemptEnd, Case, CasePos, Cost, ErrorClass, Failure, FailureKind, Outcome, RetrievalScore, RunEvent,
    RunRow, Score, TargetPos, TrialKey, TrialRecord, Usage, Verdict,
};

/// A store in a folder of its own with one run of the cases `c0`, `c1`, ...
struct File {
    _folder: TempDir,
    path: PathBuf,
    run: RunRow,
}

impl File {
    fn with(cases: usize, repeats: u32) -> (Self, StoreWriter) {
        Self::telling(cases, repeats, None)
    }

    fn telling(
        cases: usize,
        repeats: u32,
        committed: Option<mpsc::UnboundedSender<Vec<TrialKey>>>,
    ) -> (Self, StoreWriter) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        let mut store = Store::open(&path).unwrap();
        let CreatedRun { id: run, claim, .. } = create(&mut store, &cases_named(cases), repeats).unwrap();
        let writer = StoreWriter::start(store, claim, committed.map(listener)).unwrap();
        (Self { _folder: folder, path, run }, writer)
    }

    fn read(&self) -> Store {
        Store::open_to_read(&self.path).unwrap()
    }

    fn number(&self, sql: &str) -> i64 {
        number(&self.path, sql)
    }
}

fn listener(committed: mpsc::UnboundedSender<Vec<TrialKey>>) -> CommitListener {
    CommitListener { committed, room: 64, events: mpsc::unbounded_channel().0 }
}

fn cases_named(count: usize) -> Vec<Case> {
    (0..count).map(|number| case(&format!("c{number}"))).collect()
}

fn number(path: &PathBuf, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

fn rate_limited() -> AttemptEnd {
    AttemptEnd::Failed(Failure::new(ErrorClass::RetrySlow, FailureKind::RateLimit, "slow down"))
}

#[test]
fn a_second_answer_of_a_trial_is_listed_among_its_attempts_only() {
    let (file, writer) = File::with(4, 1);
    for (case, verdict) in
        [Verdict::Pass, Verdict::Pass, Verdict::Pass, Verdict::Fail].into_iter().enumerate()
    {
        let key = key(file.run, 0, u32::try_from(case).unwrap(), 1);
        writer.blocking_send(write_attempt(key, 1, rate_limited())).unwrap();
        writer.blocking_send(write_attempt(key, 2, AttemptEnd::Answered)).unwrap();
        writer.blocking_send(trial(answered(key, "first"))).unwrap();
        writer.blocking_send(graded(key, verdict)).unwrap();
        writer.blocking_send(trial(answered(key, "second"))).unwrap();
    }
    writer.finish().unwrap();
    let store = file.read();
    let first = store.trial(key(file.run, 0, 0, 1)).unwrap().unwrap();
    assert_eq!((first.record.answer.as_str(), first.verdict), ("first", Some(Verdict::Pass)));
    assert_eq!(store.attempts(key(file.run, 0, 0, 1)).unwrap().len(), 2);
    assert_eq!(file.number("SELECT count(*) FROM trial"), 4);
    // Equal answers are kept once.
    assert_eq!(file.number("SELECT count(*) FROM answer"), 1);
    assert_eq!(
        file.number("SELECT CAST(100 * avg(mean) AS INTEGER) FROM case_mean_view WHERE target = 'a'"),
        75
    );
}

#[test]
fn the_schema_itself_refuses_a_second_row_and_the_loss_of_an_answer() {
    let (file, writer) = File::with(1, 1);
    writer.blocking_send(trial(answered(key(file.run, 0, 0, 1), "paid"))).unwrap();
    writer.finish().unwrap();
    let connection = Connection::open(&file.path).unwrap();
    assert!(connection.execute("INSERT INTO trial SELECT * FROM trial", []).is_err());
    assert!(connection.execute("DELETE FROM trial", []).is_err());
}

/// A process that dies between the two would ask again what has been answered.
#[test]
fn an_attempt_and_its_trial_are_never_committed_apart() {
    let (file, writer) = File::with(1_500, 2);
    let reader = Connection::open(&file.path).unwrap();
    let counts = || -> (i64, i64) {
        let both = "SELECT (SELECT count(*) FROM trial), (SELECT count(*) FROM attempt)";
        reader.query_row(both, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for (case, repeat) in (0..1_500).flat_map(|case| [(case, 1), (case, 2)]) {
                let key = key(file.run, 0, case, repeat);
                let attempts = [rate_limited(), AttemptEnd::Answered].into_iter().zip(1..);
                let attempts = attempts.map(|(end, number)| attempt(number, end)).collect();
                writer.blocking_send(Write::Trial(Box::new(answered(key, "yes")), attempts)).unwrap();
            }
        });
        while counts().0 < 3_000 {
            let (trials, attempts) = counts();
            assert_eq!(attempts, 2 * trials);
        }
    });
    writer.finish().unwrap();
}

#[test]
fn a_failed_trial_asked_again_is_replaced_and_its_attempts_stay() {
    let (file, writer) = File::with(1, 1);
    let key = key(file.run, 0, 0, 1);
    let partial = TrialRecord { answer: "cut".into(), ..failed(key, ErrorClass::Retry) };
    writer.blocking_send(write_attempt(key, 1, rate_limited())).unwrap();
    writer.blocking_send(trial(partial)).unwrap();
    // The process that asks again died once before, and counts from 1 once more.
    writer.blocking_send(write_attempt(key, 1, AttemptEnd::Answered)).unwrap();
    writer.blocking_send(trial(answered(key, "whole"))).unwrap();
    writer.blocking_send(graded(key, Verdict::Pass)).unwrap();
    writer.finish().unwrap();

    let store = file.read();
    let stored = store.trial(key).unwrap().unwrap();
    assert_eq!(stored.record, answered(key, "whole"));
    let numbers: Vec<u32> = store.attempts(key).unwrap().iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(file.number("SELECT count(*) FROM answer"), 1);
}

/// What was sent for a trial that was stopped on its way may be billed, even where it is answered later.
#[test]
fn a_cancelled_trial_counts_as_one_attempt_of_unknown_cost_for_ever() {
    let (file, writer) = File::with(1, 1);
    let key = key(file.run, 0, 0, 1);
    let on_its_way = AttemptEnd::Failed(Failure {
        may_be_billed: true,
        ..Failure::new(ErrorClass::Retry, FailureKind::Cancelled, "stopped on its way")
    });
    writer.blocking_send(write_attempt(key, 1, on_its_way)).unwrap();
    let cancelled = TrialRecord { outcome: Outcome::Cancelled, cost: None, ..answered(key, "") };
    writer.blocking_send(trial(cancelled)).unwrap();
    writer.blocking_send(trial(answered(key, "yes"))).unwrap();
    writer.finish().unwrap();
    let unpriced = file.read().unpriced_attempts(file.run).unwrap();
    assert_eq!(unpriced, [(TargetPos(0), CasePos(0), 1)]);
    let totals = file.read().attempt_totals(file.run, TargetPos(0)).unwrap();
    assert_eq!(totals.lost_unpriced, 1, "what is printed is what the budget counts");
}

#[test]
fn a_resume_sees_what_is_done_failed_pending_and_ungraded() {
    let (file, writer) = File::with(4, 1);
    let run = file.run;
    writer.blocking_send(trial(answered(key(run, 0, 0, 1), "graded"))).unwrap();
    writer.blocking_send(graded(key(run, 0, 0, 1), Verdict::Fail)).unwrap();
    writer.blocking_send(trial(answered(key(run, 0, 1, 1), ""))).unwrap();
    writer.blocking_send(trial(failed(key(run, 0, 2, 1), ErrorClass::ThisTrial))).unwrap();
    writer.blocking_send(write_attempt(key(run, 0, 3, 1), 1, rate_limited())).unwrap();
    writer.finish().unwrap();

    let store = file.read();
    let mut done = vec![];
    store
        .for_each_done(run, |trial| {
            done.push((trial.key.case, trial.outcome, trial.failure_class, trial.has_verdict));
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(
        done,
        [
            (CasePos(0), Outcome::Answered, None, true),
            (CasePos(1), Outcome::Answered, None, false),
            (CasePos(2), Outcome::Failed, Some(ErrorClass::ThisTrial), false),
        ]
    );
    assert_eq!(store.attempts_of_pending(run).unwrap(), [(key(run, 0, 3, 1), 1)]);
    let to_grade = |which| {
        let mut found = vec![];
        store
            .for_each_to_grade(run, which, |key, _, answer| {
                found.push((key.case, answer.to_owned()));
                Ok::<_, StoreError>(())
            })
            .unwrap();
        found
    };
    // An empty answer is an answer.
    assert_eq!(to_grade(ToGrade::Ungraded), [(CasePos(1), String::new())]);
    assert_eq!(to_grade(ToGrade::All), [(CasePos(0), "graded".to_owned()), (CasePos(1), String::new())]);
    let mut failures = vec![];
    store
        .for_each_failed(run, |trial| {
            failures.push(trial.failure.to_string());
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(failures, ["timeout: no answer in 60 s"]);
}

#[test]
fn a_regrade_replaces_every_score_of_a_trial() {
    let (file, writer) = File::with(1, 1);
    let key = key(file.run, 0, 0, 1);
    writer.blocking_send(trial(answered(key, "x"))).unwrap();
    // Two graders of one name, one of them hard: both are kept, each under its own row.
    let hard = Score { hard: true, ..score(Verdict::Fail) };
    let scores = vec![score(Verdict::Pass), hard, score(Verdict::Pass)];
    writer.blocking_send(Write::Scores { key, scores, verdict: Verdict::Fail }).unwrap();
    writer
        .blocking_send(Write::Scores {
            key,
            scores: vec![score(Verdict::Unscored)],
            verdict: Verdict::Unscored,
        })
        .unwrap();
    writer.finish().unwrap();
    let store = file.read();
    assert_eq!(store.scores(key).unwrap(), [score(Verdict::Unscored)]);
    assert_eq!(store.trial(key).unwrap().unwrap().verdict, Some(Verdict::Unscored));
    let graders: Vec<bool> = store.graders(file.run).unwrap().iter().map(|grader| grader.hard).collect();
    assert_eq!(graders, [false, true]);
}

#[test]
fn an_error_stops_the_writer_and_every_later_send_tells_it() {
    let (file, writer) = File::with(1, 1);
    writer.blocking_send(trial(answered(key(file.run, 0, 0, 1), "good"))).unwrap();
    // There is no case 7.
    writer.blocking_send(trial(answered(key(file.run, 0, 7, 1), "bad"))).unwrap();
    writer.blocking_send(trial(answered(key(file.run, 1, 0, 1), "sent before the error was known"))).ok();
    let told = loop {
        if let Err(error) = writer.blocking_send(graded(key(file.run, 0, 0, 1), Verdict::Pass)) {
            break error;
        }
    };
    assert_eq!(told.to_string(), "failed to store a trial");
    assert!(writer.finish().is_err());
    assert!(file.read().trial(key(file.run, 0, 0, 1)).unwrap().is_some());
    assert!(!file.read().is_worked_on(file.run).unwrap());
}

#[test]
fn a_trial_that_is_not_stored_cannot_be_graded() {
    let (file, writer) = File::with(1, 1);
    writer.blocking_send(graded(key(file.run, 0, 0, 1), Verdict::Pass)).unwrap();
    assert_eq!(writer.finish().unwrap_err().to_string(), "failed to store a trial's scores");
}

#[tokio::test]
async fn keys_are_told_once_their_trials_can_be_read() {
    let (committed, mut told) = mpsc::unbounded_channel();
    let (file, writer) = File::telling(50, 2, Some(committed));
    let reader = file.read();
    let mut stored = 0;
    for case in 0..50 {
        for repeat in 1..=2 {
            writer.send(trial(answered(key(file.run, 0, case, repeat), "x"))).await.unwrap();
        }
        writer.flush().await.unwrap();
        while let Ok(keys) = told.try_recv() {
            stored += keys.len();
            for key in keys {
                assert!(reader.trial(key).unwrap().is_some());
            }
        }
        assert_eq!(stored, 2 * usize::try_from(case + 1).unwrap());
    }
    writer.finish().unwrap();
}

#[test]
fn two_writers_and_a_reader_never_meet_a_lock() {
    const CASES: usize = 300;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("caseload.db");
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut store = Store::open(&path).unwrap();
                let run = create(&mut store, &cases_named(CASES), 5).unwrap();
                let writer = StoreWriter::start(store, run.claim, None).unwrap();
                for case in 0..u32::try_from(CASES).unwrap() {
                    for repeat in 1..=5 {
                        let key = key(run.id, 0, case, repeat);
                        writer.blocking_send(trial(answered(key, "x"))).unwrap();
                        writer.blocking_send(graded(key, Verdict::Pass)).unwrap();
                    }
                }
                writer.finish().unwrap();
            });
        }
        scope.spawn(|| {
            let reader = loop {
                match Store::open_to_read(&path) {
                    Ok(store) => break store,
                    // The writers are just about to make it.
                    Err(StoreError::Missing { .. } | StoreError::NotAStore { .. }) => thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            };
            for _ in 0..50 {
                for run in reader.list_runs().unwrap() {
                    reader.for_each_done(run.id, |_| Ok::<_, StoreError>(())).unwrap();
                }
            }
        });
    });
    assert_eq!(number(&path, "SELECT count(*) FROM trial WHERE verdict = 'pass'"), 3_000);
    assert_eq!(number(&path, "SELECT count(DISTINCT name) FROM run"), 2);
    let sound: String =
        Connection::open(&path).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
}

/// The other half of the next test: a process that dies while it writes.
#[test]
#[ignore = "dies on purpose: the next test starts it as a process of its own"]
fn a_process_that_dies_while_it_writes() {
    let Ok(path) = std::env::var("CASELOAD_TEST_STORE") else { return };
    let mut store = Store::open(&path).unwrap();
    let run = create(&mut store, &cases_named(1_000), 1).unwrap();
    let (committed, mut told) = mpsc::unbounded_channel();
    let writer = StoreWriter::start(store, run.claim, Some(listener(committed))).unwrap();
    let mut safe = 0;
    for case in 0..1_000 {
        writer.blocking_send(trial(answered(key(run.id, 0, case, 1), "paid"))).unwrap();
        while let Ok(keys) = told.try_recv() {
            safe += keys.len();
        }
        if safe >= 400 {
            break;
        }
    }
    while safe < 400 {
        safe += told.blocking_recv().unwrap().len();
    }
    std::fs::write(format!("{path}.safe"), safe.to_string()).unwrap();
    std::process::abort();
}

/// What a store that another process locks for long tells, with its writer at work on 40 answers.
struct Locked {
    file: File,
    by: Connection,
    writer: StoreWriter,
    told: mpsc::UnboundedReceiver<RunEvent>,
}

impl Locked {
    fn with(patience: Patience) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        let mut store = Store::open(&path).unwrap();
        let CreatedRun { id: run, claim, .. } = create(&mut store, &cases_named(40), 1).unwrap();
        let (events, told) = mpsc::unbounded_channel();
        let listener = CommitListener { committed: mpsc::unbounded_channel().0, room: 64, events };
        let writer = StoreWriter::start_with(store, claim, Some(listener), patience).unwrap();
        let by = Connection::open(&path).unwrap();
        by.execute_batch("BEGIN IMMEDIATE").unwrap();
        for case in 0..40 {
            writer.blocking_send(trial(answered(key(run, 0, case, 1), &format!("{case}")))).unwrap();
        }
        Self { file: File { _folder: folder, path, run }, by, writer, told }
    }

    /// The first error in words, and how long the end took.
    fn end(self) -> (String, Duration, i64) {
        let began = Instant::now();
        let error = self.writer.finish().unwrap_err();
        let took = began.elapsed();
        drop(self.by);
        (error.to_string(), took, self.file.number("SELECT count(*) FROM trial"))
    }
}

const SHORT: Patience = Patience {
    quiet: Duration::from_millis(20),
    session: Duration::from_millis(100),
    rescue: Duration::from_millis(300),
    hurried: Duration::from_millis(10),
};

#[test]
fn all_that_waits_for_a_locked_store_waits_together_and_not_one_after_the_other() {
    let (error, took, stored) = Locked::with(SHORT).end();
    assert_eq!((error.as_str(), stored), ("failed to begin to write to the store", 0));
    // Of each of the forty by itself it would be twelve seconds.
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn what_waits_for_a_locked_store_is_told_and_stored_once_that_is_free() {
    let mut locked = Locked::with(Patience { rescue: Duration::from_secs(60), ..SHORT });
    let told = locked.told.blocking_recv().unwrap();
    assert!(
        matches!(told, RunEvent::StoreLocked { answers: 1..=40, patience } if patience < SHORT.session),
        "{told:?}"
    );
    let told = locked.told.blocking_recv().unwrap();
    assert!(
        matches!(told, RunEvent::StoreLocked { answers: 40, patience } if patience > SHORT.session),
        "{told:?}"
    );
    locked.by.execute_batch("ROLLBACK").unwrap();
    assert_eq!(locked.end().2, 40);
}

#[test]
fn the_user_need_not_wait_for_a_store_that_stays_locked() {
    let hour = Duration::from_secs(3_600);
    let locked = Locked::with(Patience { session: hour, rescue: hour, ..SHORT });
    locked.writer.hurry().up();
    let (_, took, _) = locked.end();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_crash_loses_nothing_that_was_told_as_committed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("caseload.db");
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::a_process_that_dies_while_it_writes", "--ignored", "--quiet"])
        .env("CASELOAD_TEST_STORE", &path)
        .output()
        .unwrap();
    assert!(!status.status.success());
    let safe: i64 = std::fs::read_to_string(folder.path().join("caseload.db.safe")).unwrap().parse().unwrap();
    let mut store = Store::open(&path).unwrap();
    assert!(number(&path, "SELECT count(*) FROM trial") >= safe);
    let run = store.find_run("latest").unwrap();
    // Its process is gone, so another may go on at once.
    assert!(!store.is_worked_on(run.id).unwrap());
    store.claim_run(run.id).unwrap();
}

#[test]
fn an_export_comes_in_golden_set_order() {
    let (file, writer) = File::with(2, 2);
    for (target, case, repeat) in [(1, 1, 1), (0, 1, 2), (0, 0, 2), (1, 0, 1), (0, 0, 1)] {
        let key = key(file.run, target, case, repeat);
        writer.blocking_send(trial(answered(key, "x"))).unwrap();
        writer.blocking_send(graded(key, Verdict::Pass)).unwrap();
    }
    writer.finish().unwrap();
    let mut lines = vec![];
    file.read()
        .for_each_trial(file.run, |line| {
            assert_eq!(line.scores, [score(Verdict::Pass)]);
            lines.push(format!("{} {} {}", line.case, line.target, line.trial.record.key.repeat));
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(lines, ["c0 a 1", "c0 a 2", "c0 b 1", "c1 a 2", "c1 b 1"]);
}

#[test]
fn a_scorecard_reads_unknown_as_unknown_and_zero_as_zero() {
    let (file, writer) = File::with(2, 1);
    let mut free = answered(key(file.run, 0, 0, 1), "");
    free.cost = Some(Cost::ZERO);
    free.metered.usage = Some(Usage::default());
    let mut unknown = answered(key(file.run, 0, 1, 1), "x");
    unknown.cost = None;
    unknown.metered.usage = None;
    unknown.latency_ms = None;
    writer.blocking_send(trial(free.clone())).unwrap();
    writer.blocking_send(trial(unknown)).unwrap();
    writer.finish().unwrap();
    let mut found = BTreeMap::new();
    file.read()
        .for_each_trial_row(file.run, TargetPos(0), Detail::Full, |row| {
            found.insert(row.case, (row.cost, row.usage, row.latency_ms));
        })
        .unwrap();
    assert_eq!(found[&CasePos(0)], (free.cost, free.metered.usage, free.latency_ms));
    assert_eq!(found[&CasePos(1)], (None, None, None));
    assert_eq!(file.number("SELECT count(cost_usd) FROM trial_view"), 1);
}

/// The queries of `docs/schema.md`, by their order.
fn documented_queries() -> Vec<String> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema.md")).unwrap();
    page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The rows of a query as text, a column each.
fn rows(path: &PathBuf, sql: &str) -> Vec<Vec<String>> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let width = statement.column_count();
    let text = |row: &rusqlite::Row<'_>, column| match row.get_unwrap::<_, rusqlite::types::Value>(column) {
        rusqlite::types::Value::Null => "NULL".to_owned(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => format!("{number:.4}"),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Blob(_) => "blob".to_owned(),
    };
    statement
        .query_map([], |row| Ok((0..width).map(|column| text(row, column)).collect()))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// Case c0: 2 of 2 pass, c1: 1 of 2 and one failed, c2: one unscored; target b: c0 fails.
#[test]
fn every_documented_query_runs_and_gives_a_scorecards_numbers() {
    let (file, writer) = File::with(3, 2);
    let send = |write| writer.blocking_send(write).unwrap();
    for (target, case, repeat, verdict) in [
        (0, 0, 1, Verdict::Pass),
        (0, 0, 2, Verdict::Pass),
        (0, 1, 1, Verdict::Fail),
        (0, 2, 1, Verdict::Unscored),
        (1, 0, 1, Verdict::Fail),
    ] {
        let key = key(file.run, target, case, repeat);
        send(trial(TrialRecord { retrieved: Some(vec![]), ..answered(key, "x") }));
        send(graded(key, verdict));
    }
    for (repeat, hit, recall) in [(1, true, 0.5), (2, false, 0.0)] {
        let score = RetrievalScore { k: 5, hit, recall, fact_recall: None };
        send(Write::Retrieval { key: key(file.run, 0, 0, repeat), score });
    }
    let lost = key(file.run, 0, 1, 2);
    send(write_attempt(lost, 1, rate_limited()));
    send(trial(failed(lost, ErrorClass::Retry)));
    writer.finish().unwrap();

    let found: Vec<Vec<Vec<String>>> = documented_queries().iter().map(|sql| rows(&file.path, sql)).collect();
    let expected: [&[&[&str]]; 12] = [
        &[&["a", "0.5000", "0.2500"]],
        &[&["a", "0.5000", "2", "3", "1"], &["b", "0.0000", "1", "1", "2"]],
        &[&["a", "0.5000"], &["b", "0.0000"]],
        &[&["a", "6", "5", "1", "2"], &["b", "6", "1", "5", "0"]],
        &[&["a", "answered", "unscored", "NULL", "1"], &["a", "failed", "NULL", "timeout", "1"]],
        &[
            &["a", "400", "400", "0", "0", "80", "NULL", "1"],
            &["b", "100", "100", "0", "0", "20", "NULL", "0"],
        ],
        &[&["a", "14940000000", "0.014940000000", "0"], &["b", "3735000000", "0.003735000000", "0"]],
        &[&["a", "1", "NULL", "0"]],
        &[&["a", "412.5000", "412.5000"], &["b", "412.5000", "412.5000"]],
        &[&["a", "intent", "billing", "0.5000", "2"], &["b", "intent", "billing", "0.0000", "1"]],
        &[&["c0", "broke", "1.0000", "0.0000"]],
        &[&["a", "words", "0", "1", ""], &["b", "words", "0", "1", ""]],
    ];
    assert_eq!(found, expected);
    assert_eq!(
        rows(&file.path, "SELECT DISTINCT cost_usd FROM trial_view WHERE cost_usd IS NOT NULL"),
        [["0.003735"]]
    );
}

/// A cost in a view reads as it does in reports, down to the picodollar.
#[test]
fn a_cost_in_dollars_is_exact_text() {
    let (file, writer) = File::with(5, 1);
    let amounts = [0, 1, 500_000_000_000, 12_000_000_000_000, i64::MAX];
    for (case, amount) in amounts.into_iter().enumerate() {
        let key = key(file.run, 0, u32::try_from(case).unwrap(), 1);
        let cost = Some(Cost::from_picodollars(amount));
        writer.blocking_send(trial(TrialRecord { cost, ..answered(key, "x") })).unwrap();
    }
    writer.finish().unwrap();
    let expected: Vec<Vec<String>> =
        amounts.into_iter().map(|amount| vec![Cost::from_picodollars(amount).to_string()]).collect();
    assert_eq!(rows(&file.path, "SELECT cost_usd FROM trial_view ORDER BY case_position"), expected);
}
