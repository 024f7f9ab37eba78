//! How fast the store takes, and gives back, a million trials.
//!
//! `cargo bench --bench store`. Bench stores stand on the disk of `CASELOAD_BENCH_FOLDER`, else on
//! that of the temporary files: with `synchronous = FULL` the disk counts.

use std::{
    collections::BTreeMap,
    env,
    hint::black_box,
    path::PathBuf,
    time::{Duration, Instant},
};

use caseload::{
    domain::{
        AnswerKeeping, AnswerSource, Attempt, AttemptEnd, Case, CasePos, Cost, Examples, Fingerprint, Input,
        Metered, Outcome, PassIf, PricePos, Repeat, RunRow, Score, TargetPos, Tariff, TrialKey, TrialRecord,
        UnixMillis, Usage, Verdict,
    },
    store::{CreatedRun, Detail, NewRun, NewTarget, Store, StoreError, StoreWriter, Write},
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::{Value, json};
use tempfile::TempDir;

const CASES: u32 = 10_000;

fn folder() -> TempDir {
    match env::var_os("CASELOAD_BENCH_FOLDER") {
        Some(folder) => TempDir::new_in(folder).expect("the bench folder can be written"),
        None => TempDir::new().expect("the temporary folder can be written"),
    }
}

fn cases(count: u32) -> Vec<Case> {
    (0..count)
        .map(|number| Case {
            id: format!("case-{number:06}").into(),
            split: None,
            added: None,
            owner: None,
            source: None,
            segment: BTreeMap::from([("intent".to_owned(), "billing".to_owned())]).into(),
            cluster: None,
            weight: 1.0,
            input: Input::Text("why was I charged twice? ".repeat(10)),
            context: json!({"plan": "pro", "locale": "de-DE"}),
            expected: json!({"words": ["refund", "duplicate"]}),
            graders: vec![],
            repeats: None,
            pass_if: PassIf::Majority,
            examples: Examples::default(),
            meta: Value::Null,
            fingerprint: Fingerprint::of(&number.to_le_bytes()),
        })
        .collect()
}

fn create(path: &PathBuf, cases: &[Case]) -> (Store, CreatedRun) {
    let mut store = Store::open(path).expect("a store can be made");
    let target =
        NewTarget { name: "a".into(), provider: "acme".into(), model: "m".into(), config: json!({}) };
    let new = NewRun {
        experiment: "bench",
        seed: 1,
        golden_fingerprint: Fingerprint::of(b"golden"),
        golden_path: "golden.jsonl",
        golden_name: "golden",
        config: &json!({}),
        gates: None,
        graders: &[],
        targets: &[target],
        prices: &[],
        tool_version: "0",
        git_commit: None,
        store_answers: AnswerKeeping::Full,
        shard: None,
        golden_positions: &[],
    };
    let run = store.create_run(&new, cases.iter().map(|case| (case, 1))).expect("a run can be made");
    (store, run)
}

/// A trial, its attempt and its score.
fn answered(key: TrialKey) -> [Write; 2] {
    let metered = Metered::from(Usage { input_uncached: 420, output: 130, ..Usage::default() });
    let record = TrialRecord {
        key,
        outcome: Outcome::Answered,
        failure: None,
        answer: "The second charge is a duplicate; a refund is on its way and arrives within five days. "
            .repeat(4),
        stop_reason: Some("end_turn".to_owned()),
        metered: metered.clone(),
        cost: Some(Cost::from_picodollars(3_210_000_000)),
        price: Some(PricePos(0)),
        tariff: Tariff::Standard,
        latency_ms: Some(812.417),
        first_token_ms: Some(301.25),
        queue_wait_ms: 3.5,
        backoff_wait_ms: 0.0,
        attempts: 1,
        request_id: Some("req_011CSHoEeqs5C35K2UUqR7Fy".to_owned()),
        model_returned: Some("m-2026-01-01".to_owned()),
        system_fingerprint: None,
        source: AnswerSource::Live,
        started_at: UnixMillis(1_790_000_000_000),
        finished_at: UnixMillis(1_790_000_000_812),
        retrieved: None,
        meta: None,
    };
    let attempt = Attempt {
        number: 1,
        started_at: record.started_at,
        duration_ms: 812.417,
        backoff_ms: 0.0,
        end: AttemptEnd::Answered,
        status: Some(200),
        request_id: record.request_id.clone(),
        metered,
        cost: record.cost,
        price: record.price,
        tariff: record.tariff,
        stderr: None,
    };
    let score = Score {
        grader: "words".into(),
        hard: false,
        verdict: Verdict::Pass,
        value: Some(1.0),
        reason: String::new(),
    };
    [
        Write::Trial(Box::new(record), vec![attempt]),
        Write::Scores { key, scores: vec![score], verdict: Verdict::Pass },
    ]
}

/// Writes every case's trial and gives the time from the first send to the last commit.
fn write_all(cases: &[Case], folder: &TempDir, name: u64) -> Duration {
    let (store, run) = create(&folder.path().join(format!("{name}.db")), cases);
    let writes: Vec<Write> = (0..CASES)
        .flat_map(|case| {
            answered(TrialKey { run: run.id, target: TargetPos(0), case: CasePos(case), repeat: Repeat(1) })
        })
        .collect();
    let began = Instant::now();
    let writer = StoreWriter::start(store, run.claim, None).expect("the writer starts");
    for write in writes {
        writer.blocking_send(write).expect("the writer goes on");
    }
    writer.finish().expect("all is written");
    began.elapsed()
}

fn store(criterion: &mut Criterion) {
    let all = cases(CASES);
    let mut group = criterion.benchmark_group("store");
    group.sample_size(10).throughput(Throughput::Elements(CASES.into()));
    group.bench_function("write trial, attempt and score", |bench| {
        bench.iter_custom(|rounds| {
            let folder = folder();
            (0..rounds).map(|round| write_all(&all, &folder, round)).sum()
        });
    });

    let folder = folder();
    write_all(&all, &folder, 0);
    let reader = Store::open_to_read(folder.path().join("0.db")).expect("the store can be read");
    group.bench_function("read what a scorecard counts", |bench| {
        bench.iter(|| {
            let mut passes = 0_u32;
            reader
                .for_each_trial_row(RunRow(1), TargetPos(0), Detail::Full, |row| {
                    passes += u32::from(row.verdict == Some(Verdict::Pass));
                })
                .expect("the trials can be read");
            black_box(passes)
        });
    });
    group.bench_function("read what is done", |bench| {
        bench.iter(|| {
            let mut done = 0_u32;
            reader
                .for_each_done(RunRow(1), |_| {
                    done += 1;
                    Ok::<_, StoreError>(())
                })
                .expect("the trials can be read");
            black_box(done)
        });
    });
    group.finish();

    let many = cases(100_000);
    let mut group = criterion.benchmark_group("runs");
    group.sample_size(10).throughput(Throughput::Elements(100_000));
    group.bench_function("make a run of 100,000 cases", |bench| {
        bench.iter_custom(|rounds| {
            let folder = self::folder();
            (0..rounds)
                .map(|round| {
                    let path = folder.path().join(format!("{round}.db"));
                    let began = Instant::now();
                    black_box(create(&path, &many));
                    began.elapsed()
                })
                .sum()
        });
    });
    group.finish();
}

criterion_group!(benches, store);
criterion_main!(benches);
