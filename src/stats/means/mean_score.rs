//! A fractional score's mean as it is printed.

use super::{
    clustered::{self, ClusteredMean},
    effective_n,
};
use crate::stats::{
    Clusters, Estimable, Estimate, Method, NotEstimable, Samples, StatsError, Warning, error, warning,
};

/// A mean score with the interval that is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanScore {
    /// The mean; no data without cases.
    pub estimate: Estimable<Estimate>,
    /// The clustered numbers behind the estimate.
    pub clustered: ClusteredMean,
    /// What a reader should know beside it.
    pub warnings: Vec<Warning>,
}

/// The mean of fractional scores in any range: CR2 with a t interval at the Imbens-Kolesar degrees
/// of freedom, over case means.
///
/// The interval is not clipped to the range of the scores; do so for display. When the standard
/// error is exactly 0 its interval of width 0 is no evidence: scores within [0, 1] then get
/// Wilson on the effective n, others none (zero variance).
///
/// # Errors
///
/// [`StatsError::NoSamples`], [`StatsError::LengthsDiffer`], [`StatsError::Probability`].
pub fn mean_score(
    samples: &Samples<'_>,
    clusters: &Clusters,
    confidence: f64,
) -> Result<MeanScore, StatsError> {
    error::check_probability("confidence", confidence)?;
    clusters.check_covers("samples", samples.n_cases())?;
    let means = samples.case_means()?;
    let mean = clustered::compute(&means, clusters);

    let mut warnings = warning::of_sizes(clusters);
    warnings.extend(warning::of_repeats(samples));
    let constant = mean.se_cr2 == Ok(0.0);
    let bounded = samples.scores().iter().all(|score| (0.0..=1.0).contains(score));
    let (interval, df, method) = if constant && bounded {
        let n_samples = samples.n_samples();
        let wilson = effective_n::from_case_means(&means, n_samples, clusters, &mean, confidence)
            .expect("a standard error was estimated, so there are cases");
        (Ok(wilson.interval), wilson.df, wilson.method)
    } else if constant {
        (Err(NotEstimable::ZeroVariance), None, Method::ClusteredT)
    } else {
        (mean.cr2_ik_interval(confidence)?, mean.df_ik.ok(), Method::ClusteredT)
    };
    warnings.extend(warning::of_df(df));
    if constant {
        warnings.push(Warning::ZeroVariance);
    }
    if method == Method::ClusteredT && clusters.all_single() && means.len() < 300 {
        warnings.push(Warning::CltSmall);
    }
    let estimate = mean.mean.map(|point| Estimate {
        point,
        interval,
        se: mean.se_cr2,
        df,
        method,
        confidence,
        n_cases: mean.n,
        n_clusters: mean.n_clusters,
        n_samples: samples.n_samples(),
    });
    Ok(MeanScore { estimate, clustered: mean, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scores: &[f64], clusters: &Clusters) -> MeanScore {
        mean_score(&Samples::one_per_case(scores).unwrap(), clusters, 0.95).unwrap()
    }

    #[test]
    fn clusters_widen_the_interval() {
        let scores = [0.9, 0.8, 0.1, 0.2, 0.5, 0.6];
        let apart = of(&scores, &Clusters::singletons(6)).estimate.unwrap();
        let together = of(&scores, &Clusters::from_labels(&[0, 0, 1, 1, 2, 2])).estimate.unwrap();
        assert_eq!(apart.point, together.point);
        assert!(together.interval.unwrap().width() > apart.interval.unwrap().width());
        assert!((together.df.unwrap() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn constant_scores_do_not_get_an_interval_of_width_zero() {
        let bounded = of(&[0.5; 6], &Clusters::singletons(6));
        assert!(bounded.estimate.unwrap().interval.unwrap().width() > 0.3);
        assert!(bounded.warnings.contains(&Warning::ZeroVariance));
        let tokens = of(&[120.0; 6], &Clusters::singletons(6)).estimate.unwrap();
        assert_eq!(tokens.interval, Err(NotEstimable::ZeroVariance));
        assert_eq!(tokens.se, Ok(0.0));
    }

    #[test]
    fn one_case_has_a_mean_only() {
        let one = of(&[0.7], &Clusters::singletons(1)).estimate.unwrap();
        assert_eq!((one.point, one.interval), (0.7, Err(NotEstimable::SingleCase)));
        assert_eq!(of(&[], &Clusters::singletons(0)).estimate, Err(NotEstimable::NoData));
    }
}
