//! How long resampling takes at the size of a large golden set: 10,000 cases.

use std::hint::black_box;

use caseload::stats::{Clusters, cluster_bootstrap, paired_medians, sign_flip_test};
use criterion::Criterion;

const CASES: u32 = 10_000;
const REPLICATES: usize = 10_000;

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    let scores: Vec<f64> = (0..CASES).map(|case| f64::from(u8::from(case * 7 % 10 != 0))).collect();
    let differences: Vec<f64> = (0..CASES).map(|case| f64::from(case * 7 % 3) - 1.0).collect();
    let latencies: Vec<f64> = (0..CASES).map(|case| 200.0 + f64::from(case * 7919 % 10_007)).collect();
    let slower: Vec<f64> = latencies.iter().map(|ms| ms * 1.1).collect();

    for cluster_size in [1, 5] {
        let labels: Vec<u32> = (0..CASES).map(|case| case / cluster_size).collect();
        let clusters = Clusters::from_labels(&labels);
        let groups = clusters.len();
        criterion.bench_function(&format!("bootstrap of {groups} clusters"), |bencher| {
            bencher.iter(|| cluster_bootstrap(black_box(&scores), &clusters, 1, REPLICATES, 0.95));
        });
        criterion.bench_function(&format!("sign flips of {groups} clusters"), |bencher| {
            bencher.iter(|| sign_flip_test(black_box(&differences), &clusters, 1, REPLICATES));
        });
    }
    criterion.bench_function("difference of medians", |bencher| {
        bencher.iter(|| paired_medians(black_box(&slower), &latencies, 1, REPLICATES, 0.95));
    });
    criterion.final_summary();
}
