//! A weighted mean over clustered cases.

use super::sums;
use crate::stats::{Clusters, Estimable, Interval, NotEstimable, StatsError, error, proportions::proportion};

/// A mean with known weights per case, its CR1 standard error and its t interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedMean {
    /// Σws/Σw; not estimable without weight.
    pub mean: Estimable<f64>,
    /// √(G/(G−1)·ΣR_g²)/Σw with R_g = Σ_{i∈g} w_i(s_i − mean).
    pub se: Estimable<f64>,
    /// Number of clusters, G.
    pub n_clusters: usize,
    /// G − 1; not estimable from one cluster.
    pub df: Estimable<f64>,
    /// Kish's effective number of cases, (Σw)²/Σw².
    pub kish_n: Estimable<f64>,
    /// mean ± t(G−1)·se. Not clipped.
    pub interval: Estimable<Interval>,
}

/// The mean of `scores` weighted by `weights`, one of each per case.
///
/// V = G/(G−1)·Σ_g R_g²/(Σw)², df = G − 1. Assumes that the weights are known and not estimated
/// from the same cases, and independent clusters. One cluster, or no weight at all, is not
/// estimable. Equal weights give CR1.
///
/// # Errors
///
/// [`StatsError::NotFinite`], [`StatsError::OutOfRange`] for a negative weight,
/// [`StatsError::LengthsDiffer`], [`StatsError::Probability`].
///
/// Source: Liang & Zeger (1986); Kish (1965), Survey Sampling.
pub fn weighted_mean(
    scores: &[f64],
    weights: &[f64],
    clusters: &Clusters,
    confidence: f64,
) -> Result<WeightedMean, StatsError> {
    error::check_finite("scores", scores)?;
    error::check_range("weights", weights, 0.0, f64::MAX)?;
    error::check_same_length("scores", scores.len(), "weights", weights.len())?;
    clusters.check_covers("scores", scores.len())?;
    error::check_probability("confidence", confidence)?;

    let total = sums::sum(weights.iter().copied());
    let reason = if scores.is_empty() {
        Some(NotEstimable::NoData)
    } else if total == 0.0 {
        Some(NotEstimable::ZeroDenominator)
    } else {
        None
    };
    let g = clusters.len();
    if let Some(reason) = reason {
        let none = Err(reason);
        return Ok(WeightedMean {
            mean: none,
            se: none,
            n_clusters: g,
            df: none,
            kish_n: none,
            interval: Err(reason),
        });
    }
    let mean = sums::sum(scores.iter().zip(weights).map(|(score, weight)| score * weight)) / total;
    let kish_n = total * total / sums::sum(weights.iter().map(|weight| weight * weight));
    let spread = match (scores.len(), g) {
        (1, _) => Err(NotEstimable::SingleCase),
        (_, 1) => Err(NotEstimable::OneCluster),
        _ => Ok((g - 1) as f64),
    };
    let se = spread.map(|df| {
        let residuals: Vec<f64> =
            scores.iter().zip(weights).map(|(score, weight)| weight * (score - mean)).collect();
        let squares = sums::sum(clusters.totals(&residuals).iter().map(|total| total * total));
        ((df + 1.0) / df * squares).sqrt() / total
    });
    let quantile = proportion::two_sided_t(confidence, spread.ok())?;
    Ok(WeightedMean {
        mean: Ok(mean),
        se,
        n_clusters: g,
        df: spread,
        kish_n: Ok(kish_n),
        interval: se.map(|se| Interval::around(mean, quantile * se)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_of_weight_two_is_worth_two_in_the_mean() {
        let clusters = Clusters::singletons(2);
        let mean = weighted_mean(&[1.0, 0.0], &[2.0, 1.0], &clusters, 0.95).unwrap();
        assert!((mean.mean.unwrap() - 2.0 / 3.0).abs() < 1e-15);
        assert!((mean.kish_n.unwrap() - 9.0 / 5.0).abs() < 1e-12);
    }

    #[test]
    fn one_cluster_and_no_weight_are_named() {
        let one = Clusters::from_labels(&[0, 0]);
        let mean = weighted_mean(&[1.0, 0.0], &[1.0, 1.0], &one, 0.95).unwrap();
        assert_eq!(mean.se, Err(NotEstimable::OneCluster));
        assert_eq!(mean.mean, Ok(0.5));
        let mean = weighted_mean(&[1.0, 0.0], &[0.0, 0.0], &one, 0.95).unwrap();
        assert_eq!(mean.mean, Err(NotEstimable::ZeroDenominator));
        let mean = weighted_mean(&[], &[], &Clusters::singletons(0), 0.95).unwrap();
        assert_eq!(mean.mean, Err(NotEstimable::NoData));
    }

    #[test]
    fn a_negative_weight_is_refused_by_position() {
        let refused = weighted_mean(&[1.0, 0.0], &[1.0, -1.0], &Clusters::singletons(2), 0.95);
        assert!(matches!(refused, Err(StatsError::OutOfRange { index: 1, .. })));
    }
}
