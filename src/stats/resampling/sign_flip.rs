//! The cluster sign-flip test: the default p value of a paired comparison with clusters.

use rayon::prelude::*;

use crate::stats::{Clusters, Estimable, NotEstimable, SplitMix64, StatsError, error, means::sums};

/// Up to this many clusters with a difference, every sign vector is tried.
const ENUMERATED_CLUSTERS: usize = 16;

/// A total below this is the rounding of differences that cancel, such as 1/3 + 2/3 − 1.
const ROUNDING: f64 = 1e-12;

/// What the sign-flip test found.
#[derive(Clone, Debug, PartialEq)]
pub struct SignFlip {
    /// Mean difference over the cases.
    pub difference: f64,
    /// Number of clusters.
    pub clusters: usize,
    /// Clusters whose differences do not sum to 0: only they carry evidence.
    pub active_clusters: usize,
    /// The p value of all sign vectors; `None` above 16 active clusters.
    pub p_exact: Option<f64>,
    /// Random sign vectors that reach the observed total.
    pub hits: usize,
    /// The p value of the random sign vectors: (1 + hits)/(1 + replicates).
    pub p_monte_carlo: f64,
    /// The smallest p value that this number of active clusters can reach, 2^(1 − a): fewer than six
    /// active clusters can never reach 0.05.
    pub smallest_p: f64,
}

impl SignFlip {
    /// The p value to print: exact where it exists.
    pub fn p(&self) -> f64 {
        self.p_exact.unwrap_or(self.p_monte_carlo)
    }
}

/// Tests whether two sides are exchangeable within a case, flipping the signs of whole clusters.
///
/// With D_g the total of the differences of cluster g and T = |Σ D_g|, every vector of signs is
/// equally likely if the sides are exchangeable. With at most 16 active clusters (D_g ≠ 0) all are
/// enumerated: p = #{|T*| ≥ T − tol}/2^a. Always, `replicates` vectors are drawn, one sign a cluster
/// in the order of the clusters, replicate b from [`SplitMix64::stream`]`(seed, b)`:
/// p = (1 + #{|T*| ≥ T − tol})/(1 + replicates). tol = 1e-9·max(1, Σ|D_g|).
///
/// `differences` holds one value a case (candidate − baseline of the case means). For clusters of one
/// case it is the paired permutation test. It tests exchangeability, not "the mean is 0"; how large
/// the difference is, the interval says. If all D_g are 0, or only one is not, p is 1. The answer
/// does not depend on the number of threads.
///
/// [`NotEstimable::NoData`] without cases. Outer `Err`: lengths that differ, a difference that is not
/// finite, no replicates.
///
/// Source: Phipson & Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1), for the "+1"; Cameron, Gelbach
/// & Miller (2008), REStat 90(3), for signs of whole clusters.
pub fn sign_flip_test(
    differences: &[f64],
    clusters: &Clusters,
    seed: u64,
    replicates: usize,
) -> Result<Estimable<SignFlip>, StatsError> {
    error::check_finite("differences", differences)?;
    clusters.check_covers("differences", differences.len())?;
    error::check_positive("replicates", replicates as f64)?;
    let Some(difference) = sums::mean(differences) else {
        return Ok(Err(NotEstimable::NoData));
    };
    let totals = clusters.totals(differences);
    let active: Vec<f64> = totals.iter().copied().filter(|total| total.abs() > ROUNDING).collect();
    let slack = 1e-9 * sums::sum(totals.iter().map(|total| total.abs())).max(1.0);
    let reach = sums::sum(totals.iter().copied()).abs() - slack;
    let hits = count_hits(&totals, reach, seed, replicates);
    Ok(Ok(SignFlip {
        difference,
        clusters: totals.len(),
        active_clusters: active.len(),
        p_exact: (active.len() <= ENUMERATED_CLUSTERS).then(|| enumerate(&active, reach)),
        hits,
        p_monte_carlo: (1 + hits) as f64 / (1 + replicates) as f64,
        smallest_p: smallest_p(active.len()),
    }))
}

/// 2^(1 − a): all signs alike and all signs reversed, of 2^a vectors. 1 without an active cluster.
fn smallest_p(active: usize) -> f64 {
    let exponent = i32::try_from(active).unwrap_or(i32::MAX);
    2.0_f64.powi(1 - exponent.max(1))
}

fn count_hits(totals: &[f64], reach: f64, seed: u64, replicates: usize) -> usize {
    (0..replicates)
        .into_par_iter()
        .filter(|&replicate| {
            let mut rng = SplitMix64::stream(seed, replicate as u64);
            let flipped: f64 = totals.iter().map(|total| rng.sign() * total).sum();
            flipped.abs() >= reach
        })
        .count()
}

/// The share of all sign vectors of `active` whose total reaches `reach`.
fn enumerate(active: &[f64], reach: f64) -> f64 {
    let vectors = 1_u32 << active.len();
    let hits = (0..vectors)
        .filter(|vector| {
            let flipped: f64 = active
                .iter()
                .enumerate()
                .map(|(bit, total)| if vector >> bit & 1 == 1 { -total } else { *total })
                .sum();
            flipped.abs() >= reach
        })
        .count();
    hits as f64 / f64::from(vectors)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn test(differences: &[f64], labels: &[u32], seed: u64) -> SignFlip {
        sign_flip_test(differences, &Clusters::from_labels(labels), seed, 499).unwrap().unwrap()
    }

    #[test]
    fn all_ties_give_p_one() {
        let result = test(&[0.0; 6], &[0, 0, 1, 1, 2, 2], 5);
        assert_eq!((result.p(), result.active_clusters), (1.0, 0));
    }

    #[test]
    fn one_active_cluster_can_only_give_p_one() {
        let result = test(&[1.0, 1.0, 0.0, 0.0], &[0, 0, 1, 2], 5);
        assert_eq!((result.p(), result.active_clusters), (1.0, 1));
        assert_eq!(result.smallest_p, 1.0);
    }

    #[test]
    fn five_clusters_of_one_mind_cannot_reach_five_percent_and_six_can() {
        let five = test(&[1.0; 5], &[0, 1, 2, 3, 4], 5);
        assert_eq!((five.p(), five.smallest_p), (0.0625, 0.0625));
        let six = test(&[1.0; 6], &[0, 1, 2, 3, 4, 5], 5);
        assert_eq!((six.p(), six.smallest_p), (0.03125, 0.03125));
    }

    /// With clusters of one case and differences of ±1 it is the exact sign test.
    #[test]
    fn single_cases_give_the_exact_sign_test() {
        let mut differences = [1.0; 14];
        differences[8..].fill(-1.0);
        let labels: Vec<u32> = (0..14).collect();
        assert!((test(&differences, &labels, 1).p() - 0.790_527_343_75).abs() < 1e-12);
    }

    #[test]
    fn many_clusters_are_not_enumerated() {
        let labels: Vec<u32> = (0..17).collect();
        assert_eq!(test(&[1.0; 17], &labels, 1).p_exact, None);
    }

    #[test]
    fn no_data_and_wrong_input_are_told_apart() {
        let none = Clusters::from_labels(&[]);
        assert_eq!(sign_flip_test(&[], &none, 1, 9), Ok(Err(NotEstimable::NoData)));
        let one = Clusters::singletons(1);
        assert!(sign_flip_test(&[0.1, 0.2], &one, 1, 9).is_err());
        assert!(sign_flip_test(&[f64::INFINITY], &one, 1, 9).is_err());
        assert!(sign_flip_test(&[0.1], &one, 1, 0).is_err());
    }

    fn differences_with_clusters() -> impl Strategy<Value = (Vec<f64>, Vec<u32>)> {
        prop::collection::vec((-4..=4i32, 0..30u32), 1..80)
            .prop_map(|cases| cases.into_iter().map(|(d, label)| (f64::from(d) / 4.0, label)).unzip())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn p_lies_between_its_smallest_value_and_one(
            (differences, labels) in differences_with_clusters(), seed: u64
        ) {
            let result = test(&differences, &labels, seed);
            prop_assert!(result.p() > 0.0 && result.p() <= 1.0);
            prop_assert!(result.p_exact.is_none_or(|p| p >= result.smallest_p));
        }

        #[test]
        fn swapping_the_sides_changes_nothing_but_the_sign(
            (differences, labels) in differences_with_clusters(), seed: u64
        ) {
            let swapped: Vec<f64> = differences.iter().map(|d| -d).collect();
            let (one, other) = (test(&differences, &labels, seed), test(&swapped, &labels, seed));
            prop_assert_eq!(one.difference, -other.difference);
            prop_assert_eq!(one.p_exact, other.p_exact);
            prop_assert_eq!(one.hits, other.hits);
        }

        #[test]
        fn the_order_of_the_cases_does_not_change_the_exact_p(
            (differences, labels) in differences_with_clusters(), seed: u64
        ) {
            let backwards = |values: &[f64]| values.iter().rev().copied().collect::<Vec<_>>();
            let labels_back: Vec<u32> = labels.iter().rev().copied().collect();
            let one = test(&differences, &labels, seed);
            let other = test(&backwards(&differences), &labels_back, seed);
            prop_assert_eq!(one.p_exact, other.p_exact);
            prop_assert_eq!(one.active_clusters, other.active_clusters);
        }

        #[test]
        fn threads_do_not_change_a_bit(
            (differences, labels) in differences_with_clusters(), seed: u64
        ) {
            let in_pool = |threads: usize| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap()
                    .install(|| test(&differences, &labels, seed))
            };
            let alone = in_pool(1);
            prop_assert_eq!(&alone, &in_pool(2));
            prop_assert_eq!(&alone, &in_pool(4));
        }
    }
}
