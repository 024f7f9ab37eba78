//! What the queue itself costs a trial: everything but the wire.

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use caseload::{
    domain::{
        Case, CasePos, Examples, Fingerprint, Input, Parameters, PassIf, Prompt, Repeat, Reply, Request,
        RunRow, TargetPos, TrialKey, Usage,
    },
    providers::Rejection,
    queue::{Limits, ProviderQueue, QueueSettings, Settlement, TokenDemand, Transport},
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use tokio::{runtime::Runtime, sync::mpsc::unbounded_channel};

/// Answers at once.
struct Instantly;

impl Transport for Instantly {
    async fn send<'a>(&'a self, _: &'a Request) -> Result<Reply, Rejection> {
        let metered = Usage { input_uncached: 90, output: 20, ..Usage::default() }.into();
        Ok(Reply { metered, ..Reply::answered("yes") })
    }
}

fn request() -> Request {
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
    Request {
        target: "target".into(),
        model: "model".into(),
        prompt: Prompt::default(),
        parameters: Arc::new(Parameters::default()),
        case: Arc::new(case),
        repeat: Repeat::FIRST,
        seed: 1,
        begun: Default::default(),
    }
}

/// A queue with every limit set, none of them in the way.
fn queue() -> ProviderQueue<Instantly> {
    let limits = Limits {
        requests_per_minute: Some(4_000_000_000),
        input_tokens_per_minute: Some(4_000_000_000),
        output_tokens_per_minute: Some(4_000_000_000),
        output_reserved: true,
        burst_s: 60.0,
        ..Limits::default()
    };
    let settings = QueueSettings { limits, ..QueueSettings::default() };
    ProviderQueue::new("account".into(), Instantly, settings, 1, unbounded_channel().0)
}

async fn settle(queue: &ProviderQueue<Instantly>, request: &Request, case: u32) -> Settlement {
    let key = TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(case), repeat: Repeat(1) };
    queue.settle(key, 1, request, TokenDemand { input: 100, output: 1_000 }).await
}

fn trials(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime starts");
    let request = Arc::new(request());
    let mut group = criterion.benchmark_group("settle");

    group.throughput(Throughput::Elements(1));
    group.bench_function("alone", |bencher| {
        let queue = queue();
        bencher.iter(|| runtime.block_on(settle(&queue, black_box(&request), 1)));
    });

    let each = 1_000_u32;
    for workers in [64_u32, 1_024] {
        group.throughput(Throughput::Elements(u64::from(workers * each)));
        group.sample_size(10);
        group.bench_with_input(BenchmarkId::new("workers", workers), &workers, |bencher, &workers| {
            let queue = Arc::new(queue());
            bencher.iter(|| {
                runtime.block_on(async {
                    let work = |worker| {
                        let (queue, request) = (queue.clone(), request.clone());
                        tokio::spawn(async move {
                            for case in 0..each {
                                black_box(settle(&queue, &request, worker * each + case).await);
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
