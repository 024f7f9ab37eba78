//! Two sides measured on the same cases, compared by their medians.

use super::flips::sign_test;
use crate::stats::{
    Estimable, Interval, NotEstimable, StatsError, error,
    means::quantiles::{OrderInterval, order_interval_sorted, type_7_sorted},
    resampling::bootstrap::{percentile, resample},
};

/// A paired comparison of medians; positive differences mean that the candidate is larger.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedMedians {
    /// Median of candidate − baseline over the cases.
    pub median_of_differences: f64,
    /// Its order-statistic interval.
    pub order: OrderInterval,
    /// Exact two-sided sign test of the differences; those of 0 say nothing and are left out.
    pub sign_test: f64,
    /// Differences of exactly 0.
    pub zeros: usize,
    /// Median of the candidate − median of the baseline.
    pub difference_of_medians: f64,
    /// Its percentile interval from a paired bootstrap; [`NotEstimable::SingleCase`] for one case.
    pub difference_interval: Estimable<Interval>,
}

/// Compares `candidate` and `baseline`, two values per case in the same order, by medians.
///
/// The median of differences says how much a typical case changed; its interval is that of
/// [`quantiles`](crate::stats::quantiles()) at p = 1/2, and the sign test asks whether more cases went up than
/// down. The difference of medians says how much the typical latency changed; its interval resamples
/// cases with both of their values (type-7 quantiles of the replicates). All medians are of type 7.
///
/// Assumes independent cases. [`NotEstimable::NoData`] without cases. The same for the same `seed`
/// whatever the number of threads. O(n log n), and O(n) a replicate.
///
/// # Errors
/// Lengths that differ, a value that is not finite, no replicates, a `confidence` outside (0, 1).
///
/// Source: Hollander, Wolfe & Chicken (2014), Nonparametric Statistical Methods, ch. 3; Efron &
/// Tibshirani (1993), ch. 13.
pub fn paired_medians(
    candidate: &[f64],
    baseline: &[f64],
    seed: u64,
    replicates: usize,
    confidence: f64,
) -> Result<Estimable<PairedMedians>, StatsError> {
    error::check_finite("candidate", candidate)?;
    error::check_finite("baseline", baseline)?;
    error::check_same_length("candidate", candidate.len(), "baseline", baseline.len())?;
    error::check_positive("replicates", replicates as f64)?;
    error::check_probability("confidence", confidence)?;
    if candidate.is_empty() {
        return Ok(Err(NotEstimable::NoData));
    }
    let mut differences: Vec<f64> =
        candidate.iter().zip(baseline).map(|(candidate, baseline)| candidate - baseline).collect();
    differences.sort_unstable_by(f64::total_cmp);
    let count =
        |wanted: fn(f64) -> bool| differences.iter().filter(|&&difference| wanted(difference)).count();
    let (up, down) = (count(|d| d > 0.0), count(|d| d < 0.0));
    let (candidate, baseline) = (Ranked::new(candidate), Ranked::new(baseline));
    Ok(Ok(PairedMedians {
        median_of_differences: type_7_sorted(&differences, 0.5),
        order: order_interval_sorted(&differences, 0.5, confidence),
        sign_test: sign_test(up as u64, down as u64).p_exact,
        zeros: differences.len() - up - down,
        difference_of_medians: type_7_sorted(&candidate.sorted, 0.5) - type_7_sorted(&baseline.sorted, 0.5),
        difference_interval: bootstrap(&candidate, &baseline, seed, replicates, confidence),
    }))
}

fn bootstrap(
    candidate: &Ranked,
    baseline: &Ranked,
    seed: u64,
    replicates: usize,
    confidence: f64,
) -> Estimable<Interval> {
    let n = candidate.sorted.len();
    if n < 2 {
        return Err(NotEstimable::SingleCase);
    }
    let mut drawn =
        resample(n, seed, replicates, |cases| candidate.median_of(cases) - baseline.median_of(cases));
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Ok(percentile(&drawn, tail, 1.0 - tail))
}

/// The values of one side in order, and the place of each case's value among them.
///
/// A resample's median is then found by counting places, without sorting the resample.
struct Ranked {
    sorted: Vec<f64>,
    place: Vec<usize>,
}

impl Ranked {
    fn new(values: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
        let mut place = vec![0; values.len()];
        for (rank, &case) in order.iter().enumerate() {
            place[case] = rank;
        }
        Self { sorted: order.iter().map(|&case| values[case]).collect(), place }
    }

    /// The type-7 median of the values of `cases`, which may repeat a case. Not empty.
    fn median_of(&self, cases: &[usize]) -> f64 {
        let mut drawn = vec![0_u32; self.sorted.len()];
        for &case in cases {
            drawn[self.place[case]] += 1;
        }
        let (lower, upper) = ((cases.len() - 1) / 2, cases.len() / 2);
        let mut seen = 0;
        let mut low = None;
        for (value, &times) in self.sorted.iter().zip(&drawn) {
            seen += times as usize;
            if low.is_none() && seen > lower {
                low = Some(*value);
            }
            if seen > upper {
                let low = low.expect("the lower middle is not after the upper one");
                return low + (value - low) * 0.5;
            }
        }
        unreachable!("every case drawn has a place")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(candidate: &[f64], baseline: &[f64]) -> PairedMedians {
        paired_medians(candidate, baseline, 11, 300, 0.95).unwrap().unwrap()
    }

    #[test]
    fn differences_of_zero_are_counted_and_not_tested() {
        let result = of(&[5.0, 5.0, 6.0], &[5.0, 5.0, 5.0]);
        assert_eq!(result.zeros, 2);
        assert!((result.sign_test - 1.0).abs() < 1e-12);
        assert_eq!(result.median_of_differences, 0.0);
    }

    #[test]
    fn one_case_has_a_difference_and_no_interval() {
        let result = of(&[7.0], &[5.0]);
        assert_eq!((result.median_of_differences, result.difference_of_medians), (2.0, 2.0));
        assert_eq!(result.difference_interval, Err(NotEstimable::SingleCase));
        assert_eq!(result.order.rank_low, None);
    }

    #[test]
    fn no_data_and_wrong_input_are_told_apart() {
        assert_eq!(paired_medians(&[], &[], 1, 9, 0.95), Ok(Err(NotEstimable::NoData)));
        assert!(paired_medians(&[1.0], &[], 1, 9, 0.95).is_err());
        assert!(paired_medians(&[1.0], &[f64::NAN], 1, 9, 0.95).is_err());
        assert!(paired_medians(&[1.0], &[1.0], 1, 0, 0.95).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_resample_counted_has_the_median_of_a_resample_sorted(
            values in prop::collection::vec(-50..50i32, 1..40),
            seed: u64,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let ranked = Ranked::new(&values);
            let medians = resample(values.len(), seed, 3, |cases| {
                let mut drawn: Vec<f64> = cases.iter().map(|&case| values[case]).collect();
                drawn.sort_unstable_by(f64::total_cmp);
                (ranked.median_of(cases), type_7_sorted(&drawn, 0.5))
            });
            prop_assert!(medians.iter().all(|(counted, sorted)| counted == sorted));
        }

        #[test]
        fn threads_do_not_change_a_bit(
            pairs in prop::collection::vec((0.0..1e3f64, 0.0..1e3f64), 1..50)
        ) {
            let (candidate, baseline): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let in_pool = |threads: usize| {
                rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap()
                    .install(|| of(&candidate, &baseline))
            };
            let alone = in_pool(1);
            prop_assert_eq!(&alone, &in_pool(2));
            prop_assert_eq!(&alone, &in_pool(4));
        }
    }
}
