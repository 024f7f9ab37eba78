//! What a whole run will cost, projected from a pilot.
//!
//! Project the *output* tokens (or the money, where the price is linear): the input tokens of a
//! prepared batch are counted, not estimated. Cases of the pilot that belong to the wanted set are
//! added at their known cost by the caller, and `n_cases` counts only the rest. Costs per delivered
//! sample must include its failed attempts.

use super::repeats;
use crate::stats::{
    Clusters, Estimable, Estimate, Interval, Method, NotEstimable, Samples, StatsError, error,
    means::{clustered, sums},
    special::student_quantile,
};

/// A projected total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Projection {
    /// The projected total over all wanted samples.
    pub total: f64,
    /// Mean cost of a sample, every pilot case weighing the same.
    pub mean_per_sample: f64,
    /// What is printed: the total with its prediction interval; the counts are the pilot's.
    pub printed: Estimate,
    /// Its uncertainty; [`NotEstimable::NeedTwoPilotCases`] with one pilot case.
    pub spread: Estimable<ProjectionSpread>,
}

/// The uncertainty of a projected total.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectionSpread {
    /// Variance of the total because the pilot's mean is uncertain.
    pub variance_of_mean: f64,
    /// Variance of the total because the wanted cases differ among themselves.
    pub variance_of_future: f64,
    /// √ of their sum.
    pub se: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Whether the spread between cases could be told from the noise within a case. If not, all is
    /// taken as between cases, which is too careful when more than one sample a case is wanted.
    pub components_split: bool,
    /// Prediction interval of the total itself: what is printed. Its lower limit is not below 0.
    pub prediction: Interval,
    /// Confidence interval of the *expected* total, without the wanted cases' own luck.
    pub expected: Interval,
}

/// Projects the cost of `samples_per_case` samples of each of `n_cases` further cases.
///
/// With ȳ the mean of the pilot's case means, V its variance and v the variance of one future case
/// mean: T = N K ȳ, SE² = (NK)² V + N K² v·deff, T ± t·SE, the lower limits clipped at 0.
/// v = between + within/K; without a case of two samples, v is the variance of the case values. V is
/// var/n₀ with n₀ − 1 degrees of freedom, or CR2 with Imbens–Kolesár ones and deff = max(1, CR2/naive)
/// if there are at least two clusters and one of them holds more than one case.
///
/// Assumes a pilot drawn at random from what is wanted. Costs are skewed: below 30 pilot cases the
/// interval is an order of magnitude. Costs that do not vary give a width of 0.
/// [`NotEstimable::NoData`] without pilot cases.
///
/// # Errors
/// A pilot case without samples, a negative cost, `samples_per_case` = 0, clusters of another length,
/// a `confidence` outside (0, 1).
///
/// Source: Cochran (1977), Sampling Techniques, ch. 2 and 10.
pub fn project_total(
    pilot: Samples<'_>,
    clusters: &Clusters,
    n_cases: usize,
    samples_per_case: usize,
    confidence: f64,
) -> Result<Estimable<Projection>, StatsError> {
    error::check_range("pilot", pilot.scores(), 0.0, f64::MAX)?;
    clusters.check_covers("pilot", pilot.n_cases())?;
    error::check_positive("samples_per_case", samples_per_case as f64)?;
    error::check_probability("confidence", confidence)?;
    let means = pilot.case_means()?;
    let Some(mean_per_sample) = sums::mean(&means) else {
        return Ok(Err(NotEstimable::NoData));
    };
    let wanted = n_cases as f64 * samples_per_case as f64;
    let total = wanted * mean_per_sample;
    let answer = |spread: Estimable<ProjectionSpread>| Projection {
        total,
        mean_per_sample,
        printed: Estimate {
            point: total,
            interval: spread.map(|spread| spread.prediction),
            se: spread.map(|spread| spread.se),
            df: spread.ok().map(|spread| spread.df),
            method: Method::Projection,
            confidence,
            n_cases: pilot.n_cases(),
            n_clusters: clusters.len(),
            n_samples: pilot.n_samples(),
        },
        spread,
    };
    let Some(variance) = sums::variance(&means) else {
        return Ok(Ok(answer(Err(NotEstimable::NeedTwoPilotCases))));
    };
    let naive = variance / means.len() as f64;
    let (variance_of_mean, df, design_effect) = if clusters.len() < 2 || clusters.all_single() {
        (naive, (means.len() - 1) as f64, 1.0)
    } else {
        let mean = clustered::clustered_mean(&means, clusters)?;
        let impossible = "there are two clusters at least";
        let se = mean.se_cr2.expect(impossible);
        // Costs that do not vary have no design effect; none is needed either.
        (se * se, mean.df_ik.expect(impossible), mean.deff.unwrap_or(1.0).max(1.0))
    };
    let components = repeats::variance_components(&pilot)?;
    let per_case = samples_per_case as f64;
    let (future, components_split) = match (components.between, components.within) {
        (Ok(between), Ok(within)) => (between + within / per_case, true),
        _ => (variance, false),
    };
    let variance_of_mean = wanted * wanted * variance_of_mean;
    let variance_of_future = n_cases as f64 * per_case * per_case * future * design_effect;
    let se = (variance_of_mean + variance_of_future).sqrt();
    let t = student_quantile(0.5 + 0.5 * confidence, Some(df));
    Ok(Ok(answer(Ok(ProjectionSpread {
        variance_of_mean,
        variance_of_future,
        se,
        df,
        components_split,
        prediction: not_negative(total, t * se),
        expected: not_negative(total, t * variance_of_mean.sqrt()),
    }))))
}

/// The projections of the strata, added up.
#[derive(Clone, Debug, PartialEq)]
pub struct StratifiedProjection {
    /// The projected total over all strata.
    pub total: f64,
    /// Its uncertainty; not estimable if a stratum's is not.
    pub spread: Estimable<StratifiedSpread>,
    /// Strata (by their place in the argument) whose spread cannot be estimated.
    pub without_spread: Vec<usize>,
}

/// The uncertainty of a sum of projections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StratifiedSpread {
    /// Standard error of the total.
    pub se: f64,
    /// Satterthwaite degrees of freedom.
    pub df: f64,
    /// Prediction interval of the total; its lower limit is not below 0.
    pub prediction: Interval,
    /// Confidence interval of the expected total.
    pub expected: Interval,
}

/// Adds up the projections of independent strata (the segments of a golden set).
///
/// T = Σ T_h, V = Σ V_h, df = V²/Σ(V_h²/df_h); where no stratum varies, Σ df_h. The expected total's
/// interval has its own degrees of freedom, from the variances of the means. [`NotEstimable::NoData`]
/// without strata.
///
/// # Errors
/// A `confidence` outside (0, 1).
///
/// Source: Satterthwaite (1946), Biometrics Bull. 2(6); Cochran (1977), ch. 5.
pub fn add_strata(
    strata: &[Projection],
    confidence: f64,
) -> Result<Estimable<StratifiedProjection>, StatsError> {
    error::check_probability("confidence", confidence)?;
    if strata.is_empty() {
        return Ok(Err(NotEstimable::NoData));
    }
    let total = sums::sum(strata.iter().map(|stratum| stratum.total));
    let without_spread: Vec<usize> =
        (0..strata.len()).filter(|&place| strata[place].spread.is_err()).collect();
    let spreads: Estimable<Vec<ProjectionSpread>> = strata.iter().map(|stratum| stratum.spread).collect();
    let spread = spreads.map(|spreads| {
        let interval = |variance: fn(&ProjectionSpread) -> f64| {
            let (sum, df) = satterthwaite(&spreads, variance);
            let half = student_quantile(0.5 + 0.5 * confidence, Some(df)) * sum.sqrt();
            (sum.sqrt(), df, not_negative(total, half))
        };
        let (se, df, prediction) = interval(|s| s.variance_of_mean + s.variance_of_future);
        let (_, _, expected) = interval(|s| s.variance_of_mean);
        StratifiedSpread { se, df, prediction, expected }
    });
    Ok(Ok(StratifiedProjection { total, spread, without_spread }))
}

/// The sum of the variances with its degrees of freedom.
fn satterthwaite(spreads: &[ProjectionSpread], variance: fn(&ProjectionSpread) -> f64) -> (f64, f64) {
    let sum = sums::sum(spreads.iter().map(variance));
    let parts = sums::sum(spreads.iter().map(|spread| variance(spread).powi(2) / spread.df));
    let df = if parts > 0.0 { sum * sum / parts } else { sums::sum(spreads.iter().map(|spread| spread.df)) };
    (sum, df)
}

/// `total ± half` of something that cannot be below 0.
fn not_negative(total: f64, half: f64) -> Interval {
    Interval { low: (total - half).max(0.0), high: total + half }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(costs: &[f64], n_cases: usize, samples_per_case: usize) -> Projection {
        let pilot = Samples::one_per_case(costs).unwrap();
        let clusters = Clusters::singletons(costs.len());
        project_total(pilot, &clusters, n_cases, samples_per_case, 0.95).unwrap().unwrap()
    }

    #[test]
    fn the_total_is_cases_times_samples_times_the_mean() {
        assert_eq!(of(&[100.0, 200.0, 300.0], 50, 4).total, 40_000.0);
    }

    #[test]
    fn costs_that_do_not_vary_have_an_interval_of_width_zero() {
        let spread = of(&[50.0; 3], 10, 2).spread.unwrap();
        assert_eq!(spread.prediction, Interval { low: 1000.0, high: 1000.0 });
    }

    #[test]
    fn one_pilot_case_gives_a_total_alone() {
        let projection = of(&[100.0], 10, 2);
        assert_eq!(projection.total, 2000.0);
        assert_eq!(projection.spread, Err(NotEstimable::NeedTwoPilotCases));
    }

    #[test]
    fn a_cost_is_never_projected_below_zero() {
        let spread = of(&[1.0, 1000.0], 10, 1).spread.unwrap();
        assert_eq!(spread.prediction.low, 0.0);
    }

    #[test]
    fn strata_add_up_and_name_the_one_without_spread() {
        let (wide, alone) = (of(&[100.0, 200.0, 300.0], 50, 1), of(&[100.0], 10, 1));
        let sum = add_strata(&[wide, alone], 0.95).unwrap().unwrap();
        assert_eq!((sum.total, sum.without_spread), (11_000.0, vec![1]));
        assert_eq!(sum.spread, Err(NotEstimable::NeedTwoPilotCases));
        let twice = add_strata(&[wide, wide], 0.95).unwrap().unwrap().spread.unwrap();
        assert!((twice.df - 4.0).abs() < 1e-9);
        let one = wide.spread.unwrap();
        assert!((twice.se - one.se * 2.0_f64.sqrt()).abs() < 1e-9 * one.se);
        assert_eq!(add_strata(&[], 0.95), Ok(Err(NotEstimable::NoData)));
    }

    #[test]
    fn strata_that_do_not_vary_keep_their_degrees_of_freedom() {
        let flat = of(&[50.0; 3], 10, 2);
        let sum = add_strata(&[flat, flat], 0.95).unwrap().unwrap().spread.unwrap();
        assert_eq!((sum.se, sum.df), (0.0, 4.0));
    }

    #[test]
    fn no_data_and_wrong_input_are_told_apart() {
        let none = Clusters::singletons(0);
        let empty = Samples::one_per_case(&[]).unwrap();
        assert_eq!(project_total(empty, &none, 1, 1, 0.95), Ok(Err(NotEstimable::NoData)));
        let one = Clusters::singletons(1);
        let pilot = |costs| Samples::one_per_case(costs).unwrap();
        assert!(project_total(pilot(&[-1.0]), &one, 1, 1, 0.95).is_err());
        assert!(project_total(pilot(&[1.0]), &one, 1, 0, 0.95).is_err());
        assert!(project_total(pilot(&[1.0]), &none, 1, 1, 0.95).is_err());
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_total(
            costs in prop::collection::vec(0.0..1e4f64, 2..60),
            n_cases in 1..5000usize,
            samples_per_case in 1..9usize,
        ) {
            let projection = of(&costs, n_cases, samples_per_case);
            let spread = projection.spread.unwrap();
            prop_assert!(spread.prediction.contains(projection.total));
            prop_assert!(spread.prediction.width() >= spread.expected.width());
        }
    }
}
