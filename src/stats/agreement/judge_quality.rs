//! How often a judge is right, among what humans passed and among what humans failed.

use crate::stats::{Estimable, Interval, NotEstimable, StatsError, proportions::proportion};

/// Labels of one judge beside those of humans, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgeCounts {
    /// Human pass, judge pass.
    pub true_pass: u64,
    /// Human fail, judge pass: what a judge too lenient lets through.
    pub false_pass: u64,
    /// Human fail, judge fail.
    pub true_fail: u64,
    /// Human pass, judge fail.
    pub false_fail: u64,
}

/// A share with its Wilson interval, both on their own denominator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share; [`NotEstimable::ZeroDenominator`] if its denominator is 0.
    pub value: Estimable<f64>,
    /// Its Wilson interval.
    pub interval: Estimable<Interval>,
    /// The denominator.
    pub of: u64,
}

/// What the labels say of the judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgeQuality {
    /// Judge pass among human pass.
    pub sensitivity: Share,
    /// Judge fail among human fail.
    pub specificity: Share,
    /// Human pass among judge pass.
    pub precision: Share,
    /// Human fail among judge fail.
    pub negative_predictive_value: Share,
    /// Judge pass among all.
    pub judge_pass: Share,
    /// Human pass among all.
    pub human_pass: Share,
}

/// Sensitivity, specificity, precision and negative predictive value of a judge.
///
/// Each is a share with a Wilson interval on its own denominator; an empty denominator is
/// [`NotEstimable::ZeroDenominator`]. Assumes that the human labels are a random sample of the judged
/// cases: one enriched in disputed cases breaks all of them. A sample chosen by the human's answer leaves
/// sensitivity and specificity; one chosen by the judge's verdict leaves precision and the negative
/// predictive value (Begg & Greenes 1983).
///
/// # Errors
/// A `confidence` outside (0, 1).
///
/// Source: Wilson (1927), JASA 22(158), for the intervals.
pub fn judge_quality(counts: JudgeCounts, confidence: f64) -> Result<JudgeQuality, StatsError> {
    let z = proportion::two_sided_z(confidence)?;
    let JudgeCounts { true_pass, false_pass, true_fail, false_fail } = counts;
    let all = true_pass + false_pass + true_fail + false_fail;
    let share = |part: u64, of: u64| -> Result<Share, StatsError> {
        if of == 0 {
            let empty = NotEstimable::ZeroDenominator;
            return Ok(Share { value: Err(empty), interval: Err(empty), of });
        }
        Ok(Share { value: Ok(part as f64 / of as f64), interval: proportion::wilson(part, of, z)?, of })
    };
    Ok(JudgeQuality {
        sensitivity: share(true_pass, true_pass + false_fail)?,
        specificity: share(true_fail, true_fail + false_pass)?,
        precision: share(true_pass, true_pass + false_pass)?,
        negative_predictive_value: share(true_fail, true_fail + false_fail)?,
        judge_pass: share(true_pass + false_pass, all)?,
        human_pass: share(true_pass + false_fail, all)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_that_agrees_on_91_of_100_finds_one_of_six_fails() {
        let counts = JudgeCounts { true_pass: 90, false_pass: 5, true_fail: 1, false_fail: 4 };
        let quality = judge_quality(counts, 0.95).unwrap();
        assert!((quality.specificity.value.unwrap() - 1.0 / 6.0).abs() < 1e-12);
        assert_eq!(quality.specificity.of, 6);
        assert!((quality.sensitivity.value.unwrap() - 90.0 / 94.0).abs() < 1e-12);
    }

    #[test]
    fn disputed_cases_drawn_twice_break_sensitivity_too() {
        let sensitivity = |false_fail| {
            let counts = JudgeCounts { true_pass: 90, false_fail, ..JudgeCounts::default() };
            judge_quality(counts, 0.95).unwrap().sensitivity.value.unwrap()
        };
        assert!((sensitivity(10) - 0.9).abs() < 1e-12);
        assert!((sensitivity(20) - 90.0 / 110.0).abs() < 1e-12);
    }

    #[test]
    fn an_empty_denominator_has_no_share() {
        let counts = JudgeCounts { true_pass: 40, ..JudgeCounts::default() };
        let quality = judge_quality(counts, 0.95).unwrap();
        assert_eq!(quality.specificity.value, Err(NotEstimable::ZeroDenominator));
        assert_eq!(quality.negative_predictive_value.interval, Err(NotEstimable::ZeroDenominator));
        assert_eq!(quality.precision.value, Ok(1.0));
        assert!(judge_quality(counts, 0.0).is_err());
    }
}
