//! What the queue itself costs a trial: everything but the wire.

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use caseload::{
    domain::{
        Asked, AskerPos, Begun, Bounds, Call, Case, CasePos, Demand, Examples, Fingerprint, Input, Outgoing,
        Parameters, PassIf, Prompt, Purpose, Question, Repeat, Reply, RunRow, Settlement, TargetPos,
        TrialKey, Usage, Walk,
    },
    providers::{Provider, Rejection},
    queue::{Hooks, Limits, ProviderQueue, QueueSettings},
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::{runtime::Runtime, sync::mpsc::unbounded_channel};

/// Answers at once.
struct Instantly;

impl Provider for Instantly {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        (Outgoing::Question(Box::new(question)), Bounds::default())
    }

    fn send<'a>(&'a self, _: &'a Outgoing, _: &'a Begun) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(async {
            let metered = Usage { input_uncached: 90, output: 20, ..Usage::default() }.into();
            Ok(Reply { metered, ..Reply::answered("yes") })
        })
    }
}

fn question() -> Question {
    let case = Case {
        id: "case".into(),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: BTreeMap::new().into(),
        cluster: None,
        weight: 1.0,
        input: Input::Text("?".into()),
        context: Value::Null,
        expected: Value::Null,
        graders: vec![],
        repeats: None,
        pass_if: PassIf::default(),
        examples: Examples::default(),
        meta: Value::Null,
        fingerprint: Fingerprint::of(b""),
    };
    Question {
        model: "model".into(),
        prompt: Prompt::default(),
        parameters: Arc::new(Parameters::default()),
        asked: Asked { by: "target".into(), case: Arc::new(case), repeat: Repeat::FIRST },
        seed: 1,
    }
}

/// A queue with every limit set, none of them in the way.
fn queue() -> ProviderQueue {
    let limits = Limits {
        requests_per_minute: Some(4_000_000_000),
        input_tokens_per_minute: Some(4_000_000_000),
        output_tokens_per_minute: Some(4_000_000_000),
        output_reserved: true,
        burst_s: 60.0,
        ..Limits::default()
    };
    let settings = QueueSettings { limits, ..QueueSettings::default() };
    ProviderQueue::new("account".into(), Box::new(Instantly), settings, 1, unbounded_channel().0)
}

/// A call as `queue` sends it.
fn call(queue: &ProviderQueue) -> Call {
    let key = TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(0), repeat: Repeat::FIRST };
    let (outgoing, _) = queue.provider().prepare(question());
    Call {
        purpose: Purpose::Trial(key),
        asker: AskerPos(0),
        outgoing,
        worst: None,
        demand: Demand { input: 100, output: 1_000 },
        first_attempt: 1,
        walk: Walk::default(),
        seed: 1,
        hash: None,
    }
}

async fn settle(queue: &ProviderQueue, call: &Call) -> Settlement {
    queue.settle(call, Hooks::NONE).await
}

fn trials(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime starts");
    let mut group = criterion.benchmark_group("settle");

    group.throughput(Throughput::Elements(1));
    group.bench_function("alone", |bencher| {
        let queue = queue();
        let call = call(&queue);
        bencher.iter(|| runtime.block_on(settle(&queue, black_box(&call))));
    });

    let each = 1_000_u32;
    for workers in [64_u32, 1_024] {
        group.throughput(Throughput::Elements(u64::from(workers * each)));
        group.sample_size(10);
        group.bench_with_input(BenchmarkId::new("workers", workers), &workers, |bencher, &workers| {
            let queue = Arc::new(queue());
            let call = Arc::new(call(&queue));
            bencher.iter(|| {
                runtime.block_on(async {
                    let work = |_| {
                        let (queue, call) = (queue.clone(), call.clone());
                        tokio::spawn(async move {
                            for _ in 0..each {
                                black_box(settle(&queue, &call).await);
                            }
                        })
                    };
                    for worker in (0..workers).map(work).collect::<Vec<_>>() {
                        worker.await.expect("no worker panics");
                    }
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, trials);
criterion_main!(benches);
