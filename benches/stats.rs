//! The printed statistics at the scale of a large run: a million samples of 100,000 cases in
//! 10,000 clusters. Targets on one core: a clustered mean with its variance components below 50 ms,
//! a paired clustered comparison below 100 ms.

use std::hint::black_box;

use caseload::stats::{
    Clusters, SampleTable, SplitMix64, mean_score, paired_difference, pass_rate, variance_components,
};
use criterion::{Criterion, criterion_group, criterion_main};

const CASES: u32 = 100_000;
const REPEATS: u32 = 10;
const CLUSTERS: u32 = 10_000;

/// 0/1 samples of cases whose pass rates differ, from a seed.
fn samples(seed: u64) -> SampleTable {
    let mut rng = SplitMix64::new(seed);
    (0..CASES)
        .map(|_| {
            let passes_of_100 = 50 + rng.below(50);
            (0..REPEATS).map(|_| f64::from(u8::from(rng.below(100) < passes_of_100))).collect::<Vec<_>>()
        })
        .collect()
}

fn large_run(criterion: &mut Criterion) {
    let (candidate, baseline) = (samples(1), samples(2));
    let candidate = candidate.as_samples().expect("finite scores");
    let baseline = baseline.as_samples().expect("finite scores");
    let labels: Vec<u32> = (0..CASES).map(|case| case % CLUSTERS).collect();
    let clusters = Clusters::from_labels(&labels);

    let mut group = criterion.benchmark_group("1M samples, 100k cases, 10k clusters");
    group.sample_size(20);
    group.bench_function("clusters from labels", |bencher| {
        bencher.iter(|| Clusters::from_labels(black_box(&labels)));
    });
    group.bench_function("pass rate and variance components", |bencher| {
        bencher.iter(|| {
            let rate = pass_rate(black_box(&candidate), &clusters, 0.95).expect("0/1 scores");
            (rate, variance_components(&candidate).expect("no empty case"))
        });
    });
    group.bench_function("mean score", |bencher| {
        bencher.iter(|| mean_score(black_box(&candidate), &clusters, 0.95).expect("finite scores"));
    });
    group.bench_function("paired difference", |bencher| {
        bencher.iter(|| paired_difference(black_box(&candidate), &baseline, &clusters, 0.95).expect("pairs"));
    });
    group.finish();
}

criterion_group!(benches, large_run);
criterion_main!(benches);
