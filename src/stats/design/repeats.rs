//! What repeats of a case buy: the variance within cases against that between them.

use crate::stats::{Estimable, NotEstimable, Samples, StatsError, error, means::sums};

/// The variance of case means, split into difficulty (between cases) and chance (within a case).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Number of cases.
    pub n: usize,
    /// Variance of the case means (n − 1).
    pub variance_of_means: Estimable<f64>,
    /// Mean over cases of the unbiased variance of a case's samples. Not estimable without a case
    /// of two samples.
    pub within: Estimable<f64>,
    /// The part of `variance_of_means` that is sampling noise: (1/n) Σ v_i/K_i.
    pub noise: Estimable<f64>,
    /// `variance_of_means` − `noise`: unbiased, and negative now and then.
    pub between_raw: Estimable<f64>,
    /// max(0, `between_raw`).
    pub between: Estimable<f64>,
}

/// Splits the variance of case means (Miller §3.1): Var(s_i) = Var(x) + E\[σ_i²\]/K.
///
/// v_i = unbiased variance of case i's samples (K_i >= 2); within = mean v_i, unbiased for E\[σ_i²\]
/// even if the σ_i differ; cases with one sample borrow it. With constant K this is the one-way
/// random-effects ANOVA. Assumes that K_i does not depend on the answers: retrying until a pass
/// breaks it. The standard error of the mean needs nothing added: it is that of the case means.
///
/// # Errors
///
/// [`StatsError::NoSamples`].
///
/// Source: Miller (2024), arXiv 2411.00640, §3.1.
pub fn variance_components(samples: &Samples<'_>) -> Result<Components, StatsError> {
    let means = samples.case_means()?;
    Ok(components_of(samples.cases(), &means))
}

/// As [`variance_components`], for the cases given with their means.
pub(crate) fn components_of<'a>(cases: impl Iterator<Item = &'a [f64]>, means: &[f64]) -> Components {
    let n = means.len();
    let variance_of_means = match n {
        0 => Err(NotEstimable::NoData),
        1 => Err(NotEstimable::SingleCase),
        _ => sums::variance(means).ok_or(NotEstimable::SingleCase),
    };
    let mut repeated = 0_usize;
    let mut within = sums::Sum::default();
    let mut noise = sums::Sum::default();
    let mut single = 0_usize;
    for (case, &mean) in cases.zip(means) {
        match sums::variance_around(case, mean) {
            Some(variance) => {
                repeated += 1;
                within.add(variance);
                noise.add(variance / case.len() as f64);
            }
            None => single += 1,
        }
    }
    let within = match (n, repeated) {
        (0, _) => Err(NotEstimable::NoData),
        (_, 0) => Err(NotEstimable::NoRepeats),
        _ => Ok(within.value() / repeated as f64),
    };
    let noise = within.map(|within| (noise.value() + single as f64 * within) / n as f64);
    let between_raw = variance_of_means.and_then(|variance| Ok(variance - noise?));
    Components {
        n,
        variance_of_means,
        within,
        noise,
        between_raw,
        between: between_raw.map(|between| between.max(0.0)),
    }
}

impl Components {
    /// Standard error with `k` samples of each of these cases; `None` is infinitely many.
    pub fn se_at(&self, k: Option<u32>) -> Estimable<f64> {
        let noise = k.map_or(0.0, |k| 1.0 / f64::from(k));
        Ok(((self.between? + self.within? * noise) / self.n as f64).sqrt())
    }

    /// Share of the variance of one sample's score that is difficulty: between/(between + within).
    pub fn icc_of_samples(&self) -> Estimable<f64> {
        ratio(self.between?, self.between? + self.within?)
    }
}

/// By how much `k` samples a case cut the variance of the mean against one:
/// 1 − (between + within/k)/(between + within).
///
/// For uniform difficulty (between 1/12, within 1/6): 1/3 at 2, 1/2 at 4, 5/9 at 6, never above
/// 2/3. Not estimable if both are 0.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a negative variance, [`StatsError::NotPositive`] for `k`.
pub fn variance_cut(between: f64, within: f64, k: u32) -> Result<Estimable<f64>, StatsError> {
    check_variances(between, within)?;
    error::check_positive("k", f64::from(k))?;
    Ok(ratio(between + within / f64::from(k), between + within).map(|left| 1.0 - left))
}

/// The smallest number of samples a case whose standard error is within a factor 1 + `inflation`
/// of infinitely many: max(1, ⌈(within/between)/((1 + ε)² − 1)⌉).
///
/// Not estimable when the cases do not differ: then any number helps equally, and samples belong
/// where they are cheapest.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a negative variance, [`StatsError::NotPositive`].
pub fn repeats_for_inflation(
    between: f64,
    within: f64,
    inflation: f64,
) -> Result<Estimable<u64>, StatsError> {
    check_variances(between, within)?;
    error::check_positive("inflation", inflation)?;
    let allowed = (1.0 + inflation) * (1.0 + inflation) - 1.0;
    Ok(ratio(within, between).map(|ratio| {
        // A count that misses a whole number only by rounding is that number.
        whole((ratio / allowed - 1e-9).ceil().max(1.0))
    }))
}

/// The number of samples a case with the smallest variance for the money (real-valued):
/// K* = √((cost_case/cost_sample)·(within/between)).
///
/// Below 1 means one sample; cases that do not differ leave it open (not estimable), as do free
/// samples.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a negative variance or cost.
///
/// Source: Cochran (1977), Sampling Techniques, ch. 10.
pub fn optimal_repeats(
    between: f64,
    within: f64,
    cost_case: f64,
    cost_sample: f64,
) -> Result<Estimable<f64>, StatsError> {
    check_variances(between, within)?;
    error::check_range("cost_case", &[cost_case], 0.0, f64::MAX)?;
    error::check_range("cost_sample", &[cost_sample], 0.0, f64::MAX)?;
    if cost_sample == 0.0 {
        return Ok(Err(NotEstimable::ZeroDenominator));
    }
    Ok(ratio(within, between).map(|ratio| (cost_case / cost_sample * ratio).sqrt()))
}

/// A non-negative whole number of f64 as an integer; beyond u64 it saturates.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole and not negative, and `as` saturates"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}

fn ratio(numerator: f64, denominator: f64) -> Estimable<f64> {
    if denominator == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok(numerator / denominator) }
}

fn check_variances(between: f64, within: f64) -> Result<(), StatsError> {
    error::check_range("between", &[between], 0.0, f64::MAX)?;
    error::check_range("within", &[within], 0.0, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SampleTable;

    fn of(rows: &[&[f64]]) -> Components {
        let table: SampleTable = rows.iter().map(|row| row.iter().copied()).collect();
        variance_components(&table.as_samples().unwrap()).unwrap()
    }

    #[test]
    fn two_samples_cut_the_variance_by_a_third_and_six_by_five_ninths() {
        let cut = |k| variance_cut(1.0 / 12.0, 1.0 / 6.0, k).unwrap().unwrap();
        for (k, expected) in [(1, 0.0), (2, 1.0 / 3.0), (4, 0.5), (6, 5.0 / 9.0)] {
            assert!((cut(k) - expected).abs() < 1e-15, "k = {k}");
        }
    }

    #[test]
    fn one_sample_each_says_nothing_about_chance() {
        let single = of(&[&[1.0], &[0.0], &[1.0]]);
        assert_eq!(single.within, Err(NotEstimable::NoRepeats));
        assert_eq!(single.between, Err(NotEstimable::NoRepeats));
        assert!(single.variance_of_means.is_ok());
    }

    #[test]
    fn one_case_has_noise_but_no_spread() {
        let one = of(&[&[1.0, 0.0, 1.0]]);
        assert!((one.within.unwrap() - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(one.between, Err(NotEstimable::SingleCase));
    }

    #[test]
    fn coins_have_no_difficulty() {
        let coins = of(&[&[1.0, 0.0], &[0.0, 1.0], &[1.0, 0.0]]);
        assert!(coins.between_raw.unwrap() < 0.0);
        assert_eq!(coins.between, Ok(0.0));
        let (between, within) = (coins.between.unwrap(), coins.within.unwrap());
        assert_eq!(repeats_for_inflation(between, within, 0.1), Ok(Err(NotEstimable::ZeroVariance)));
    }

    #[test]
    fn deterministic_answers_need_one_sample() {
        assert_eq!(repeats_for_inflation(0.2, 0.0, 0.1), Ok(Ok(1)));
        assert_eq!(optimal_repeats(0.2, 0.0, 1.0, 1.0), Ok(Ok(0.0)));
    }

    #[test]
    fn negative_variances_are_refused() {
        assert!(variance_cut(-0.1, 0.1, 2).is_err());
        assert!(repeats_for_inflation(0.1, f64::NAN, 0.1).is_err());
        assert!(optimal_repeats(0.1, 0.1, -1.0, 1.0).is_err());
    }
}
