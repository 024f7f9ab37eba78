//! The paired difference as it is printed: interval, p value of independent cases, verdict.

use super::{
    flips::sign_test,
    paired::{self, EffectiveDifference, Pairing, paired_summary},
};
use crate::stats::{
    Clusters, Estimable, Estimate, Interval, Method, NotEstimable, PairedSummary, Samples, SignTest,
    StatsError, Warning, error, means::clustered::ClusteredMean, warning,
};

/// What an interval says about the sign of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DifferenceVerdict {
    /// The interval lies above 0: the candidate is better.
    Better,
    /// The interval lies below 0: the candidate is worse.
    Worse,
    /// The interval holds 0.
    NoDifferenceSeen,
    /// Too many cases are missing on one side.
    Undetermined,
}

impl DifferenceVerdict {
    /// The verdict's word in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifferenceSeen => "no_difference_seen",
            Self::Undetermined => "undetermined",
        }
    }
}

/// A paired difference with the interval that is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedDifference {
    /// Candidate − baseline; no data without pairs.
    pub estimate: Estimable<Estimate>,
    /// Every other paired number.
    pub summary: PairedSummary,
    /// The interval of [`bonett_price`](crate::stats::bonett_price) with its effective n, for differences
    /// within [−1, 1].
    pub bonett_price: Option<EffectiveDifference>,
    /// The exact sign test, for 0/1 scores with one sample a side and no clusters. With clusters,
    /// fractions or repeats the p value is that of the cluster sign-flip test.
    pub sign_test: Option<SignTest>,
    /// What the interval says.
    pub verdict: DifferenceVerdict,
    /// What a reader should know beside it.
    pub warnings: Vec<Warning>,
}

/// The mean difference candidate − baseline over the pairs, with the interval the data call for.
///
/// Pass/fail with one sample a side: Bonett-Price on the effective n. Fractions or repeats: CR2 with
/// a t interval, unless fewer than 10 clusters carry a difference or the differences do not vary;
/// then Bonett-Price as well. Differences beyond [−1, 1] (costs, tokens) always have the t interval.
///
/// The verdict is that of what was measured, and undetermined when the cases measured on one side only
/// are more than 2 % of the pairs. Samples do not say what was planned: whoever knows asks again with
/// everything that is missing scored 0 for the candidate and 1 for the baseline, and the other way
/// round, and claims what all three say.
///
/// # Errors
///
/// What [`paired_summary`] refuses, and [`StatsError::Probability`].
pub fn paired_difference(
    candidate: &Samples<'_>,
    baseline: &Samples<'_>,
    clusters: &Clusters,
    confidence: f64,
) -> Result<PairedDifference, StatsError> {
    error::check_probability("confidence", confidence)?;
    let summary = paired_summary(candidate, baseline, clusters)?;
    let pairing = &summary.pairing;
    let single_verdicts = candidate.are_binary()
        && baseline.are_binary()
        && pairing
            .both
            .iter()
            .all(|&case| candidate.of_case(case).len() == 1 && baseline.of_case(case).len() == 1);
    let printed = Printed::of(
        &summary.differences,
        &summary.clusters,
        &summary.clustered,
        single_verdicts,
        confidence,
    )?;
    let sign_test = (single_verdicts && summary.clusters.all_single()).then(|| {
        let count = |sign: f64| summary.differences.iter().filter(|&&d| d == sign).count() as u64;
        sign_test(count(1.0), count(-1.0))
    });
    let verdict = verdict(pairing, &printed);

    let mut warnings = warning::of_sizes(&summary.clusters);
    if warning::of_repeats(candidate).or(warning::of_repeats(baseline)).is_some() {
        let lengths = |samples: &Samples<'_>| {
            let mut lengths = pairing.both.iter().map(|&case| samples.of_case(case).len());
            let first = lengths.next();
            lengths.any(|length| Some(length) != first)
        };
        // A case that is missing on a side is not an unequal number of repeats.
        if lengths(candidate) || lengths(baseline) {
            warnings.push(Warning::UnequalK);
        }
    }
    warnings.extend(warning::of_df(printed.df));
    if !summary.differences.is_empty() && printed.carriers < 10 {
        warnings.push(Warning::FewInformativeClusters);
    }
    if !pairing.only_candidate.is_empty() || !pairing.only_baseline.is_empty() {
        warnings.push(Warning::MissingPairs);
    }
    if summary.clustered.se_cr2 == Ok(0.0) {
        warnings.push(Warning::ZeroVariance);
    }
    let n_samples =
        pairing.both.iter().map(|&case| candidate.of_case(case).len() + baseline.of_case(case).len()).sum();
    let estimate = summary.diff.map(|point| Estimate {
        point,
        interval: printed.interval,
        se: summary.clustered.se_cr2,
        df: printed.df,
        method: printed.method,
        confidence,
        n_cases: summary.differences.len(),
        n_clusters: summary.clusters.len(),
        n_samples,
    });
    let bonett_price = printed.bonett_price;
    Ok(PairedDifference { estimate, summary, bonett_price, sign_test, verdict, warnings })
}

/// The interval of the decision table.
struct Printed {
    interval: Estimable<Interval>,
    df: Option<f64>,
    method: Method,
    carriers: usize,
    bonett_price: Option<EffectiveDifference>,
}

impl Printed {
    fn of(
        differences: &[f64],
        clusters: &Clusters,
        mean: &ClusteredMean,
        single_verdicts: bool,
        confidence: f64,
    ) -> Result<Self, StatsError> {
        let bounded = differences.iter().all(|d| (-1.0..=1.0).contains(d));
        let bonett_price = if bounded {
            paired::bonett_price_of(differences, clusters, mean, confidence).ok()
        } else {
            None
        };
        let carriers = paired::carriers(differences, clusters);
        let constant = mean.se_cr2 == Ok(0.0);
        let prefers_effective_n = single_verdicts || carriers < 10 || constant;
        let t = mean.cr2_ik_interval(confidence)?;
        let (interval, df, method) = match bonett_price {
            Some(_) if differences.len() == 1 => {
                (Err(NotEstimable::SingleCase), None, Method::BonettPriceEffectiveN)
            }
            Some(effective) if prefers_effective_n => {
                (Ok(effective.interval), effective.df, Method::BonettPriceEffectiveN)
            }
            _ if constant => (Err(NotEstimable::ZeroVariance), None, Method::ClusteredT),
            _ => (t, mean.df_ik.ok(), Method::ClusteredT),
        };
        Ok(Self { interval, df, method, carriers, bonett_price })
    }

    fn verdict(&self) -> DifferenceVerdict {
        match self.interval {
            Ok(interval) if interval.low > 0.0 => DifferenceVerdict::Better,
            Ok(interval) if interval.high < 0.0 => DifferenceVerdict::Worse,
            Ok(_) => DifferenceVerdict::NoDifferenceSeen,
            Err(_) => DifferenceVerdict::Undetermined,
        }
    }
}

/// Undetermined where more than 2 % as many cases as there are pairs were measured on one side only.
fn verdict(pairing: &Pairing, printed: &Printed) -> DifferenceVerdict {
    let lone = pairing.only_candidate.len() + pairing.only_baseline.len();
    if lone as f64 > 0.02 * pairing.both.len() as f64 {
        return DifferenceVerdict::Undetermined;
    }
    printed.verdict()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SampleTable;

    fn of(candidate: &[f64], baseline: &[f64], labels: &[u32]) -> PairedDifference {
        paired_difference(
            &Samples::one_per_case(candidate).unwrap(),
            &Samples::one_per_case(baseline).unwrap(),
            &Clusters::from_labels(labels),
            0.95,
        )
        .unwrap()
    }

    #[test]
    fn verdicts_of_independent_cases_get_bonett_price_and_the_sign_test() {
        let candidate = [[1.0; 30].as_slice(), &[0.0; 10]].concat();
        let baseline = [[0.0; 30].as_slice(), &[1.0; 10]].concat();
        let difference = of(&candidate, &baseline, &(0..40).collect::<Vec<_>>());
        let estimate = difference.estimate.unwrap();
        assert_eq!(estimate.method, Method::BonettPriceEffectiveN);
        assert_eq!(estimate.point, 0.5);
        assert!((difference.sign_test.unwrap().p_exact - 0.002_221).abs() < 1e-6);
        assert_eq!(difference.verdict, DifferenceVerdict::Better);
    }

    #[test]
    fn clusters_leave_the_p_value_to_the_sign_flip_test() {
        let difference = of(&[1.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 1.0], &[0, 0, 1, 1]);
        assert_eq!(difference.sign_test, None);
    }

    #[test]
    fn fractions_in_many_clusters_get_the_t_interval() {
        let baseline: Vec<f64> = (0..40).map(|case| f64::from(case % 7) / 10.0).collect();
        let candidate: Vec<f64> =
            baseline.iter().enumerate().map(|(case, score)| score + (case % 3) as f64 / 10.0).collect();
        let difference = of(&candidate, &baseline, &(0..40).map(|case| case / 2).collect::<Vec<_>>());
        assert_eq!(difference.estimate.unwrap().method, Method::ClusteredT);
        let few = of(&candidate[..8], &baseline[..8], &[0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(few.estimate.unwrap().method, Method::BonettPriceEffectiveN);
    }

    #[test]
    fn ties_are_no_difference_seen() {
        let ties = of(&[1.0; 8], &[1.0; 8], &(0..8).collect::<Vec<_>>());
        assert_eq!(ties.verdict, DifferenceVerdict::NoDifferenceSeen);
        assert_eq!(ties.estimate.unwrap().se, Ok(0.0));
        assert!(ties.warnings.contains(&Warning::ZeroVariance));
    }

    #[test]
    fn costs_are_never_squeezed_into_a_unit_interval() {
        let candidate: Vec<f64> = (0..40).map(|case| 100.0 + f64::from(case)).collect();
        let cost = of(&candidate, &[90.0; 40], &(0..40).collect::<Vec<_>>());
        assert_eq!(cost.bonett_price, None);
        assert_eq!(cost.estimate.unwrap().method, Method::ClusteredT);
        let shift = of(&[100.0; 40], &[90.0; 40], &(0..40).collect::<Vec<_>>());
        assert_eq!(shift.estimate.unwrap().interval, Err(NotEstimable::ZeroVariance));
    }

    /// 200 pairs of which 8 were fixed; so many more cases have no answer of the candidate.
    fn with_missing(missing: usize) -> PairedDifference {
        let table =
            |score: fn(usize) -> Option<f64>, n: usize| -> SampleTable { (0..n).map(score).collect() };
        let n = 200 + missing;
        let candidate = table(|case| (case < 200).then_some(1.0), n);
        let baseline = table(|case| Some(f64::from(u8::from(case >= 8))), n);
        let (candidate, baseline) = (candidate.as_samples().unwrap(), baseline.as_samples().unwrap());
        paired_difference(&candidate, &baseline, &Clusters::singletons(n), 0.95).unwrap()
    }

    #[test]
    fn too_many_cases_of_one_side_alone_leave_the_verdict_undetermined() {
        assert_eq!(with_missing(0).verdict, DifferenceVerdict::Better);
        assert_eq!(with_missing(3).verdict, DifferenceVerdict::Better);
        assert_eq!(with_missing(6).verdict, DifferenceVerdict::Undetermined);
        assert!(with_missing(3).warnings.contains(&Warning::MissingPairs));
    }

    #[test]
    fn one_pair_is_a_difference_and_nothing_more() {
        let one = of(&[1.0], &[0.0], &[0]);
        let estimate = one.estimate.unwrap();
        assert_eq!(estimate.point, 1.0);
        assert_eq!(estimate.interval, Err(NotEstimable::SingleCase));
        assert_eq!(one.verdict, DifferenceVerdict::Undetermined);
    }

    #[test]
    fn no_pairs_are_no_data() {
        let nothing = of(&[], &[], &[]);
        assert_eq!(nothing.estimate, Err(NotEstimable::NoData));
        assert_eq!(nothing.verdict, DifferenceVerdict::Undetermined);
    }
}
