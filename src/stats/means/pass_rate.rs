//! The pass rate as it is printed: the interval that the data call for, with what it rests on.

use super::{
    clustered::{self, ClusteredMean},
    effective_n::{self, EffectiveWilson},
};
use crate::stats::{Clusters, Estimable, Estimate, Method, Samples, StatsError, Warning, error, warning};

/// A pass rate with the interval that is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct PassRate {
    /// The pass rate; no data without cases.
    pub estimate: Estimable<Estimate>,
    /// Standard error as if the cases were independent, √(var/n) of the case means.
    pub se_naive: Estimable<f64>,
    /// The clustered numbers behind the estimate.
    pub clustered: ClusteredMean,
    /// The interval's own numbers: design effect, effective n, carriers.
    pub wilson: Estimable<EffectiveWilson>,
    /// What a reader should know beside it.
    pub warnings: Vec<Warning>,
}

/// The pass rate of 0/1 samples, with the interval that the data call for.
///
/// One sample a case and no cluster larger than one: Wilson at the normal quantile, and the
/// standard error with n − 1. Else Wilson on the effective n
/// ([`wilson_effective_n`](crate::stats::wilson_effective_n)) and CR2. Cases weigh the same whatever
/// their number of samples.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a score outside [0, 1], [`StatsError::NoSamples`] (a case without
/// an answer is missing, not failed), [`StatsError::LengthsDiffer`], [`StatsError::Probability`].
pub fn pass_rate(
    samples: &Samples<'_>,
    clusters: &Clusters,
    confidence: f64,
) -> Result<PassRate, StatsError> {
    error::check_range("scores", samples.scores(), 0.0, 1.0)?;
    error::check_probability("confidence", confidence)?;
    clusters.check_covers("samples", samples.n_cases())?;
    let means = samples.case_means()?;
    let mean = clustered::compute(&means, clusters);
    let n_samples = samples.n_samples();
    let wilson = effective_n::from_case_means(&means, n_samples, clusters, &mean, confidence);

    let mut warnings = warning::of_sizes(clusters);
    warnings.extend(warning::of_repeats(samples));
    if let Ok(wilson) = &wilson {
        warnings.extend(warning::of_df(wilson.df));
        if wilson.method == Method::WilsonEffectiveN && wilson.carriers < 10 {
            warnings.push(Warning::FewInformativeClusters);
        }
        if wilson.p > 0.98 {
            warnings.push(Warning::Ceiling);
        }
    }
    let estimate = wilson.map(|wilson| Estimate {
        point: wilson.p,
        interval: Ok(wilson.interval),
        se: if wilson.method == Method::Wilson { mean.se_naive } else { mean.se_cr2 },
        df: wilson.df,
        method: wilson.method,
        confidence,
        n_cases: mean.n,
        n_clusters: mean.n_clusters,
        n_samples,
    });
    Ok(PassRate { estimate, se_naive: mean.se_naive, clustered: mean, wilson, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::NotEstimable;

    fn of(scores: &[f64], clusters: &Clusters) -> PassRate {
        pass_rate(&Samples::one_per_case(scores).unwrap(), clusters, 0.95).unwrap()
    }

    #[test]
    fn independent_cases_get_plain_wilson() {
        let scores = [[1.0; 12].as_slice(), &[0.0; 8]].concat();
        let rate = of(&scores, &Clusters::singletons(20));
        let estimate = rate.estimate.unwrap();
        assert_eq!(estimate.method.to_string(), "Wilson");
        let (low, high) = (estimate.low().unwrap(), estimate.high().unwrap());
        assert_eq!(format!("{:.0}-{:.0} %", 100.0 * low, 100.0 * high), "39-78 %");
        assert_eq!(rate.warnings, [Warning::FewCases]);
        assert_eq!(estimate.se, rate.se_naive);
    }

    #[test]
    fn clusters_get_wilson_on_the_effective_n() {
        let rate = of(&[1.0; 12], &Clusters::from_labels(&[0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]));
        let estimate = rate.estimate.unwrap();
        assert_eq!(estimate.method, Method::WilsonEffectiveN);
        assert_eq!((estimate.n_cases, estimate.n_clusters, estimate.n_samples), (12, 3, 12));
        assert_eq!(rate.wilson.unwrap().carriers, 0);
        let codes: Vec<_> = rate.warnings.iter().map(|warning| warning.code()).collect();
        assert_eq!(
            codes,
            [
                "few_cases",
                "few_clusters",
                "dominant_cluster",
                "low_df",
                "few_informative_clusters",
                "ceiling"
            ]
        );
    }

    #[test]
    fn one_cluster_has_an_interval_but_no_standard_error() {
        let estimate = of(&[1.0, 0.0, 1.0, 1.0], &Clusters::from_labels(&[0; 4])).estimate.unwrap();
        assert_eq!(estimate.se, Err(NotEstimable::OneCluster));
        assert!(estimate.interval.unwrap().width() > 0.8);
    }

    #[test]
    fn unequal_repeats_are_pointed_out_and_cases_weigh_the_same() {
        let samples = Samples::new(&[1.0, 1.0, 1.0, 0.0], &[0, 3, 4]).unwrap();
        let rate = pass_rate(&samples, &Clusters::singletons(2), 0.95).unwrap();
        assert_eq!(rate.estimate.unwrap().point, 0.5);
        assert!(rate.warnings.contains(&Warning::UnequalK));
    }

    #[test]
    fn nothing_measured_is_no_data() {
        assert_eq!(of(&[], &Clusters::singletons(0)).estimate, Err(NotEstimable::NoData));
    }

    #[test]
    fn a_case_without_samples_is_refused() {
        let samples = Samples::new(&[1.0], &[0, 1, 1]).unwrap();
        let refused = pass_rate(&samples, &Clusters::singletons(2), 0.95);
        assert_eq!(refused, Err(StatsError::NoSamples { argument: "samples", case: 1 }));
    }
}
