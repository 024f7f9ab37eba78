//! The mean of independent values and its standard error.

use super::sums;
use crate::stats::{Estimable, Interval, NotEstimable, StatsError, error, proportions::proportion};

/// A mean over independent values, with the standard error of the central limit theorem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanSummary {
    /// Number of values.
    pub n: usize,
    /// The mean; no data without values.
    pub mean: Estimable<f64>,
    /// Unbiased variance of the values (n − 1); not estimable from a single one.
    pub variance: Estimable<f64>,
    /// √(variance/n). 0 when all values are equal, which is a trap: see `is_constant`.
    pub se: Estimable<f64>,
    /// √(p(1−p)/n); only for values that are all 0 or 1.
    pub se_bernoulli: Option<f64>,
}

/// The mean of independent values (Miller eq. 1): var = Σ(s − mean)²/(n − 1), se = √(var/n).
///
/// With repeats pass one value per case, with clusters see
/// [`clustered_mean`](crate::stats::clustered_mean). One value has a mean and no standard error.
///
/// # Errors
///
/// [`StatsError::NotFinite`] for NaN or infinity.
///
/// Source: Miller (2024), arXiv 2411.00640, eq. 1 and 2.
pub fn mean_summary(values: &[f64]) -> Result<MeanSummary, StatsError> {
    error::check_finite("values", values)?;
    let n = values.len();
    let mean = sums::mean(values).ok_or(NotEstimable::NoData);
    let variance = match n {
        0 => Err(NotEstimable::NoData),
        1 => Err(NotEstimable::SingleCase),
        _ => sums::variance(values).ok_or(NotEstimable::SingleCase),
    };
    let binary = values.iter().all(|&value| value == 0.0 || value == 1.0);
    let bernoulli = |p: f64| (p * (1.0 - p) / n as f64).sqrt();
    Ok(MeanSummary {
        n,
        mean,
        variance,
        se: variance.map(|variance| (variance / n as f64).sqrt()),
        se_bernoulli: mean.ok().filter(|_| binary).map(bernoulli),
    })
}

impl MeanSummary {
    /// Degrees of freedom of the t interval, n − 1; not estimable below two values.
    pub fn df(&self) -> Estimable<f64> {
        self.variance.map(|_| (self.n - 1) as f64)
    }

    /// Whether two or more values are all equal: the interval then has width 0 and is no evidence.
    pub fn is_constant(&self) -> bool {
        self.variance == Ok(0.0)
    }

    /// mean ± t(n−1)·se, the default. Not clipped to the range of the scores.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn t_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        let quantile = proportion::two_sided_t(confidence, self.df().ok())?;
        Ok(self.interval(quantile))
    }

    /// mean ± z·se (Miller eq. 3), for comparison with published numbers.
    ///
    /// # Errors
    ///
    /// [`StatsError::Probability`] for a confidence outside (0, 1).
    pub fn z_interval(&self, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
        Ok(self.interval(proportion::two_sided_z(confidence)?))
    }

    fn interval(&self, quantile: f64) -> Estimable<Interval> {
        Ok(Interval::around(self.mean?, quantile * self.se?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_value_has_no_standard_error() {
        let summary = mean_summary(&[0.75]).unwrap();
        assert_eq!(summary.mean, Ok(0.75));
        assert_eq!(summary.se, Err(NotEstimable::SingleCase));
        assert_eq!(summary.t_interval(0.95), Ok(Err(NotEstimable::SingleCase)));
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(mean_summary(&[]).unwrap().mean, Err(NotEstimable::NoData));
    }

    #[test]
    fn constant_scores_are_named_as_such() {
        let summary = mean_summary(&[0.1; 6]).unwrap();
        assert_eq!(summary.se, Ok(0.0));
        assert!(summary.is_constant());
        assert_eq!(summary.se_bernoulli, None);
    }

    #[test]
    fn bad_input_is_named() {
        let error = mean_summary(&[0.0, f64::INFINITY]).unwrap_err();
        assert_eq!(error.to_string(), "`values[1]` is `inf`, not a finite number");
        assert!(mean_summary(&[0.0, 1.0]).unwrap().t_interval(1.5).is_err());
    }

    proptest! {
        #[test]
        fn bernoulli_is_smaller_by_the_known_factor(passes in 1_usize..50, fails in 1_usize..50) {
            let scores = [vec![1.0; passes], vec![0.0; fails]].concat();
            let n = scores.len() as f64;
            let summary = mean_summary(&scores).unwrap();
            let expected = summary.se.unwrap() * ((n - 1.0) / n).sqrt();
            prop_assert!((summary.se_bernoulli.unwrap() - expected).abs() < 1e-12);
        }
    }
}
