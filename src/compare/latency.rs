//! How long the answers of both sides took, paired by case.

use super::{
    comparison::{Amount, LatencyComparison, Quantity},
    cost::Values,
    difference::{CONFIDENCE, SEED},
    pairing::Pair,
    side::Side,
};
use crate::stats::{self, Level};

/// Values resampled in all: replicates become fewer as cases become more, since an interval of many
/// cases needs less of them.
const RESAMPLED: usize = 2_000_000;

/// Latency of both sides over the pairs: percentiles of the cases' means, with differences that
/// resample whole cases.
pub(super) fn latency(a: &Side, b: &Side, matched: &[Pair]) -> LatencyComparison {
    let values = Values::of(a, b, matched, |case| case.latency_ms);
    let n = values.a.len();
    if n == 0 {
        return LatencyComparison::default();
    }
    let replicates = (RESAMPLED / n).clamp(99, 1_999);
    let drawn: Vec<[f64; 2]> = if n < 2 {
        vec![]
    } else {
        stats::resample(n, SEED, replicates, |cases| {
            let mut of_a: Vec<f64> = cases.iter().map(|&case| values.a[case]).collect();
            let mut of_b: Vec<f64> = cases.iter().map(|&case| values.b[case]).collect();
            [Level::P50, Level::P95].map(|level| at(&mut of_b, level) - at(&mut of_a, level))
        })
    };
    let (mut own_a, mut own_b) = (values.a.clone(), values.b.clone());
    let mut quantity = |place: usize, level: Level| {
        let (baseline, candidate) = (at(&mut own_a, level), at(&mut own_b, level));
        let (low, high) = ends(drawn.iter().map(|pair| pair[place]).collect());
        Quantity {
            baseline: Some(baseline),
            candidate: Some(candidate),
            difference: Amount { point: Some(candidate - baseline), low, high },
            n,
            method: "paired_bootstrap",
        }
    };
    let (p50, p95) = (quantity(0, Level::P50), quantity(1, Level::P95));
    let differences: Vec<f64> = values.b.iter().zip(&values.a).map(|(b, a)| b - a).collect();
    let singles = stats::Clusters::singletons(n);
    let median = stats::quantiles(&differences, &singles, &[Level::P50], CONFIDENCE);
    let median_of_differences = match median {
        Ok(Ok(found)) => {
            Amount { point: Some(found[0].nearest_rank), low: found[0].order.low, high: found[0].order.high }
        }
        _ => Amount::default(),
    };
    LatencyComparison { p50, p95, median_of_differences }
}

/// The nearest-rank percentile; the values are left in another order.
fn at(values: &mut [f64], level: Level) -> f64 {
    let rank = level.nearest_rank(values.len());
    *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// The ends of the percentile interval of what was drawn.
fn ends(mut drawn: Vec<f64>) -> (Option<f64>, Option<f64>) {
    if drawn.is_empty() {
        return (None, None);
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let last = drawn.len() - 1;
    // Of 999 values the 25th from each end: 2.5 % beyond.
    let beyond = (drawn.len() + 1) / 40;
    let beyond = beyond.saturating_sub(1).min(last);
    (Some(drawn[beyond]), Some(drawn[last - beyond]))
}
