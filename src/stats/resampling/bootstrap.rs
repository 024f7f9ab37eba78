//! The cluster bootstrap: resampling whole clusters, with percentile and BCa intervals.
//!
//! For statistics without a standard error in closed form: percentiles, medians, ratios of ratios,
//! nDCG. For means the clustered standard error is better: with fewer than about 20 clusters the
//! bootstrap covers too little.

use rayon::prelude::*;

use crate::stats::{
    Clusters, Estimable, Interval, Method, NotEstimable, SplitMix64, StatsError, error,
    means::{quantiles::type_7_sorted, sums},
    special::{normal_cdf, normal_quantile},
};

/// Number of replicates when nobody asks for another.
pub const DEFAULT_REPLICATES: usize = 9_999;

/// The statistic of each of `replicates` resamples of `units` units drawn with replacement.
///
/// Replicate b draws `units` indices below `units` from [`SplitMix64::stream`]`(seed, b)` and hands
/// them to `statistic` in the order drawn. The replicates run on all threads of the current rayon
/// pool; since each has a generator of its own, the answer is the same to the last bit whatever the
/// number of threads.
pub fn resample<T: Send>(
    units: usize,
    seed: u64,
    replicates: usize,
    statistic: impl Fn(&[usize]) -> T + Sync,
) -> Vec<T> {
    (0..replicates)
        .into_par_iter()
        .map_init(
            || vec![0; units],
            |drawn, replicate| {
                let mut rng = SplitMix64::stream(seed, replicate as u64);
                drawn.fill_with(|| rng.below(units));
                statistic(drawn)
            },
        )
        .collect()
}

/// A statistic with the intervals that its bootstrap replicates give.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the data themselves.
    pub estimate: f64,
    /// The statistic of each resample, in the order of the replicates.
    pub replicates: Vec<f64>,
    /// Mean of the replicates.
    pub mean: f64,
    /// Standard deviation of the replicates: the bootstrap standard error.
    pub se: Estimable<f64>,
    /// Percentile interval.
    pub percentile: Estimable<Interval>,
    /// Replicates below the estimate, and equal to it.
    pub standing: Standing,
    /// Bias-corrected and accelerated interval.
    pub bca: Estimable<Bca>,
}

impl Bootstrap {
    /// The interval to print: BCa where it exists, else the percentile interval, with which it is.
    pub fn interval(&self) -> (Estimable<Interval>, Method) {
        match self.bca {
            Ok(bca) => (Ok(bca.interval), Method::BootstrapBca),
            Err(_) => (self.percentile, Method::BootstrapPercentile),
        }
    }
}

/// How the replicates stand to the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Replicates below the estimate.
    pub below: usize,
    /// Replicates equal to the estimate, but for rounding.
    pub ties: usize,
}

/// The bias-corrected and accelerated interval with what it was corrected by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bca {
    /// Bias correction, in standard normal units.
    pub z0: f64,
    /// Acceleration: how fast the standard error changes with the estimate.
    pub acceleration: f64,
    /// The corrected levels at which the replicates are read.
    pub levels: (f64, f64),
    /// The interval.
    pub interval: Interval,
}

/// Cluster bootstrap of the mean score: each resample draws G of the G clusters.
///
/// The statistic is Σ S_g / Σ m_g over the clusters drawn (a ratio, because sizes vary), with S_g the
/// total and m_g the number of cases of cluster g. One score per case (the case mean, with repeats);
/// independent cases are [`Clusters::singletons`]. See [`bootstrap_intervals`] for the two intervals.
///
/// Outer `Err`: lengths that differ, a score that is not finite, no replicates, a `confidence`
/// outside (0, 1). [`NotEstimable::NoData`] without cases; with one cluster the estimate stands alone
/// and every interval is [`NotEstimable::OneCluster`].
///
/// Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap; Cameron & Miller (2015),
/// J. Human Resources 50(2), for resampling whole clusters.
pub fn cluster_bootstrap(
    scores: &[f64],
    clusters: &Clusters,
    seed: u64,
    replicates: usize,
    confidence: f64,
) -> Result<Estimable<Bootstrap>, StatsError> {
    error::check_finite("scores", scores)?;
    clusters.check_covers("scores", scores.len())?;
    error::check_positive("replicates", replicates as f64)?;
    error::check_probability("confidence", confidence)?;
    let Some(estimate) = sums::mean(scores) else {
        return Ok(Err(NotEstimable::NoData));
    };
    // Total and size side by side: a draw touches one cache line.
    let groups: Vec<(f64, f64)> = clusters
        .totals(scores)
        .into_iter()
        .zip(clusters.sizes().iter().map(|&size| f64::from(size)))
        .collect();
    let drawn = resample(groups.len(), seed, replicates, |drawn| {
        let (total, cases) = drawn
            .iter()
            .fold((0.0, 0.0), |(total, cases), &group| (total + groups[group].0, cases + groups[group].1));
        total / cases
    });
    let total = sums::sum(groups.iter().map(|group| group.0));
    let cases = scores.len() as f64;
    let jackknife: Vec<f64> = if groups.len() < 2 {
        vec![]
    } else {
        groups.iter().map(|group| (total - group.0) / (cases - group.1)).collect()
    };
    bootstrap_intervals(estimate, drawn, &jackknife, confidence).map(Ok)
}

/// Percentile and BCa interval of `estimate` from its replicates and its leave-one-out values.
///
/// Percentile: type-7 quantiles of the replicates at α/2 and 1 − α/2. BCa: with
/// frac = (#{t* < t} + #{t* = t}/2)/B, z0 = Φ⁻¹(frac) and
/// a = Σ (t̄ − t₍g₎)³ / (6 [Σ (t̄ − t₍g₎)²]^{3/2}), the quantiles at
/// Φ(z0 + (z0 + z_l)/(1 − a(z0 + z_l))).
///
/// `jackknife` holds the statistic without each cluster in turn; fewer than two make every interval
/// [`NotEstimable::OneCluster`]. BCa is [`NotEstimable::BcaUndefinedFallBackToPercentile`] when frac
/// is 0 or 1 or the jackknife values do not differ.
///
/// # Errors
/// No replicates; an estimate, a replicate or a jackknife value that is not finite; a `confidence`
/// outside (0, 1).
///
/// Source: Efron (1987), JASA 82(397), 171–185.
pub fn bootstrap_intervals(
    estimate: f64,
    replicates: Vec<f64>,
    jackknife: &[f64],
    confidence: f64,
) -> Result<Bootstrap, StatsError> {
    error::check_positive("replicates", replicates.len() as f64)?;
    error::check_finite("estimate", &[estimate])?;
    error::check_finite("replicates", &replicates)?;
    error::check_finite("jackknife", jackknife)?;
    error::check_probability("confidence", confidence)?;
    let mut sorted = replicates.clone();
    sorted.par_sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let several = if jackknife.len() < 2 { Err(NotEstimable::OneCluster) } else { Ok(()) };
    let standing = standing(estimate, &sorted);
    Ok(Bootstrap {
        estimate,
        mean: sums::mean(&replicates).expect("at least one replicate"),
        se: several.and_then(|()| sums::variance(&replicates).ok_or(NotEstimable::SingleCase)).map(f64::sqrt),
        percentile: several.map(|()| percentile(&sorted, tail, 1.0 - tail)),
        standing,
        bca: several.and_then(|()| bca(estimate, &sorted, standing, jackknife, tail)),
        replicates,
    })
}

/// The type-7 quantiles of sorted replicates at two levels.
pub(crate) fn percentile(sorted: &[f64], low: f64, high: f64) -> Interval {
    Interval { low: type_7_sorted(sorted, low), high: type_7_sorted(sorted, high) }
}

/// Equality is within 1e-12·max(1, |t|): sums in another order differ by rounding.
fn standing(estimate: f64, sorted: &[f64]) -> Standing {
    let slack = 1e-12 * estimate.abs().max(1.0);
    let below = sorted.partition_point(|&value| value < estimate - slack);
    let up_to = sorted.partition_point(|&value| value <= estimate + slack);
    Standing { below, ties: up_to - below }
}

fn bca(estimate: f64, sorted: &[f64], standing: Standing, jackknife: &[f64], tail: f64) -> Estimable<Bca> {
    let undefined = NotEstimable::BcaUndefinedFallBackToPercentile;
    let share = (standing.below as f64 + standing.ties as f64 / 2.0) / sorted.len() as f64;
    let centre = sums::mean(jackknife).ok_or(undefined)?;
    let spread = jackknife.iter().map(|value| (centre - value).abs()).fold(0.0, f64::max);
    let rounding = 1e-12 * estimate.abs().max(1.0);
    if share <= 0.0 || share >= 1.0 || spread <= rounding {
        return Err(undefined);
    }
    let z0 = normal_quantile(share);
    let squares = sums::squared_deviations(jackknife, centre);
    let cubes = sums::sum(jackknife.iter().map(|value| (centre - value).powi(3)));
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let level = |z: f64| normal_cdf(z0 + (z0 + z) / (1.0 - acceleration * (z0 + z)));
    let z = normal_quantile(1.0 - tail);
    let levels = (level(-z), level(z));
    // Past its pole (1 = a(z0 + z)) the correction turns around and means nothing.
    if acceleration * (z0 + z) >= 1.0 || acceleration * (z0 - z) >= 1.0 {
        return Err(undefined);
    }
    Ok(Bca { z0, acceleration, levels, interval: percentile(sorted, levels.0, levels.1) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bootstrap(scores: &[f64], labels: &[u32], seed: u64) -> Bootstrap {
        cluster_bootstrap(scores, &Clusters::from_labels(labels), seed, 500, 0.95).unwrap().unwrap()
    }

    #[test]
    fn all_passes_leave_only_the_percentile_interval() {
        let result = bootstrap(&[1.0; 10], &[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 1);
        assert_eq!(result.percentile, Ok(Interval { low: 1.0, high: 1.0 }));
        assert_eq!(result.standing, Standing { below: 0, ties: 500 });
        assert_eq!(result.bca, Err(NotEstimable::BcaUndefinedFallBackToPercentile));
    }

    #[test]
    fn one_cluster_has_a_mean_and_no_interval() {
        let result = bootstrap(&[1.0, 0.0, 1.0], &[4, 4, 4], 1);
        assert!((result.estimate - 2.0 / 3.0).abs() < 1e-15);
        assert_eq!(result.percentile, Err(NotEstimable::OneCluster));
        assert_eq!(result.bca, Err(NotEstimable::OneCluster));
    }

    #[test]
    fn no_data_and_wrong_input_are_told_apart() {
        let none = Clusters::from_labels(&[]);
        assert_eq!(cluster_bootstrap(&[], &none, 1, 10, 0.95), Ok(Err(NotEstimable::NoData)));
        let one = Clusters::singletons(1);
        assert!(cluster_bootstrap(&[1.0, 0.0], &one, 1, 10, 0.95).is_err());
        assert!(cluster_bootstrap(&[f64::NAN], &one, 1, 10, 0.95).is_err());
        assert!(cluster_bootstrap(&[1.0], &one, 1, 0, 0.95).is_err());
        assert!(cluster_bootstrap(&[1.0], &one, 1, 10, 95.0).is_err());
    }

    #[test]
    fn a_constant_score_of_a_third_is_no_spread() {
        let result = bootstrap(&[1.0 / 3.0; 6], &[0, 0, 0, 1, 1, 2], 3);
        assert_eq!(result.bca, Err(NotEstimable::BcaUndefinedFallBackToPercentile));
    }

    #[test]
    fn a_resample_draws_below_the_number_of_units() {
        let draws = resample(7, 3, 20, <[usize]>::to_vec);
        assert!(draws.iter().all(|drawn| drawn.len() == 7 && drawn.iter().all(|&i| i < 7)));
        assert_ne!(draws[0], draws[1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn threads_do_not_change_a_bit(
            scores in prop::collection::vec(0.0..=1.0f64, 2..60),
            seed: u64,
        ) {
            let labels: Vec<u32> = (0..).take(scores.len()).map(|i| i / 3).collect();
            let in_pool = |threads: usize| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap()
                    .install(|| bootstrap(&scores, &labels, seed))
            };
            let alone = in_pool(1);
            prop_assert_eq!(&alone, &in_pool(2));
            prop_assert_eq!(&alone, &in_pool(4));
        }

        #[test]
        fn the_percentile_interval_lies_within_the_scores(
            scores in prop::collection::vec(0.0..=1.0f64, 2..60),
            seed: u64,
        ) {
            let labels: Vec<u32> = (0..).take(scores.len()).collect();
            let interval = bootstrap(&scores, &labels, seed).percentile.unwrap();
            let low = scores.iter().copied().fold(f64::MAX, f64::min);
            let high = scores.iter().copied().fold(f64::MIN, f64::max);
            prop_assert!(low - 1e-9 <= interval.low && interval.low <= interval.high);
            prop_assert!(interval.high <= high + 1e-9);
        }
    }
}
