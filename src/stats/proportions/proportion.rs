//! Intervals of a pass rate over independent cases.
//!
//! Wilson is the default, Clopper-Pearson serves gates of the form "at least x", Jeffreys may be
//! shown beside Wilson below 100 cases. The Wald interval p ± z√(p(1−p)/n) is not offered: it
//! covers the truth in a third of the cases near 1. Clusters and repeats: [`effective_n`].
//!
//! [`effective_n`]: crate::stats::means::effective_n

use crate::stats::{Estimable, Interval, NotEstimable, StatsError, error, special};

/// The two-sided normal quantile z = Φ⁻¹(1 − α/2), 1.959963984540054 at a confidence of 0.95.
///
/// # Errors
///
/// [`StatsError::Probability`] for a confidence outside (0, 1).
pub fn two_sided_z(confidence: f64) -> Result<f64, StatsError> {
    two_sided_t(confidence, None)
}

/// The two-sided Student quantile at real-valued `df`; `None` is the normal distribution.
///
/// # Errors
///
/// [`StatsError::Probability`] for a confidence outside (0, 1).
pub fn two_sided_t(confidence: f64, df: Option<f64>) -> Result<f64, StatsError> {
    error::check_probability("confidence", confidence)?;
    Ok(special::student_quantile(0.5 + 0.5 * confidence, df))
}

/// Wilson score interval: `passes` of `n`, at normal quantile `z`.
///
/// centre = (p + z²/2n) / (1 + z²/n),  half = z/(1 + z²/n) · √(p(1−p)/n + z²/4n²)
///
/// Assumes independent trials: repeats of one case are not, see
/// [`wilson_effective_n`](crate::stats::wilson_effective_n). With the one-sided quantile
/// (1.6448536 at 95 %) each end is a one-sided limit. Both ends lie in [0, 1]; the lower is 0
/// without a pass and the upper 1 without a failure. No data without trials.
///
/// # Errors
///
/// [`StatsError::CountExceedsTotal`] if `passes` exceeds `n`, [`StatsError::NotPositive`] for `z`.
///
/// Source: Wilson (1927), JASA 22(158), 209–212; Brown, Cai & DasGupta (2001), Stat. Sci. 16(2);
/// NIST/SEMATECH e-Handbook 7.2.4.1.
pub fn wilson(passes: u64, n: u64, z: f64) -> Result<Estimable<Interval>, StatsError> {
    check_count(passes, n)?;
    error::check_positive("z", z)?;
    Ok(share(passes, n).map(|p| wilson_score(p, n as f64, z)))
}

/// Wilson's formula at a real-valued number of trials.
pub(crate) fn wilson_score(p: f64, n: f64, z: f64) -> Interval {
    let square = z * z;
    let denominator = 1.0 + square / n;
    let centre = (p + square / (2.0 * n)) / denominator;
    let half = z * (p * (1.0 - p) / n + square / (4.0 * n * n)).max(0.0).sqrt() / denominator;
    Interval {
        low: if p <= 0.0 { 0.0 } else { (centre - half).max(0.0) },
        high: if p >= 1.0 { 1.0 } else { (centre + half).min(1.0) },
    }
}

/// Clopper-Pearson interval: coverage is never below `confidence`, at the price of width.
///
/// low = Beta⁻¹(α/2; k, n−k+1), high = Beta⁻¹(1−α/2; k+1, n−k); 0 without a pass, 1 without a
/// failure. No data without trials.
///
/// # Errors
///
/// [`StatsError::CountExceedsTotal`] if `passes` exceeds `n`, [`StatsError::Probability`].
///
/// Source: Clopper & Pearson (1934), Biometrika 26, 404–413.
pub fn clopper_pearson(passes: u64, n: u64, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
    check_count(passes, n)?;
    error::check_probability("confidence", confidence)?;
    let tail = 0.5 * (1.0 - confidence);
    Ok(share(passes, n).map(|_| {
        let (k, misses) = (passes as f64, (n - passes) as f64);
        Interval {
            low: clopper_pearson_low(k, n as f64, tail),
            high: 1.0 - clopper_pearson_low(misses, n as f64, tail),
        }
    }))
}

/// One-sided Clopper-Pearson lower limit of a pass rate `p` seen on `n` cases: "the pass rate is
/// at least this, with this confidence". `n` may be an effective number of samples.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for `p` outside [0, 1], [`StatsError::NotPositive`] for `n`,
/// [`StatsError::Probability`] for the confidence.
///
/// Source: Clopper & Pearson (1934); on an effective n, Korn & Graubard (1998).
pub fn clopper_pearson_lower_limit(p: f64, n: f64, confidence: f64) -> Result<f64, StatsError> {
    error::check_range("p", &[p], 0.0, 1.0)?;
    error::check_positive("n", n)?;
    error::check_probability("confidence", confidence)?;
    Ok(clopper_pearson_low(p * n, n, 1.0 - confidence))
}

fn clopper_pearson_low(k: f64, n: f64, tail: f64) -> f64 {
    if k <= 0.0 { 0.0 } else { special::beta_quantile(k, n - k + 1.0, tail) }
}

/// Jeffreys interval: the equal-tailed interval of Beta(k + ½, n − k + ½), with the lower end 0
/// without a pass and the upper end 1 without a failure. No data without trials.
///
/// # Errors
///
/// [`StatsError::CountExceedsTotal`] if `passes` exceeds `n`, [`StatsError::Probability`].
///
/// Source: Brown, Cai & DasGupta (2001), Stat. Sci. 16(2), 101–133.
pub fn jeffreys(passes: u64, n: u64, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
    let interval = beta_interval(passes, n, confidence, 0.5)?;
    Ok(interval.map(|interval| Interval {
        low: if passes == 0 { 0.0 } else { interval.low },
        high: if passes == n { 1.0 } else { interval.high },
    }))
}

/// The equal-tailed interval of Beta(k + 1, n − k + 1): a uniform prior. Its ends are not moved to
/// 0 or 1. No data without trials.
///
/// # Errors
///
/// [`StatsError::CountExceedsTotal`] if `passes` exceeds `n`, [`StatsError::Probability`].
///
/// Source: Bowyer, Aitchison & Ivanova (2025), arXiv 2503.01747.
pub fn uniform_beta(passes: u64, n: u64, confidence: f64) -> Result<Estimable<Interval>, StatsError> {
    beta_interval(passes, n, confidence, 1.0)
}

fn beta_interval(
    passes: u64,
    n: u64,
    confidence: f64,
    prior: f64,
) -> Result<Estimable<Interval>, StatsError> {
    check_count(passes, n)?;
    error::check_probability("confidence", confidence)?;
    let tail = 0.5 * (1.0 - confidence);
    Ok(share(passes, n).map(|_| {
        let (a, b) = (passes as f64 + prior, (n - passes) as f64 + prior);
        Interval { low: special::beta_quantile(a, b, tail), high: 1.0 - special::beta_quantile(b, a, tail) }
    }))
}

fn share(passes: u64, n: u64) -> Estimable<f64> {
    if n == 0 { Err(NotEstimable::NoData) } else { Ok(passes as f64 / n as f64) }
}

fn check_count(count: u64, total: u64) -> Result<(), StatsError> {
    if count <= total {
        Ok(())
    } else {
        Err(StatsError::CountExceedsTotal { argument: "passes", index: 0, count, total })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wilson95(passes: u64, n: u64) -> Interval {
        wilson(passes, n, two_sided_z(0.95).unwrap()).unwrap().unwrap()
    }

    #[test]
    fn twelve_of_twenty_is_39_to_78_percent() {
        let interval = wilson95(12, 20);
        assert_eq!(format!("{:.6}-{:.6}", interval.low, interval.high), "0.386582-0.781193");
    }

    #[test]
    fn thirteen_of_twenty_is_43_to_82_percent() {
        let interval = wilson95(13, 20);
        assert_eq!(format!("{:.6}-{:.6}", interval.low, interval.high), "0.432854-0.818808");
    }

    /// The worked example of the e-Handbook, which rounds z to 1.645.
    #[test]
    fn the_nist_example_has_its_printed_lower_limit() {
        let interval = wilson(26, 200, 1.645).unwrap().unwrap();
        assert_eq!(format!("{:.5}", interval.low), "0.09577");
    }

    #[test]
    fn eighty_five_of_a_hundred_is_not_the_wald_interval() {
        let interval = wilson95(85, 100);
        assert_eq!(format!("{:.3}-{:.3}", interval.low, interval.high), "0.767-0.907");
    }

    #[test]
    fn no_trials_give_no_interval() {
        assert_eq!(wilson(0, 0, 1.96), Ok(Err(NotEstimable::NoData)));
        assert_eq!(clopper_pearson(0, 0, 0.95), Ok(Err(NotEstimable::NoData)));
        assert_eq!(jeffreys(0, 0, 0.95), Ok(Err(NotEstimable::NoData)));
        assert_eq!(uniform_beta(0, 0, 0.95), Ok(Err(NotEstimable::NoData)));
    }

    #[test]
    fn all_or_none_touch_the_end_exactly() {
        assert_eq!(wilson95(30, 30).high, 1.0);
        assert_eq!(wilson95(0, 30).low, 0.0);
        assert_eq!(wilson95(1, 1).high, 1.0);
        let exact = clopper_pearson(0, 30, 0.95).unwrap().unwrap();
        assert_eq!(exact.low, 0.0);
        assert_eq!(jeffreys(30, 30, 0.95).unwrap().unwrap().high, 1.0);
    }

    /// With no failure among n the exact lower limit is α^(1/n).
    #[test]
    fn the_gate_limit_without_a_failure_is_the_nth_root() {
        let limit = clopper_pearson_lower_limit(1.0, 59.0, 0.95).unwrap();
        assert!((limit - 0.05_f64.powf(1.0 / 59.0)).abs() < 1e-12);
    }

    #[test]
    fn impossible_counts_and_levels_are_refused() {
        assert!(matches!(wilson(3, 2, 1.96), Err(StatsError::CountExceedsTotal { .. })));
        assert!(wilson(1, 2, f64::NAN).is_err());
        assert!(clopper_pearson(1, 2, 95.0).is_err());
        assert!(clopper_pearson_lower_limit(1.5, 10.0, 0.95).is_err());
        assert!(two_sided_z(1.0).is_err());
    }

    proptest! {
        #[test]
        fn every_interval_holds_its_point((passes, n) in (1_u64..3000).prop_flat_map(|n| (0..=n, Just(n)))) {
            let p = passes as f64 / n as f64;
            let exact = clopper_pearson(passes, n, 0.95).unwrap().unwrap();
            let score = wilson95(passes, n);
            prop_assert!(score.contains(p) && exact.contains(p));
            prop_assert!(jeffreys(passes, n, 0.95).unwrap().unwrap().contains(p));
            prop_assert!((0.0..=1.0).contains(&exact.low) && (0.0..=1.0).contains(&exact.high));
        }

        #[test]
        fn ten_times_the_cases_narrow_the_interval((passes, n) in (1_u64..300).prop_flat_map(|n| (0..=n, Just(n)))) {
            prop_assert!(wilson95(10 * passes, 10 * n).width() < wilson95(passes, n).width());
        }
    }
}
