//! Percentiles of times and waits.

use serde::Serialize;

use super::rate::CONFIDENCE;
use crate::{
    evidence::{samples::cluster_labels, target::Times},
    stats::{self, Clusters, Level},
    store::RunCase,
};

/// Nearest-rank percentiles; `None` without a value.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: Option<f64>,
    /// Interval of the median; an end that the sample cannot bound is `None`.
    pub p50_interval: [Option<f64>; 2],
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// Interval of the 95th percentile.
    pub p95_interval: [Option<f64>; 2],
    /// Values they rest on.
    pub n: usize,
}

/// Percentiles of times that belong to cases.
pub(super) fn times(times: &Times, cases: &[RunCase]) -> Percentiles {
    let of_cases = times.case.iter().map(|&case| &cases[case.index()]);
    percentiles(&times.ms, &cluster_labels(of_cases))
}

/// Percentiles of waits in a queue, which have nothing to do with the case that waits.
pub(super) fn waits(waits: &[f64]) -> Percentiles {
    percentiles(waits, &Clusters::singletons(waits.len()))
}

fn percentiles(values: &[f64], clusters: &Clusters) -> Percentiles {
    let estimated = stats::quantiles(values, clusters, &[Level::P50, Level::P95], CONFIDENCE)
        .expect("times are finite and every one has its cluster");
    let Ok(quantiles) = estimated else { return Percentiles::default() };
    let interval = |quantile: &stats::Quantile| {
        let (low, high, _) = quantile.limits(!clusters.all_single());
        [low, high]
    };
    Percentiles {
        p50: Some(quantiles[0].nearest_rank),
        p50_interval: interval(&quantiles[0]),
        p95: Some(quantiles[1].nearest_rank),
        p95_interval: interval(&quantiles[1]),
        n: values.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::CasePos, evidence::samples::tests::case};

    #[test]
    fn percentiles_are_nearest_ranks_and_rest_on_what_was_timed() {
        let cases = [case(0, "a"), case(1, "b")];
        let of = |ms: &[f64]| Times { ms: ms.to_vec(), case: vec![CasePos(0); ms.len()] };
        let found = times(&of(&[30.0, 10.0, 20.0]), &cases);
        assert_eq!((found.p50, found.p95, found.n), (Some(20.0), Some(30.0), 3));
        assert_eq!(times(&of(&[]), &cases).p50, None);
    }

    #[test]
    fn waits_stand_each_for_itself() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let found = waits(&values);
        assert_eq!((found.p50, found.p95, found.n), (Some(50.0), Some(95.0), 100));
        assert!(found.p50_interval.iter().all(Option::is_some));
    }
}
