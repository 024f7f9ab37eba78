//! How many cases a comparison needs, and what a number of cases can see.

use super::repeats;
use crate::stats::{Estimable, NotEstimable, StatsError, error, special};

/// The planned comparison of two sides over the same cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Variance of the difference in difficulty, Var(x_A − x_B).
    pub omega2: f64,
    /// Mean within-case variance of the candidate's samples.
    pub sigma2_candidate: f64,
    /// Mean within-case variance of the baseline's samples.
    pub sigma2_baseline: f64,
    /// Samples a case on the candidate's side.
    pub k_candidate: u32,
    /// Samples a case on the baseline's side.
    pub k_baseline: u32,
    /// Design effect of the differences; 1 without clusters.
    pub deff: f64,
    /// Level of the test, 0.05 by custom.
    pub alpha: f64,
    /// Whether the test is one-sided.
    pub one_sided: bool,
}

impl Comparison {
    /// Variance of one case's difference, the design effect included:
    /// deff·(ω² + σ_A²/K_A + σ_B²/K_B).
    fn variance(&self) -> f64 {
        self.deff
            * (self.omega2
                + self.sigma2_candidate / f64::from(self.k_candidate)
                + self.sigma2_baseline / f64::from(self.k_baseline))
    }

    fn tail(&self) -> f64 {
        if self.one_sided { self.alpha } else { 0.5 * self.alpha }
    }

    fn z_sum(&self, power: f64) -> f64 {
        special::normal_quantile(1.0 - self.tail()) + special::normal_quantile(power)
    }

    fn check(&self) -> Result<(), StatsError> {
        error::check_range("omega2", &[self.omega2], 0.0, f64::MAX)?;
        error::check_range("sigma2_candidate", &[self.sigma2_candidate], 0.0, f64::MAX)?;
        error::check_range("sigma2_baseline", &[self.sigma2_baseline], 0.0, f64::MAX)?;
        error::check_positive("k_candidate", f64::from(self.k_candidate))?;
        error::check_positive("k_baseline", f64::from(self.k_baseline))?;
        error::check_positive("deff", self.deff)?;
        error::check_probability("alpha", self.alpha)
    }

    /// Cases needed to see a difference `delta` with probability `power`, as a real number:
    /// n = deff·(z_α + z_power)²·(ω² + σ_A²/K_A + σ_B²/K_B)/δ² (Miller eq. 9).
    ///
    /// # Errors
    ///
    /// [`StatsError::OutOfRange`], [`StatsError::NotPositive`] (also for δ = 0),
    /// [`StatsError::Probability`].
    ///
    /// Source: Miller (2024), arXiv 2411.00640, eq. 9.
    pub fn cases_needed_raw(&self, delta: f64, power: f64) -> Result<f64, StatsError> {
        self.check()?;
        error::check_positive("delta", delta.abs())?;
        error::check_probability("power", power)?;
        Ok(self.z_sum(power).powi(2) * self.variance() / (delta * delta))
    }

    /// [`cases_needed_raw`](Self::cases_needed_raw), rounded up; 0 without any variance.
    ///
    /// # Errors
    ///
    /// As [`cases_needed_raw`](Self::cases_needed_raw).
    pub fn cases_needed(&self, delta: f64, power: f64) -> Result<u64, StatsError> {
        Ok(repeats::whole((self.cases_needed_raw(delta, power)? - 1e-9).ceil().max(0.0)))
    }

    /// The smallest difference that `n` cases see with probability `power` (Miller eq. 10).
    ///
    /// # Errors
    ///
    /// As [`cases_needed_raw`](Self::cases_needed_raw); [`StatsError::NotPositive`] for `n`.
    pub fn detectable_difference(&self, n: u64, power: f64) -> Result<f64, StatsError> {
        self.check()?;
        error::check_positive("n", n as f64)?;
        error::check_probability("power", power)?;
        Ok(self.z_sum(power) * (self.variance() / n as f64).sqrt())
    }

    /// The probability that the two-sided test on `n` cases sees a true difference `delta`:
    /// Φ(|δ|/se − z) + Φ(−|δ|/se − z), z = Φ⁻¹(1 − α/2); 1 without any variance.
    ///
    /// This is the two-sided test also for a plan that is one-sided: what a report prints is the
    /// two-sided interval.
    ///
    /// # Errors
    ///
    /// As [`cases_needed_raw`](Self::cases_needed_raw); [`StatsError::NotPositive`] for `n`.
    pub fn two_sided_power(&self, n: u64, delta: f64) -> Result<f64, StatsError> {
        self.check()?;
        error::check_positive("n", n as f64)?;
        error::check_finite("delta", &[delta])?;
        let se = (self.variance() / n as f64).sqrt();
        if se == 0.0 {
            return Ok(1.0);
        }
        let (shift, z) = (delta.abs() / se, special::normal_quantile(1.0 - 0.5 * self.alpha));
        Ok(special::normal_cdf(shift - z) + special::normal_cdf(-shift - z))
    }

    /// Clusters needed when they are few, each of `cluster_size` cases: the smallest G with
    /// (t_{1−α/2, G−1} + t_{power, G−1})²·V·deff/(G·m) <= δ². Report it when it is below 50.
    ///
    /// Not estimable without any variance.
    ///
    /// # Errors
    ///
    /// As [`cases_needed_raw`](Self::cases_needed_raw); [`StatsError::NotPositive`] for the size.
    pub fn clusters_needed(
        &self,
        delta: f64,
        power: f64,
        cluster_size: f64,
    ) -> Result<Estimable<u64>, StatsError> {
        let cases = self.cases_needed_raw(delta, power)?;
        error::check_positive("cluster_size", cluster_size)?;
        if self.variance() == 0.0 {
            return Ok(Err(NotEstimable::ZeroVariance));
        }
        let enough = |clusters: u64| {
            let df = Some((clusters - 1) as f64);
            let quantiles =
                special::student_quantile(1.0 - self.tail(), df) + special::student_quantile(power, df);
            quantiles.powi(2) * self.variance()
                <= delta * delta * clusters as f64 * cluster_size * (1.0 + 1e-12)
        };
        // t quantiles exceed normal ones, so the answer is not below the normal approximation
        // (whose power is above one half), and is found by doubling the distance above it.
        let start = if power >= 0.5 { repeats::whole(cases / cluster_size).max(2) } else { 2 };
        if enough(start) {
            return Ok(Ok(start));
        }
        let (mut low, mut step) = (start, 1);
        while !enough(low + step) {
            low += step;
            step *= 2;
        }
        let mut high = low + step;
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if enough(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(Ok(high))
    }
}

/// The upper 80 % limit of a variance estimated from a pilot of `n0` cases: plan with it, since a
/// pilot's variance has a relative error of about √(2/(n0 − 1)).
///
/// variance·(n0 − 1)/χ²_{0.2, n0−1}, with the χ² quantile by Wilson and Hilferty. Not estimable
/// from fewer than two cases.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a negative variance.
///
/// Source: Wilson & Hilferty (1931), PNAS 17, 684–688.
pub fn upper_variance_limit(variance: f64, n0: u64) -> Result<Estimable<f64>, StatsError> {
    error::check_range("variance", &[variance], 0.0, f64::MAX)?;
    if n0 < 2 {
        return Ok(Err(NotEstimable::NeedTwoPilotCases));
    }
    let df = (n0 - 1) as f64;
    let part = 2.0 / (9.0 * df);
    // With one degree of freedom the cube's base is still positive: 1 − 0.222 − 0.397.
    let root = 1.0 - part + special::normal_quantile(0.2) * part.sqrt();
    Ok(Ok(variance / root.powi(3)))
}

/// Pairs needed for a pass/fail comparison with one sample a side, from the share of cases that
/// flip: n = (z_α/2·√p_d + z_power·√(p_d − δ²))²/δ².
///
/// # Errors
///
/// [`StatsError::Probability`], [`StatsError::NotPositive`] for δ = 0, [`StatsError::OutOfRange`]
/// for |δ| above the share of flips (which is impossible).
///
/// Source: Connor (1987), Biometrics 43, 207–211.
pub fn connor_pairs(p_discordant: f64, delta: f64, alpha: f64, power: f64) -> Result<f64, StatsError> {
    error::check_range("p_discordant", &[p_discordant], 0.0, 1.0)?;
    error::check_positive("delta", delta.abs())?;
    error::check_range("delta", &[delta], -p_discordant, p_discordant)?;
    error::check_probability("alpha", alpha)?;
    error::check_probability("power", power)?;
    let (z1, z2) = (special::normal_quantile(1.0 - 0.5 * alpha), special::normal_quantile(power));
    let alternative = (p_discordant - delta * delta).max(0.0).sqrt();
    Ok((z1 * p_discordant.sqrt() + z2 * alternative).powi(2) / (delta * delta))
}

/// What a budget is to be spent on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Money (or any unit of cost) there is.
    pub budget: f64,
    /// Cost of having a case at all (writing it, both sides' fixed part), beyond those there are.
    pub cost_case: f64,
    /// Cases there are already: they cost their samples alone.
    pub n_free: u64,
    /// Cost of one sample of a case (of both sides, for a comparison).
    pub cost_sample: f64,
    /// Variance between cases (ω² for a comparison).
    pub between: f64,
    /// Variance within cases (σ_A² + σ_B² for a comparison).
    pub within: f64,
    /// Largest number of samples a case.
    pub k_max: u32,
    /// The most cases there can be; `None` if more can always be made.
    pub n_max: Option<u64>,
}

/// The design with the smallest standard error that a budget affords.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Cases.
    pub n: u64,
    /// Samples a case.
    pub k: u32,
    /// √((between + within/k)/n).
    pub se: f64,
}

/// The best split of a budget between cases and samples: for K = 1..=k_max,
/// n = ⌊budget/(K·cost_sample)⌋, beyond n_free ⌊(budget + n_free·cost_case)/(cost_case + K·cost_sample)⌋,
/// capped at n_max, minimising (between + within/K)/n.
///
/// Ties go to the smaller K; designs below two cases are left out, and not estimable if none is
/// left or if everything is free without a cap.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for anything negative, [`StatsError::NotPositive`] for `k_max`.
///
/// Source: Cochran (1977), Sampling Techniques, ch. 10.
pub fn best_design(budget: &Budget) -> Result<Estimable<Design>, StatsError> {
    for (name, value) in [
        ("budget", budget.budget),
        ("cost_case", budget.cost_case),
        ("cost_sample", budget.cost_sample),
        ("between", budget.between),
        ("within", budget.within),
    ] {
        error::check_range(name, &[value], 0.0, f64::MAX)?;
    }
    error::check_positive("k_max", f64::from(budget.k_max))?;
    let mut best: Option<Design> = None;
    for k in 1..=budget.k_max {
        let n = match (affordable(budget, k), budget.n_max) {
            (Some(affordable), Some(n_max)) => affordable.min(n_max),
            (Some(n), None) | (None, Some(n)) => n,
            (None, None) => continue,
        };
        if n < 2 {
            continue;
        }
        let variance = (budget.between + budget.within / f64::from(k)) / n as f64;
        let design = Design { n, k, se: variance.sqrt() };
        if best.is_none_or(|best| design.se < best.se * (1.0 - 1e-12)) {
            best = Some(design);
        }
    }
    Ok(best.ok_or(NotEstimable::NoAffordableDesign))
}

/// How many cases a budget affords at `k` samples each; `None` where any number is free.
fn affordable(budget: &Budget, k: u32) -> Option<u64> {
    let cases = |money: f64, each: f64| (each > 0.0).then(|| repeats::whole((money / each + 1e-9).floor()));
    let samples = f64::from(k) * budget.cost_sample;
    let old = cases(budget.budget, samples);
    if old.is_some_and(|old| old <= budget.n_free) {
        return old;
    }
    cases(budget.budget + budget.n_free as f64 * budget.cost_case, budget.cost_case + samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLER: Comparison = Comparison {
        omega2: 1.0 / 9.0,
        sigma2_candidate: 0.0,
        sigma2_baseline: 0.0,
        k_candidate: 1,
        k_baseline: 1,
        deff: 1.0,
        alpha: 0.05,
        one_sided: false,
    };

    #[test]
    fn three_points_need_969_cases() {
        assert_eq!(MILLER.cases_needed(0.03, 0.8), Ok(969));
    }

    #[test]
    fn ten_samples_shrink_what_198_cases_can_see() {
        let sixth = 1.0 / 6.0;
        let noisy = Comparison { sigma2_candidate: sixth, sigma2_baseline: sixth, ..MILLER };
        let ten = Comparison { k_candidate: 10, k_baseline: 10, ..noisy };
        let mde = |plan: Comparison| format!("{:.5}", plan.detectable_difference(198, 0.8).unwrap());
        assert_eq!(mde(noisy), "0.13273");
        assert_eq!(mde(ten), "0.07567");
    }

    #[test]
    fn the_cases_needed_have_the_power_they_were_asked_for() {
        let n = MILLER.cases_needed(0.03, 0.8).unwrap();
        assert!((MILLER.two_sided_power(n, 0.03).unwrap() - 0.8).abs() < 1e-3);
        let half = MILLER.two_sided_power(n / 2, 0.03).unwrap();
        assert!(MILLER.two_sided_power(n, 0.03).unwrap() > half);
    }

    #[test]
    fn without_variance_every_difference_is_seen() {
        let exact = Comparison { omega2: 0.0, ..MILLER };
        assert_eq!(exact.cases_needed(0.03, 0.8), Ok(0));
        assert_eq!(exact.two_sided_power(2, 0.03), Ok(1.0));
        assert_eq!(exact.clusters_needed(0.03, 0.8, 1.0), Ok(Err(NotEstimable::ZeroVariance)));
    }

    #[test]
    fn few_clusters_cost_more_than_the_normal_quantile_says() {
        let needed = MILLER.clusters_needed(0.3, 0.8, 1.0).unwrap().unwrap();
        assert!(needed > MILLER.cases_needed(0.3, 0.8).unwrap());
    }

    #[test]
    fn a_small_pilot_plans_for_more_variance() {
        let limit = |n0| upper_variance_limit(1.0, n0).unwrap().unwrap();
        assert!(limit(10) > limit(100) && limit(100) > 1.0);
        // χ² with 20 degrees of freedom: its 20 % quantile is 14.578.
        assert!((limit(21) - 20.0 / 14.578).abs() < 0.01);
        assert_eq!(upper_variance_limit(1.0, 1), Ok(Err(NotEstimable::NeedTwoPilotCases)));
    }

    #[test]
    fn a_budget_for_less_than_two_cases_has_no_design() {
        let poor = Budget {
            budget: 3.0,
            cost_case: 1.0,
            n_free: 0,
            cost_sample: 1.0,
            between: 0.1,
            within: 0.1,
            k_max: 5,
            n_max: None,
        };
        assert_eq!(best_design(&poor), Ok(Err(NotEstimable::NoAffordableDesign)));
        let free = Budget { cost_case: 0.0, cost_sample: 0.0, ..poor };
        assert_eq!(best_design(&free), Ok(Err(NotEstimable::NoAffordableDesign)));
        let capped = best_design(&Budget { n_max: Some(7), ..free }).unwrap().unwrap();
        assert_eq!((capped.n, capped.k), (7, 5));
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert!(MILLER.cases_needed(0.0, 0.8).is_err());
        assert!(MILLER.cases_needed(0.03, 1.0).is_err());
        assert!(Comparison { k_baseline: 0, ..MILLER }.two_sided_power(10, 0.1).is_err());
        assert!(connor_pairs(0.1, 0.2, 0.05, 0.8).is_err());
    }
}
