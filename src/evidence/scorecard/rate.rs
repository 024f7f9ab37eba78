//! A rate with its interval and what it rests on.

use serde::Serialize;

use crate::{
    evidence::{
        case::Count,
        samples::{Scores, cluster_labels},
    },
    stats::{self, Estimate, PassRate},
    store::RunCase,
};

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// A pass rate with what it rests on.
#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    /// The rate.
    pub point: f64,
    /// Lower end of the interval; `None` when it cannot be estimated.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Its standard error; `None` when it cannot be estimated.
    pub se: Option<f64>,
    /// Why the standard error cannot be estimated, if it cannot.
    pub se_reason: Option<&'static str>,
    /// How the interval was made.
    pub method: String,
    /// Its confidence.
    pub confidence: f64,
    /// Cases it rests on.
    pub n_cases: usize,
    /// Clusters it rests on.
    pub n_clusters: usize,
    /// Trials it rests on.
    pub n_trials: usize,
    /// The standard error as if cases were independent.
    pub se_naive: Option<f64>,
    /// How much larger the clustered variance is than the naive one.
    pub design_effect: Option<f64>,
    /// How many independent trials it is worth.
    pub n_effective: Option<f64>,
    /// What a reader should know beside it.
    pub warnings: Vec<&'static str>,
}

/// The pass rate of the cases at `positions`; `None` when none of them was measured.
pub(super) fn rate(
    counts: &[Count],
    cases: &[RunCase],
    positions: impl Iterator<Item = usize>,
) -> Option<Rate> {
    let scores = Scores::of(counts, cases, positions);
    let estimated = scores
        .samples()
        .and_then(|samples| stats::pass_rate(&samples, scores.clusters(), CONFIDENCE))
        .expect("scores are 0 or 1 and every case in the layout was measured");
    from_pass_rate(&estimated)
}

fn from_pass_rate(estimated: &PassRate) -> Option<Rate> {
    let estimate = estimated.estimate.ok()?;
    Some(Rate {
        se_naive: estimated.se_naive.ok(),
        design_effect: estimated.clustered.deff.ok(),
        n_effective: estimated.wilson.ok().map(|wilson| wilson.n_eff),
        warnings: estimated.warnings.iter().map(|warning| warning.code()).collect(),
        ..from_estimate(&estimate)
    })
}

pub(super) fn from_estimate(estimate: &Estimate) -> Rate {
    Rate {
        point: estimate.point,
        low: estimate.low(),
        high: estimate.high(),
        se: estimate.se.ok(),
        se_reason: estimate.se.err().map(stats::NotEstimable::code),
        method: estimate.method.to_string(),
        confidence: estimate.confidence,
        n_cases: estimate.n_cases,
        n_clusters: estimate.n_clusters,
        n_trials: estimate.n_samples,
        se_naive: None,
        design_effect: None,
        n_effective: None,
        warnings: vec![],
    }
}

/// The weighted pass rate, where a measured case has a weight other than 1.
pub(super) fn weighted_rate(counts: &[Count], cases: &[RunCase]) -> Option<Rate> {
    let measured: Vec<usize> = (0..cases.len()).filter(|&at| counts[at].measured > 0).collect();
    #[expect(clippy::float_cmp, reason = "a weight of exactly 1 is the default")]
    if measured.iter().all(|&at| cases[at].weight == 1.0) {
        return None;
    }
    let means: Vec<f64> =
        measured.iter().map(|&at| f64::from(counts[at].passes) / f64::from(counts[at].measured)).collect();
    let weights: Vec<f64> = measured.iter().map(|&at| cases[at].weight).collect();
    let clusters = cluster_labels(measured.iter().map(|&at| &cases[at]));
    let weighted = stats::weighted_mean(&means, &weights, &clusters, CONFIDENCE).ok()?;
    let clipped = weighted.interval.map(|interval| interval.clipped(0.0, 1.0));
    let trials: u64 = measured.iter().map(|&at| u64::from(counts[at].measured)).sum();
    Some(from_estimate(&Estimate {
        point: weighted.mean.ok()?,
        interval: clipped,
        se: weighted.se,
        df: weighted.df.ok(),
        method: stats::Method::WeightedT,
        confidence: CONFIDENCE,
        n_cases: measured.len(),
        n_clusters: weighted.n_clusters,
        n_samples: usize::try_from(trials).unwrap_or(usize::MAX),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::samples::tests::case;

    const COUNTS: [Count; 3] = [
        Count { measured: 2, passes: 2 },
        Count { measured: 2, passes: 1 },
        Count { measured: 0, passes: 0 },
    ];

    #[test]
    fn a_rate_is_the_mean_of_the_measured_cases() {
        let cases = [case(0, "a"), case(1, "b"), case(2, "c")];
        let all = rate(&COUNTS, &cases, 0..3).unwrap();
        assert_eq!((all.point, all.n_cases, all.n_clusters, all.n_trials), (0.75, 2, 2, 4));
        assert!(all.low.unwrap() < 0.75 && all.high.unwrap() > 0.75);
        assert!(rate(&COUNTS, &cases, 2..3).is_none(), "nothing was measured");
    }

    #[test]
    fn weights_are_told_where_one_is_not_1() {
        let mut cases = [case(0, "a"), case(1, "b"), case(2, "c")];
        cases[2].weight = 9.0;
        assert!(weighted_rate(&COUNTS, &cases).is_none(), "that case was not measured");
        cases[1].weight = 3.0;
        assert_eq!(weighted_rate(&COUNTS, &cases).unwrap().point, 0.625);
    }
}
