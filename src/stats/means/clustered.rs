//! Standard errors of a mean over clustered cases.
//!
//! The default is CR2 with Imbens-Kolesar degrees of freedom. The other estimators are computed
//! beside it because published evaluations use them.

use super::sums;
use crate::stats::{Clusters, Estimable, Interval, NotEstimable, StatsError, error, proportions::proportion};

/// A mean over cases in clusters, with every clustered standard error.
///
/// Everything but the mean is not estimable from one case, and the clustered quantities are not
/// from one cluster. A clustered standard error of exactly 0 means that all clusters have the same
/// mean; its t interval has width 0 and must not be shown as evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusteredMean {
    /// Number of cases, n.
    pub n: usize,
    /// Number of clusters, G.
    pub n_clusters: usize,
    /// Mean over cases.
    pub mean: Estimable<f64>,
    /// Cases in the largest cluster.
    pub largest_cluster: usize,
    /// Kish's effective number of clusters, 1/Σf_g².
    pub kish_clusters: Estimable<f64>,
    /// Share of the cases in the largest cluster.
    pub largest_share: Estimable<f64>,
    /// √(var/n), as if the cases were independent.
    pub se_naive: Estimable<f64>,
    /// √V0, V0 = Σ R_g²/n² with R_g the cluster's total of residuals (Liang & Zeger 1986).
    pub se_cr0: Estimable<f64>,
    /// Miller's eq. 4 taken literally: the diagonal of V0 divided by n(n−1) instead of n².
    pub se_miller_eq4: Estimable<f64>,
    /// √V1, V1 = G/(G−1)·V0.
    pub se_cr1: Estimable<f64>,
    /// √V2, V2 = Σ R_g²/(1 − f_g) / n² (Bell & McCaffrey 2002). The default.
    pub se_cr2: Estimable<f64>,
    /// Degrees of freedom of CR2 if cases were independent (Bell & McCaffrey).
    pub df_bm: Estimable<f64>,
    /// Degrees of freedom of CR2 at the estimated ICC (Imbens & Kolesar 2016). The default.
    pub df_ik: Estimable<f64>,
    /// ANOVA intraclass correlation; may be negative.
    pub icc: Estimable<f64>,
    /// Design effect: V2 over the naive variance.
    pub deff: Estimable<f64>,
    /// n/deff; exceeds n when the ICC is negative.
    pub n_eff: Estimable<f64>,
}

/// The mean of `scores` (one per case) and its clustered standard errors. O(n).
///
/// V2 = (1/n²) Σ_g R_g²/(1 − f_g), with R_g = Σ_{i∈g}(s_i − mean) and f_g = m_g/n: the closed form
/// of CR2 for an intercept. It is exactly unbiased when cases are independent, and equals CR1 for
/// equal clusters and the naive variance when every cluster is one case. Assumes independent
/// clusters; nothing about dependence within them.
///
/// # Errors
///
/// [`StatsError::NotFinite`], [`StatsError::LengthsDiffer`].
///
/// Source: Liang & Zeger (1986), Biometrika 73; Bell & McCaffrey (2002), Survey Methodology 28;
/// Imbens & Kolesar (2016), REStat 98; Miller (2024), arXiv 2411.00640, eq. 4.
pub fn clustered_mean(scores: &[f64], clusters: &Clusters) -> Result<ClusteredMean, StatsError> {
    error::check_finite("scores", scores)?;
    clusters.check_covers("scores", scores.len())?;
    Ok(compute(scores, clusters))
}

impl ClusteredMean {
    /// mean ± t(df_IK)·se_CR2: the default interval of a fractional score. Not clipped.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn cr2_ik_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        self.interval(self.se_cr2, confidence, self.df_ik.ok())
    }

    /// mean ± t(df_BM)·se_CR2.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn cr2_bm_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        self.interval(self.se_cr2, confidence, self.df_bm.ok())
    }

    /// mean ± t(G−1)·se_CR1.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn cr1_t_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        let df = self.se_cr1.ok().map(|_| (self.n_clusters - 1) as f64);
        self.interval(self.se_cr1, confidence, df)
    }

    /// mean ± z·se_CR0, as in published evaluations.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn cr0_z_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        self.interval(self.se_cr0, confidence, None)
    }

    fn interval(
        &self,
        se: Estimable<f64>,
        confidence: f64,
        df: Option<f64>,
    ) -> Result<Estimable<Interval>, StatsError> {
        let quantile = proportion::two_sided_t(confidence, df)?;
        Ok(self.mean.and_then(|mean| Ok(Interval::around(mean, quantile * se?))))
    }

    /// t = mean/se_CR2 with its two-sided p value at df_IK: the test that the mean is 0.
    pub fn t_test(&self) -> Estimable<(f64, f64)> {
        let (mean, se) = (self.mean?, self.se_cr2?);
        if se == 0.0 {
            return Err(NotEstimable::ZeroVariance);
        }
        let t = mean / se;
        Ok((t, crate::stats::special::student_two_sided(t, self.df_ik.ok())))
    }

    /// Everything not estimable for `reason`, but for what the sizes alone say.
    fn without_error(n: usize, clusters: &Clusters, mean: Estimable<f64>, reason: NotEstimable) -> Self {
        let sizes = if n == 0 { Err(NotEstimable::NoData) } else { Ok(n as f64) };
        Self {
            n,
            n_clusters: clusters.len(),
            mean,
            largest_cluster: clusters.largest(),
            kish_clusters: sizes.map(|_| 1.0 / clusters.sum_squared_shares()),
            largest_share: sizes.map(|n| clusters.largest() as f64 / n),
            se_naive: Err(reason),
            se_cr0: Err(reason),
            se_miller_eq4: Err(reason),
            se_cr1: Err(reason),
            se_cr2: Err(reason),
            df_bm: Err(reason),
            df_ik: Err(reason),
            icc: Err(reason),
            deff: Err(reason),
            n_eff: Err(reason),
        }
    }
}

/// As [`clustered_mean`], for scores known to be finite and clusters known to fit.
pub(crate) fn compute(scores: &[f64], clusters: &Clusters) -> ClusteredMean {
    let Some(mean) = sums::mean(scores) else {
        return ClusteredMean::without_error(0, clusters, Err(NotEstimable::NoData), NotEstimable::NoData);
    };
    let n_cases = scores.len();
    let Some(variance) = sums::variance_around(scores, mean) else {
        return ClusteredMean::without_error(1, clusters, Ok(mean), NotEstimable::SingleCase);
    };
    let n = n_cases as f64;
    let naive = variance / n;
    if clusters.len() < 2 {
        let one = ClusteredMean::without_error(n_cases, clusters, Ok(mean), NotEstimable::OneCluster);
        return ClusteredMean { se_naive: Ok(naive.sqrt()), ..one };
    }

    let residuals: Vec<f64> = scores.iter().map(|score| score - mean).collect();
    let totals = clusters.totals(&residuals);
    let g = clusters.len() as f64;
    // What remains of rounding when all clusters have the same mean is not an estimate.
    let rounding = sums::rounding_floor(scores);
    let clean = |v: f64| if v <= rounding * rounding { 0.0 } else { v };
    let v0 = clean(sums::sum(totals.iter().map(|total| total * total)) / (n * n));
    let v2 = clean(
        sums::sum(
            totals
                .iter()
                .zip(clusters.sizes())
                .map(|(total, &size)| total * total / (1.0 - f64::from(size) / n)),
        ) / (n * n),
    );
    let squares = variance * (n - 1.0);
    let v4 = (v0 + squares * (1.0 / (n * (n - 1.0)) - 1.0 / (n * n))).max(0.0);

    let icc = intraclass_correlation(&residuals, &totals, clusters);
    let (df_bm, df_ik) = degrees_of_freedom(clusters, icc.unwrap_or(0.0).clamp(0.0, 1.0));
    let deff = if naive == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok(v2 / naive) };
    let n_eff =
        deff.and_then(|deff| if deff == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok(n / deff) });
    let sizes = ClusteredMean::without_error(n_cases, clusters, Ok(mean), NotEstimable::NoData);
    ClusteredMean {
        se_naive: Ok(naive.sqrt()),
        se_cr0: Ok(v0.sqrt()),
        se_miller_eq4: Ok(v4.sqrt()),
        se_cr1: Ok((g / (g - 1.0) * v0).sqrt()),
        se_cr2: Ok(v2.sqrt()),
        df_bm: Ok(df_bm),
        df_ik: Ok(df_ik),
        icc,
        deff,
        n_eff,
        ..sizes
    }
}

/// ANOVA intraclass correlation: (MSB − MSW)/(MSB + (m0 − 1)·MSW), m0 = (n − Σm_g²/n)/(G − 1).
fn intraclass_correlation(residuals: &[f64], totals: &[f64], clusters: &Clusters) -> Estimable<f64> {
    let (n, g) = (residuals.len() as f64, totals.len() as f64);
    if clusters.all_single() {
        return Err(NotEstimable::AllClustersSingle);
    }
    let means: Vec<f64> =
        totals.iter().zip(clusters.sizes()).map(|(total, &size)| total / f64::from(size)).collect();
    let between = sums::sum(totals.iter().zip(&means).map(|(total, mean)| total * mean)) / (g - 1.0);
    let within = sums::sum(residuals.iter().zip(clusters.of_cases()).map(|(residual, cluster)| {
        let deviation = residual - means[cluster];
        deviation * deviation
    })) / (n - g);
    let m0 = (n - n * clusters.sum_squared_shares()) / (g - 1.0);
    let denominator = between + (m0 - 1.0) * within;
    if denominator == 0.0 {
        return Err(NotEstimable::ZeroVariance);
    }
    Ok((between - within) / denominator)
}

/// Satterthwaite degrees of freedom of CR2 for independent cases (Bell-McCaffrey) and for cases
/// correlated by `rho` within clusters (Imbens-Kolesar). O(G).
///
/// ν = (Σ M_gg)²/Σ M_gh², M_gg = a_g²(w_g(1 − 2f_g) + f_g²W), M_gh = a_g a_h(f_g f_h W − w_g f_h −
/// f_g w_h), a_g² = 1/(1 − f_g), w_g = m_g(1 + (m_g − 1)ρ), W = Σ w_g. The double sum of M_gh² is
/// taken over all pairs by its product sums, then corrected on the diagonal.
fn degrees_of_freedom(clusters: &Clusters, rho: f64) -> (f64, f64) {
    let n = clusters.n_cases() as f64;
    let sizes = || clusters.sizes().iter().map(|&size| f64::from(size));
    let shares = || sizes().map(|m| m / n);
    let q = |f: f64| f * f / (1.0 - f);
    let sum_q = sums::sum(shares().map(q));
    let bm =
        1.0 / (sums::sum(shares().map(|f| f * f)) + sum_q * sum_q - sums::sum(shares().map(|f| q(f) * q(f))));

    let weight = |m: f64| m * (1.0 + (m - 1.0) * rho);
    let total = sums::sum(sizes().map(weight));
    // (a_g², f_g, w_g) of each cluster.
    let terms = || sizes().map(|m| (1.0 / (1.0 - m / n), m / n, weight(m)));
    let a = sums::sum(terms().map(|(a2, f, _)| a2 * f * f));
    let b = sums::sum(terms().map(|(a2, f, w)| a2 * w * f));
    let c = sums::sum(terms().map(|(a2, _, w)| a2 * w * w));
    let diagonal = |(a2, f, w): (f64, f64, f64)| a2 * (w * (1.0 - 2.0 * f) + f * f * total);
    let off_diagonal_formula = |(a2, f, w): (f64, f64, f64)| a2 * (f * f * total - 2.0 * w * f);
    let trace = sums::sum(terms().map(diagonal));
    let correction =
        sums::sum(terms().map(|term| diagonal(term).powi(2) - off_diagonal_formula(term).powi(2)));
    let all_pairs = total * total * a * a - 4.0 * total * a * b + 2.0 * a * c + 2.0 * b * b;
    (bm, trace * trace / (all_pairs + correction))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(scores: &[f64], labels: &[u32]) -> ClusteredMean {
        clustered_mean(scores, &Clusters::from_labels(labels)).unwrap()
    }

    #[test]
    fn three_pairs_have_the_standard_error_of_three_clusters() {
        let pairs = of(&[1.0, 1.0, 0.0, 0.0, 1.0, 0.0], &[0, 0, 1, 1, 2, 2]);
        assert_eq!(format!("{:.4}", pairs.se_cr2.unwrap()), "0.2887");
        assert_eq!(format!("{:.4}", pairs.se_cr1.unwrap()), "0.2887");
        assert!((pairs.df_ik.unwrap() - 2.0).abs() < 1e-12);
    }

    #[test]
    fn one_cluster_is_not_estimable_but_has_a_mean() {
        let one = of(&[1.0, 0.0, 1.0, 1.0], &[5; 4]);
        assert_eq!(one.mean, Ok(0.75));
        assert_eq!(one.se_naive, Ok(0.25));
        assert_eq!(one.se_cr2, Err(NotEstimable::OneCluster));
        assert_eq!(one.cr2_ik_interval(0.95), Ok(Err(NotEstimable::OneCluster)));
        assert_eq!(one.t_test(), Err(NotEstimable::OneCluster));
    }

    #[test]
    fn one_case_and_no_case_are_named() {
        assert_eq!(of(&[1.0], &[0]).se_naive, Err(NotEstimable::SingleCase));
        assert_eq!(of(&[], &[]).mean, Err(NotEstimable::NoData));
        assert_eq!(of(&[], &[]).kish_clusters, Err(NotEstimable::NoData));
    }

    #[test]
    fn equal_cluster_means_leave_exactly_no_error() {
        let third = 1.0 / 3.0;
        let equal = of(&[third, 0.1, 0.7, 0.7, third, 0.1, 0.1, 0.7, third], &[0, 0, 0, 1, 1, 1, 2, 2, 2]);
        assert_eq!(equal.se_cr2, Ok(0.0));
        assert_eq!(equal.n_eff, Err(NotEstimable::ZeroVariance));
        assert_eq!(equal.t_test(), Err(NotEstimable::ZeroVariance));
    }

    #[test]
    fn lengths_that_differ_are_refused() {
        let error = clustered_mean(&[1.0], &Clusters::singletons(2)).unwrap_err();
        assert_eq!(error.to_string(), "`scores` has length 1 but `clusters` has length 2");
    }

    fn scored_clusters() -> impl Strategy<Value = Vec<(f64, u32)>> {
        proptest::collection::vec((0_u8..=4, 0_u32..7), 2..60).prop_map(|cases| {
            cases.into_iter().map(|(score, label)| (f64::from(score) / 4.0, label)).collect()
        })
    }

    proptest! {
        #[test]
        fn neither_order_nor_labels_matter(cases in scored_clusters(), shift in 1_u32..1_000_000) {
            let (scores, labels): (Vec<f64>, Vec<u32>) = cases.iter().copied().unzip();
            let (reversed, renamed): (Vec<f64>, Vec<u32>) =
                cases.iter().rev().map(|&(score, label)| (score, label * 31 + shift)).unzip();
            let (one, other) = (of(&scores, &labels), of(&reversed, &renamed));
            for (one, other) in [
                (one.se_cr2, other.se_cr2), (one.df_ik, other.df_ik), (one.df_bm, other.df_bm),
                (one.icc, other.icc), (one.se_miller_eq4, other.se_miller_eq4),
            ] {
                match (one, other) {
                    (Ok(one), Ok(other)) => prop_assert!((one - other).abs() <= 1e-9 * (1.0 + one.abs())),
                    _ => prop_assert_eq!(one, other),
                }
            }
        }

        #[test]
        fn clusters_of_one_case_are_no_clusters(cases in scored_clusters()) {
            let scores: Vec<f64> = cases.iter().map(|case| case.0).collect();
            let single = clustered_mean(&scores, &Clusters::singletons(scores.len())).unwrap();
            let naive = single.se_naive.unwrap();
            prop_assert!((single.se_cr2.unwrap() - naive).abs() < 1e-12);
            prop_assert!((single.se_cr1.unwrap() - naive).abs() < 1e-12);
            prop_assert!((single.df_ik.unwrap() - (scores.len() - 1) as f64).abs() < 1e-6);
        }
    }
}
