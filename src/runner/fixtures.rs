//! What the tests of several files share: an experiment, queues before doubles, calls.

use std::{
    future::poll_fn,
    path::Path,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use jiff::civil::date;
use serde_json::json;
use tempfile::TempDir;
use tokio::{sync::mpsc, time::sleep};

use super::{
    error::RunError,
    lane::{Landed, Lane},
};
use crate::{
    config::{self, Experiment, Overrides, Target},
    domain::{
        AnswerKeeping, AnswerSource, Begun, Bounds, Call, CasePos, Fingerprint, Metered, Outcome, Outgoing,
        Question, Repeat, Reply, RunRow, TargetPos, Tariff, TrialKey, TrialRecord, UnixMillis,
    },
    golden,
    providers::{Provider, Rejection},
    queue::{Limits, ProviderQueue, QueueSettings},
    store::{CreatedRun, NewGrader, NewRun, NewTarget, Reusable, Store, StoredTrial},
};

/// Cases of the shared experiment.
pub(super) const CASES: u32 = 6;

const EXPERIMENT: &str = r#"
name = "test"
golden = "golden.jsonl"
repeats = 2

[prompt]
system = "You are brief."
user = "{{ input }}"

[[target]]
name = "a"
provider = "p"
model = "m"
max_tokens = 10

[[target]]
name = "b"
provider = "p"
model = "m"
max_tokens = 10
reuse = true

[[target]]
name = "c"
provider = "q"
model = "m"
max_tokens = 10
cache = "system"

[provider.p]
kind = "openai"
base_url = "http://127.0.0.1:1/v1"

[provider.q]
kind = "anthropic"
base_url = "http://127.0.0.1:1"

[[price]]
model = "m"
effective_from = 2026-01-01
source = "test"
usd_per_mtok = { input = 1.00, cache_read = 1.00, cache_write_5m = 1.00, cache_write_1h = 1.00, output = 1.00 }
"#;

/// Three targets on two accounts, six cases, two repeats; `b` uses earlier answers again, `c` has a
/// cached prefix. The double's bounds make 0.0002 dollars of every worst case.
pub(super) static EXPERIMENT_OF_TESTS: LazyLock<Experiment> = LazyLock::new(experiment);

/// The same, of one's own.
pub(super) fn experiment() -> Experiment {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("experiment.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let plan = config::read(&file, &Overrides::default(), date(2026, 6, 1)).unwrap();
    let line = |case: u32| {
        let expected = json!({"must_contain": ["yes"]});
        let graders = json!([{"kind": "words"}]);
        json!({"id": case.to_string(), "input": "ask", "expected": expected, "graders": graders}).to_string()
            + "\n"
    };
    let lines: String = (0..CASES).map(line).collect();
    let set =
        golden::read(lines.as_bytes(), Path::new("golden.jsonl"), &plan.settings.case_defaults()).unwrap();
    Experiment::prepare(plan.settings, plan.prices, set.cases.clone(), Some(&set)).unwrap()
}

/// A run of the experiment in a store, of which nothing is done.
pub(super) fn new_run(store: &mut Store) -> CreatedRun {
    let experiment = &*EXPERIMENT_OF_TESTS;
    let target = |target: &Target| NewTarget {
        name: target.name.clone(),
        provider: target.settings.provider.clone(),
        model: target.settings.model.clone(),
        config: json!({}),
    };
    let targets: Vec<NewTarget> = experiment.targets.iter().map(target).collect();
    let grader =
        NewGrader { name: "words".into(), hard: false, kind: "words".to_owned(), version: "1".to_owned() };
    let new = NewRun {
        experiment: "test",
        seed: 1,
        golden_fingerprint: Fingerprint::of(b"golden"),
        golden_path: "golden.jsonl",
        golden_name: "golden",
        config: &json!({}),
        gates: None,
        graders: &[grader],
        targets: &targets,
        prices: &[],
        tool_version: "0.1.0",
        git_commit: None,
        store_answers: AnswerKeeping::Full,
        shard: None,
        golden_positions: &[],
    };
    store.create_run(&new, experiment.cases.iter().map(|planned| (&*planned.case, planned.repeats))).unwrap()
}

/// Plays an answer for each question: how long it takes and what it is.
type Script = dyn Fn(&Question) -> (Duration, Result<Reply, Rejection>) + Send + Sync;

struct Double(Box<Script>);

impl Provider for Double {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        let bounds = Bounds { input: Some(100), output: Some(100), said_output: None };
        (Outgoing::Question(Box::new(question)), bounds)
    }

    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(async {
            let (took, answer) = (self.0)(outgoing.as_question().unwrap());
            sleep(took / 2).await;
            begun.tell();
            sleep(took / 2).await;
            answer
        })
    }
}

/// A queue `p` before a double, with at most `max_in_flight` on the wire.
pub(super) fn queue(
    max_in_flight: u32,
    script: impl Fn(&Question) -> (Duration, Result<Reply, Rejection>) + Send + Sync + 'static,
) -> Arc<ProviderQueue> {
    queue_named("p", max_in_flight, script)
}

/// The same of another name.
pub(super) fn queue_named(
    name: &str,
    max_in_flight: u32,
    script: impl Fn(&Question) -> (Duration, Result<Reply, Rejection>) + Send + Sync + 'static,
) -> Arc<ProviderQueue> {
    let limits = Limits { max_in_flight, ..Limits::default() };
    let settings = QueueSettings { limits, ..QueueSettings::default() };
    let events = mpsc::unbounded_channel().0;
    Arc::new(ProviderQueue::new(name.into(), Box::new(Double(Box::new(script))), settings, 1, events))
}

pub(super) fn key(target: u32, case: u32, repeat: u32) -> TrialKey {
    TrialKey { run: RunRow(1), target: TargetPos(target), case: CasePos(case), repeat: Repeat(repeat) }
}

/// The call of target `a` for a case, whose id the double sees.
pub(super) fn call(case: u32) -> Arc<Call> {
    let experiment = &*EXPERIMENT_OF_TESTS;
    let mut question = experiment.question(TargetPos(0), CasePos(0), Repeat::FIRST);
    Arc::make_mut(&mut question.asked.case).id = case.to_string().as_str().into();
    let double = Double(Box::new(|_| (Duration::ZERO, Ok(Reply::answered("yes")))));
    Arc::new(experiment.call(&double, key(0, case, 1), 1, question, None))
}

/// The next call that is back.
pub(super) async fn landed(lane: &mut dyn Lane) -> Option<Result<Landed, RunError>> {
    poll_fn(|context| lane.poll_landed(context)).await
}

/// An answer of an earlier run.
pub(super) fn reusable(answer: &str) -> Reusable {
    let record = TrialRecord {
        key: key(0, 0, 1),
        outcome: Outcome::Answered,
        failure: None,
        answer: answer.to_owned(),
        stop_reason: None,
        metered: Metered::default(),
        price: None,
        tariff: Tariff::Standard,
        cost: Some("0.5".parse().unwrap()),
        latency_ms: Some(80.0),
        first_token_ms: None,
        queue_wait_ms: 0.0,
        backoff_wait_ms: 0.0,
        attempts: 1,
        request_id: None,
        model_returned: None,
        system_fingerprint: None,
        retrieved: None,
        meta: None,
        source: AnswerSource::Live,
        started_at: UnixMillis(1_000),
        finished_at: UnixMillis(2_000),
    };
    Reusable { trial: StoredTrial { record, verdict: None, answer_kept: true } }
}
