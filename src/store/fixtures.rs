//! What the tests of the store, and of what reads it, share: small runs and records.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{CreatedRun, NewGrader, NewRun, NewTarget, Store, StoreError, Write};
use crate::domain::{
    AnswerKeeping, AnswerSource, Attempt, AttemptEnd, Case, CasePos, Cost, ErrorClass, Examples, Failure,
    FailureKind, Fingerprint, GraderSpec, Input, Metered, Outcome, PassIf, Repeat, RunRow, Score, TargetPos,
    Tariff, TrialKey, TrialRecord, UnixMillis, Usage, Verdict,
};

pub(crate) fn case(id: &str) -> Case {
    Case {
        id: id.into(),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: BTreeMap::from([("intent".to_owned(), "billing".to_owned())]).into(),
        cluster: None,
        weight: 1.0,
        input: Input::Text(format!("what is {id}?")),
        context: Value::Null,
        expected: json!({"words": [id]}),
        graders: vec![GraderSpec {
            name: "words".into(),
            kind: "words".to_owned(),
            hard: false,
            parameters: serde_json::Map::new(),
        }],
        repeats: None,
        pass_if: PassIf::Majority,
        examples: Examples::default(),
        meta: Value::Null,
        fingerprint: Fingerprint::of(id.as_bytes()),
    }
}

/// Makes a run of those cases, each asked `repeats` times, with the targets `a` and `b`.
pub(crate) fn create(store: &mut Store, cases: &[Case], repeats: u32) -> Result<CreatedRun, StoreError> {
    let target = |name: &str| NewTarget {
        name: name.into(),
        provider: "acme".into(),
        model: "m-1".into(),
        config: json!({"temperature": 0}),
    };
    let words =
        NewGrader { name: "words".into(), hard: false, kind: "words".to_owned(), version: "1".to_owned() };
    let new = NewRun {
        experiment: "nightly",
        seed: u64::MAX,
        golden_fingerprint: Fingerprint::of(b"golden"),
        golden_path: "golden/a.jsonl",
        golden_name: "a",
        config: &json!({"repeats": repeats}),
        gates: None,
        graders: &[words],
        targets: &[target("a"), target("b")],
        prices: &[],
        tool_version: "0.1.0",
        git_commit: None,
        store_answers: AnswerKeeping::Full,
        shard: None,
        golden_positions: &[],
    };
    store.create_run(&new, cases.iter().map(|case| (case, repeats)))
}

/// A store in memory with a run of the cases `c0`, `c1`, ...
pub(super) fn store_with(cases: usize, repeats: u32) -> (Store, CreatedRun) {
    let mut store = Store::in_memory().unwrap();
    let cases: Vec<Case> = (0..cases).map(|number| case(&format!("c{number}"))).collect();
    let run = create(&mut store, &cases, repeats).unwrap();
    (store, run)
}

pub(crate) fn key(run: RunRow, target: u32, case: u32, repeat: u32) -> TrialKey {
    TrialKey { run, target: TargetPos(target), case: CasePos(case), repeat: Repeat(repeat) }
}

pub(crate) fn answered(key: TrialKey, answer: &str) -> TrialRecord {
    TrialRecord {
        key,
        outcome: Outcome::Answered,
        failure: None,
        answer: answer.to_owned(),
        stop_reason: Some("end_turn".to_owned()),
        metered: Metered::from(Usage { input_uncached: 100, output: 20, ..Usage::default() }),
        cost: Some(Cost::from_picodollars(3_735_000_000)),
        price: None,
        tariff: Tariff::Standard,
        latency_ms: Some(412.5),
        first_token_ms: None,
        queue_wait_ms: 0.0,
        backoff_wait_ms: 0.0,
        attempts: 1,
        request_id: Some("req_1".to_owned()),
        model_returned: Some("m-1-2026".to_owned()),
        system_fingerprint: None,
        retrieved: None,
        meta: None,
        source: AnswerSource::Live,
        started_at: UnixMillis(1_000),
        finished_at: UnixMillis(1_412),
    }
}

pub(crate) fn failed(key: TrialKey, class: ErrorClass) -> TrialRecord {
    TrialRecord {
        outcome: Outcome::Failed,
        failure: Some(Failure::new(class, FailureKind::Timeout, "no answer in 60 s")),
        stop_reason: None,
        metered: Metered::default(),
        cost: None,
        latency_ms: None,
        request_id: None,
        model_returned: None,
        ..answered(key, "")
    }
}

pub(super) fn attempt(number: u32, end: AttemptEnd) -> Attempt {
    Attempt {
        number,
        started_at: UnixMillis(1_000),
        duration_ms: 412.5,
        backoff_ms: 0.0,
        end,
        status: Some(200),
        request_id: Some("req_1".to_owned()),
        metered: Metered::default(),
        cost: None,
        price: None,
        tariff: Tariff::Standard,
        stderr: None,
    }
}

pub(crate) fn write_attempt(key: TrialKey, number: u32, end: AttemptEnd) -> Write {
    Write::Attempt { key, attempt: Box::new(attempt(number, end)) }
}

pub(super) fn score(verdict: Verdict) -> Score {
    Score {
        grader: "words".into(),
        hard: false,
        verdict,
        value: match verdict {
            Verdict::Pass => Some(1.0),
            Verdict::Fail => Some(0.0),
            Verdict::Unscored => None,
        },
        reason: String::new(),
    }
}

pub(crate) fn graded(key: TrialKey, verdict: Verdict) -> Write {
    Write::Scores { key, scores: vec![score(verdict)], verdict }
}

pub(crate) fn trial(record: TrialRecord) -> Write {
    Write::Trial(Box::new(record), vec![])
}
