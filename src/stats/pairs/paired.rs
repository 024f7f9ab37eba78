//! The paired difference of two sides over the cases that both answered.

use crate::stats::{
    Clusters, Estimable, Interval, NotEstimable, Samples, StatsError,
    design::repeats,
    error,
    means::{
        clustered::{self, ClusteredMean},
        sums,
    },
    proportions::proportion,
    special,
};

/// Which cases were measured on which side (indices of cases).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pairing {
    /// Measured on both sides: every paired number rests on these.
    pub both: Vec<usize>,
    /// Measured on the candidate's side only.
    pub only_candidate: Vec<usize>,
    /// Measured on the baseline's side only.
    pub only_baseline: Vec<usize>,
    /// Measured on neither.
    pub neither: Vec<usize>,
}

/// Two sides compared case by case; differences are candidate − baseline, positive is better.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedSummary {
    /// Who was measured where.
    pub pairing: Pairing,
    /// d_i of each case of `pairing.both`.
    pub differences: Vec<f64>,
    /// The candidate's mean over all its cases.
    pub mean_candidate_all: Estimable<f64>,
    /// The baseline's mean over all its cases.
    pub mean_baseline_all: Estimable<f64>,
    /// The candidate's mean over the pairs.
    pub mean_candidate: Estimable<f64>,
    /// The baseline's mean over the pairs.
    pub mean_baseline: Estimable<f64>,
    /// Mean difference.
    pub diff: Estimable<f64>,
    /// Variance of the candidate's case means.
    pub var_candidate: Estimable<f64>,
    /// Variance of the baseline's case means.
    pub var_baseline: Estimable<f64>,
    /// Variance of the differences.
    pub var_diff: Estimable<f64>,
    /// Covariance of the case means.
    pub cov: Estimable<f64>,
    /// Pearson's correlation of the case means; not estimable if a side is constant.
    pub corr: Estimable<f64>,
    /// Correlation of the difficulties with the sampling noise removed, within [−1, 1]. Needs
    /// repeats on both sides.
    pub corr_latent: Estimable<f64>,
    /// √(var_candidate/n).
    pub se_candidate: Estimable<f64>,
    /// √(var_baseline/n).
    pub se_baseline: Estimable<f64>,
    /// √(var_diff/n), as if cases were independent.
    pub se_paired: Estimable<f64>,
    /// What it would be without pairing: √((var_candidate + var_baseline)/n).
    pub se_unpaired: Estimable<f64>,
    /// 1 − var_diff/(var_candidate + var_baseline): what pairing saved.
    pub variance_reduction: Estimable<f64>,
    /// Sampling noise in the candidate's case means; needs repeats.
    pub noise_candidate: Estimable<f64>,
    /// Sampling noise in the baseline's case means; needs repeats.
    pub noise_baseline: Estimable<f64>,
    /// Variance of the difference in difficulty, unbiased; may be negative.
    pub omega2_raw: Estimable<f64>,
    /// max(0, `omega2_raw`).
    pub omega2: Estimable<f64>,
    /// The clustered mean of the differences, with its standard errors.
    pub clustered: ClusteredMean,
    /// The clusters of the pairs.
    pub clusters: Clusters,
}

/// Pairs two sides case by case and summarises the differences of their case means.
///
/// Both sides list the same cases in the same order; a case without samples on a side is missing
/// there. d_i = s_candidate,i − s_baseline,i; se_paired = √(var(d)/n) (Miller eq. 7),
/// se_unpaired = √((var_A + var_B)/n) (eq. 5); clustered errors (eq. 8) are those of the d_i. No
/// pairs: no data. One pair: a difference without an error. Samples of a side with K = 1
/// throughout leave noise and ω² not estimable.
///
/// # Errors
///
/// [`StatsError::LengthsDiffer`] if the sides or the clusters list different numbers of cases.
///
/// Source: Miller (2024), arXiv 2411.00640, §4.
pub fn paired_summary(
    candidate: &Samples<'_>,
    baseline: &Samples<'_>,
    clusters: &Clusters,
) -> Result<PairedSummary, StatsError> {
    let (n_candidate, n_baseline) = (candidate.n_cases(), baseline.n_cases());
    error::check_same_length("candidate", n_candidate, "baseline", n_baseline)?;
    clusters.check_covers("candidate", n_candidate)?;

    let mut pairing = Pairing::default();
    let (mut all_a, mut all_b) = (vec![], vec![]);
    let (mut a, mut b) = (vec![], vec![]);
    for case in 0..n_candidate {
        let sides = (sums::mean(candidate.of_case(case)), sums::mean(baseline.of_case(case)));
        all_a.extend(sides.0);
        all_b.extend(sides.1);
        match sides {
            (Some(mean_a), Some(mean_b)) => {
                pairing.both.push(case);
                a.push(mean_a);
                b.push(mean_b);
            }
            (Some(_), None) => pairing.only_candidate.push(case),
            (None, Some(_)) => pairing.only_baseline.push(case),
            (None, None) => pairing.neither.push(case),
        }
    }
    let of_pairs = |samples: &Samples<'_>, means: &[f64]| {
        repeats::components_of(pairing.both.iter().map(|&case| samples.of_case(case)), means)
    };
    let (components_a, components_b) = (of_pairs(candidate, &a), of_pairs(baseline, &b));
    let own_clusters = if pairing.both.len() == n_candidate {
        clusters.clone()
    } else {
        clusters.restricted_to(&pairing.both)
    };
    let mean_of = |values: &[f64]| sums::mean(values).ok_or(NotEstimable::NoData);
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    let n = differences.len() as f64;
    let clustered = clustered::compute(&differences, &own_clusters);
    let se_of = |variance: f64| (variance / n).sqrt();

    let var_diff = estimable_variance(&differences);
    let (var_a, var_b) = (components_a.variance_of_means, components_b.variance_of_means);
    let both_variances = var_a.and_then(|var_a| Ok(var_a + var_b?));
    let cov = covariance(&a, &b);
    let omega2_raw = var_diff.and_then(|var| Ok(var - components_a.noise? - components_b.noise?));
    let noise_of = |noise: Estimable<f64>| var_diff.and(noise);
    Ok(PairedSummary {
        mean_candidate_all: mean_of(&all_a),
        mean_baseline_all: mean_of(&all_b),
        mean_candidate: mean_of(&a),
        mean_baseline: mean_of(&b),
        diff: mean_of(&differences),
        var_candidate: var_a,
        var_baseline: var_b,
        var_diff,
        cov,
        corr: correlation(cov, var_a, var_b),
        corr_latent: correlation(cov, components_a.between, components_b.between)
            .map(|corr| corr.clamp(-1.0, 1.0)),
        se_candidate: var_a.map(se_of),
        se_baseline: var_b.map(se_of),
        se_paired: var_diff.map(se_of),
        se_unpaired: both_variances.map(se_of),
        variance_reduction: both_variances.and_then(|both| {
            if both == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok(1.0 - var_diff? / both) }
        }),
        noise_candidate: noise_of(components_a.noise),
        noise_baseline: noise_of(components_b.noise),
        omega2_raw,
        omega2: omega2_raw.map(|omega2| omega2.max(0.0)),
        clustered,
        clusters: own_clusters,
        pairing,
        differences,
    })
}

impl PairedSummary {
    /// Degrees of freedom of the unclustered t, n − 1.
    pub fn df(&self) -> Estimable<f64> {
        self.se_paired.map(|_| (self.differences.len() - 1) as f64)
    }

    /// t = diff/se_paired; not estimable without spread.
    pub fn t(&self) -> Estimable<f64> {
        let (diff, se) = (self.diff?, self.se_paired?);
        if se == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok(diff / se) }
    }

    /// Two-sided p value of t at n − 1 degrees of freedom.
    pub fn p_t(&self) -> Estimable<f64> {
        Ok(special::student_two_sided(self.t()?, Some(self.df()?)))
    }

    /// Two-sided p value of t by the normal distribution, for comparison.
    pub fn p_z(&self) -> Estimable<f64> {
        Ok(special::student_two_sided(self.t()?, None))
    }

    /// diff ± t(n−1)·se_paired. Not clipped.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn t_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        let quantile = proportion::two_sided_t(confidence, self.df().ok())?;
        Ok(self.diff.and_then(|diff| Ok(Interval::around(diff, quantile * self.se_paired?))))
    }
}

/// A paired difference's interval on as many pairs as the clusters are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveDifference {
    /// Mean difference.
    pub diff: f64,
    /// Clusters with any difference.
    pub carriers: usize,
    /// Estimated design effect, at least 1; not estimable from one cluster.
    pub deff_hat: Estimable<f64>,
    /// The design effect if every cluster counted as one observation, Σm_g²/n.
    pub deff_max: f64,
    /// The design effect used: the estimate drawn towards the worst case.
    pub deff_used: f64,
    /// n/deff_used.
    pub n_eff: f64,
    /// Degrees of freedom of the quantile; `None` is the normal distribution.
    pub df: Option<f64>,
    /// The quantile used.
    pub quantile: f64,
    /// The interval, within [−1, 1].
    pub interval: Interval,
}

/// Bonett-Price interval of a mean difference in [−1, 1], on the effective number of pairs.
///
/// md = mean d, m2 = mean d², x = clusters with any d ≠ 0, V_pop = (m2 − md²)/n,
/// deff_hat = max(1, V_CR2/V_pop), deff_max = Σm_g²/n, deff = (x·deff_hat + deff_max)/(x + 1),
/// n_e = n/deff, d̃ = n_e·md/(n_e + 2), half = q·√(((n_e·m2 + 2)/(n_e + 2) − d̃²)/(n_e + 2)), with q
/// the Student quantile at the Imbens-Kolesar degrees of freedom. Without clusters deff = 1 and q
/// is normal; with one cluster deff = deff_max and q is normal. No data without pairs.
///
/// For 0/1 scores without clusters it is exactly the adjusted Wald interval of Bonett and Price:
/// one pseudo-case fixed, one broke. The effective n is this project's construction, checked by
/// simulation. All ties give an honest interval around 0 instead of one of width 0.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a difference outside [−1, 1], [`StatsError::LengthsDiffer`],
/// [`StatsError::Probability`].
///
/// Source: Bonett & Price (2012), J. Educ. Behav. Stat. 37, 479–488.
pub fn bonett_price(
    differences: &[f64],
    clusters: &Clusters,
    confidence: f64,
) -> Result<Estimable<EffectiveDifference>, StatsError> {
    error::check_range("differences", differences, -1.0, 1.0)?;
    clusters.check_covers("differences", differences.len())?;
    error::check_probability("confidence", confidence)?;
    let mean = clustered::compute(differences, clusters);
    Ok(bonett_price_of(differences, clusters, &mean, confidence))
}

/// As [`bonett_price`], for checked differences whose clustered mean is already there.
pub(crate) fn bonett_price_of(
    differences: &[f64],
    clusters: &Clusters,
    mean: &ClusteredMean,
    confidence: f64,
) -> Estimable<EffectiveDifference> {
    let diff = mean.mean?;
    let n = differences.len() as f64;
    let mean_square = sums::sum(differences.iter().map(|d| d * d)) / n;
    let carriers = carriers(differences, clusters);
    let (deff_hat, deff_max, df) = if clusters.all_single() {
        (Ok(1.0), 1.0, None)
    } else {
        let variance = ((mean_square - diff * diff) / n).max(0.0);
        let deff_hat =
            mean.se_cr2.map(|se| if variance <= 1e-15 { 1.0 } else { (se * se / variance).max(1.0) });
        (deff_hat, n * clusters.sum_squared_shares(), mean.df_ik.ok())
    };
    let weight = carriers as f64;
    let deff_used = match deff_hat {
        Ok(deff_hat) => (weight * deff_hat + deff_max) / (weight + 1.0),
        Err(_) => deff_max,
    };
    let quantile = special::student_quantile(0.5 + 0.5 * confidence, df);
    let n_eff = n / deff_used;
    let centre = n_eff * diff / (n_eff + 2.0);
    let square = (n_eff * mean_square + 2.0) / (n_eff + 2.0) - centre * centre;
    let half = quantile * (square.max(0.0) / (n_eff + 2.0)).sqrt();
    Ok(EffectiveDifference {
        diff,
        carriers,
        deff_hat,
        deff_max,
        deff_used,
        n_eff,
        df,
        quantile,
        interval: Interval::around(centre, half).clipped(-1.0, 1.0),
    })
}

/// Number of clusters with any difference that is not 0.
pub(crate) fn carriers(differences: &[f64], clusters: &Clusters) -> usize {
    let mut differs = vec![false; clusters.len()];
    for (&difference, cluster) in differences.iter().zip(clusters.of_cases()) {
        differs[cluster] |= difference != 0.0;
    }
    differs.iter().filter(|&&differs| differs).count()
}

fn estimable_variance(values: &[f64]) -> Estimable<f64> {
    match values.len() {
        0 => Err(NotEstimable::NoData),
        1 => Err(NotEstimable::SingleCase),
        _ => sums::variance(values).ok_or(NotEstimable::SingleCase),
    }
}

fn covariance(a: &[f64], b: &[f64]) -> Estimable<f64> {
    let (mean_a, mean_b) = match (sums::mean(a), sums::mean(b)) {
        (Some(mean_a), Some(mean_b)) if a.len() > 1 => (mean_a, mean_b),
        (Some(_), _) => return Err(NotEstimable::SingleCase),
        _ => return Err(NotEstimable::NoData),
    };
    let products = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b));
    Ok(sums::sum(products) / (a.len() - 1) as f64)
}

fn correlation(cov: Estimable<f64>, var_a: Estimable<f64>, var_b: Estimable<f64>) -> Estimable<f64> {
    let product = var_a? * var_b?;
    if product == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok(cov? / product.sqrt()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::SampleTable;

    fn singles(candidate: &[f64], baseline: &[f64], labels: &[u32]) -> PairedSummary {
        paired_summary(
            &Samples::one_per_case(candidate).unwrap(),
            &Samples::one_per_case(baseline).unwrap(),
            &Clusters::from_labels(labels),
        )
        .unwrap()
    }

    #[test]
    fn pairing_is_worth_more_than_two_separate_intervals() {
        let paired = singles(&[1.0, 1.0, 1.0, 0.0, 1.0], &[1.0, 1.0, 0.0, 0.0, 1.0], &[0, 1, 2, 3, 4]);
        assert!((paired.diff.unwrap() - 0.2).abs() < 1e-15);
        assert_eq!(format!("{:.4}", paired.se_paired.unwrap()), "0.2000");
        assert_eq!(format!("{:.4}", paired.se_unpaired.unwrap()), "0.3162");
    }

    #[test]
    fn eight_ties_still_have_an_interval() {
        let paired = singles(&[1.0; 8], &[1.0; 8], &(0..8).collect::<Vec<_>>());
        assert_eq!(paired.se_paired, Ok(0.0));
        assert_eq!(paired.t(), Err(NotEstimable::ZeroVariance));
        let tied = bonett_price(&paired.differences, &paired.clusters, 0.95).unwrap().unwrap();
        assert_eq!(format!("{:.3}", tied.interval.high), "0.277");
        let many = bonett_price(&[0.0; 1000], &Clusters::singletons(1000), 0.95).unwrap().unwrap();
        assert_eq!(format!("{:.4}", many.interval.high), "0.0028");
    }

    #[test]
    fn a_constant_shift_has_no_spread_even_after_rounding() {
        let paired = singles(&[0.3, 0.2, 0.9], &[0.2, 0.1, 0.8], &[0, 1, 2]);
        assert_eq!(paired.var_diff, Ok(0.0));
        assert_eq!(paired.p_t(), Err(NotEstimable::ZeroVariance));
    }

    #[test]
    fn missing_sides_are_listed_and_left_out() {
        let candidate: SampleTable = [vec![1.0], vec![0.0], vec![], vec![]].into_iter().collect();
        let baseline: SampleTable = [vec![0.0], vec![], vec![1.0], vec![]].into_iter().collect();
        let (candidate, baseline) = (candidate.as_samples().unwrap(), baseline.as_samples().unwrap());
        let paired = paired_summary(&candidate, &baseline, &Clusters::singletons(4)).unwrap();
        assert_eq!(paired.pairing.both, [0]);
        assert_eq!(paired.pairing.only_candidate, [1]);
        assert_eq!(paired.pairing.only_baseline, [2]);
        assert_eq!(paired.pairing.neither, [3]);
        assert_eq!(paired.mean_candidate_all, Ok(0.5));
        assert_eq!(paired.diff, Ok(1.0));
        assert_eq!(paired.se_paired, Err(NotEstimable::SingleCase));
    }

    #[test]
    fn sides_of_different_length_are_refused() {
        let (one, two) = ([1.0], [1.0, 0.0]);
        let (one, two) = (Samples::one_per_case(&one).unwrap(), Samples::one_per_case(&two).unwrap());
        assert!(paired_summary(&one, &two, &Clusters::singletons(1)).is_err());
        assert!(bonett_price(&[1.5], &Clusters::singletons(1), 0.95).is_err());
    }

    proptest! {
        #[test]
        fn swapping_the_sides_turns_the_sign(
            cases in proptest::collection::vec((any::<bool>(), any::<bool>(), 0_u32..6), 2..40)
        ) {
            let score = |pass: bool| f64::from(u8::from(pass));
            let a: Vec<f64> = cases.iter().map(|case| score(case.0)).collect();
            let b: Vec<f64> = cases.iter().map(|case| score(case.1)).collect();
            let labels: Vec<u32> = cases.iter().map(|case| case.2).collect();
            let (there, back) = (singles(&a, &b, &labels), singles(&b, &a, &labels));
            prop_assert!((there.diff.unwrap() + back.diff.unwrap()).abs() < 1e-15);
            prop_assert!((there.se_paired.unwrap() - back.se_paired.unwrap()).abs() < 1e-12);
            let interval = |summary: &PairedSummary| {
                bonett_price(&summary.differences, &summary.clusters, 0.95).unwrap().unwrap().interval
            };
            let (there, back) = (interval(&there), interval(&back));
            prop_assert!((there.low + back.high).abs() < 1e-9 && (there.high + back.low).abs() < 1e-9);
        }
    }
}
