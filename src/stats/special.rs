//! Special functions: normal, Student, beta, binomial, hypergeometric and chi-square.
//!
//! `erfc` and `ln Γ` come from `libm` (those of `statrs` have 11 and 13 digits), the first guess of
//! the normal quantile from `statrs`. The incomplete beta function of `statrs` loses digits for
//! large parameters (differences of large `ln Γ`, at most 140 terms, `1 − x` formed from `x`), so
//! the one here takes both `x` and `1 − x` and scales by Loader's deviance instead.

use statrs::function::erf;

/// Most terms of a continued fraction; it needs about √(a + b) of them.
const MAX_TERMS: u32 = 200_000;

/// Most Newton steps of a quantile; each doubles the digits once it is near.
const MAX_STEPS: u32 = 200;

/// Φ(x), the standard normal distribution function, accurate in both tails.
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// The standard normal density.
pub fn normal_pdf(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Φ⁻¹(p), the standard normal quantile; ±∞ at 1 and 0.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let start = -std::f64::consts::SQRT_2 * erf::erfc_inv(2.0 * p);
    // One Newton step on the distribution function removes what the inverse left over.
    start - (normal_cdf(start) - p) / normal_pdf(start)
}

/// ln Γ(x) for x > 0.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// ln B(a, b) for positive `a` and `b`.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    // B(a, b) = √(2π (a+b)/(ab)) · exp(deviance at the mode), which has no large terms to cancel.
    let n = a + b;
    let (x, y) = (a / n, b / n);
    a * x.ln() + b * y.ln() - ln_beta_kernel(a, b, x, y)
}

/// ln[xᵃ yᵇ / B(a, b)] with y = 1 − x.
///
/// Loader (2000), "Fast and accurate computation of binomial probabilities": Stirling errors and
/// deviances instead of differences of large `ln Γ`.
fn ln_beta_kernel(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    0.5 * (a * b / (2.0 * std::f64::consts::PI * n)).ln() + stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * y)
}

/// ln Γ(z + 1) − [(z + ½) ln z − z + ½ ln 2π]: what Stirling's formula misses.
fn stirling_error(z: f64) -> f64 {
    if z < 15.0 {
        let half_ln_two_pi = 0.5 * (2.0 * std::f64::consts::PI).ln();
        return libm::lgamma(z + 1.0) - (z + 0.5) * z.ln() + z - half_ln_two_pi;
    }
    let square = 1.0 / (z * z);
    let series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0));
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * series)) / z
}

/// x ln(x/m) + m − x without cancellation when x is near m.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut total = (x - m) * v;
    let mut term = 2.0 * x * v;
    for j in 1..1000 {
        term *= v * v;
        let next = total + term / f64::from(2 * j + 1);
        if next == total {
            break;
        }
        total = next;
    }
    total
}

/// I_x(a, b), the regularised incomplete beta function; the distribution function of Beta(a, b).
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    beta_cdf_xy(a, b, x, 1.0 - x)
}

/// I_x(a, b) with `y` = 1 − x given, for callers that know it to full precision.
fn beta_cdf_xy(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let kernel = ln_beta_kernel(a, b, x, y).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        kernel * beta_fraction(a, b, x) / a
    } else {
        1.0 - kernel * beta_fraction(b, a, y) / b
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for term in 1..MAX_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a - 1.0 + 2.0 * m) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 1.0 + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() <= 2.0 * f64::EPSILON {
            break;
        }
    }
    fraction
}

/// The quantile of Beta(a, b): the x with I_x(a, b) = p.
pub fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    if beta_cdf(a, b, 0.5) < p {
        // The quantile lies above one half: solve for 1 − x, which is the smaller number.
        return 1.0 - beta_quantile_below_half(b, a, 1.0 - p);
    }
    beta_quantile_below_half(a, b, p)
}

/// Solves I_x(a, b) = p for x in (0, ½] by Newton steps on ln I against ln x, kept in a bracket.
///
/// In the lower tail ln I is nearly linear in ln x, so that the steps converge from anywhere.
fn beta_quantile_below_half(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 0.5_f64);
    let start = ((p.ln() + a.ln() + ln_beta(a, b)) / a).exp();
    let mut x = if start > 0.0 && start < 0.5 { start } else { 0.25 };
    for _ in 0..MAX_STEPS {
        let value = beta_cdf(a, b, x);
        if value < p {
            low = x;
        } else {
            high = x;
        }
        let density_times_x = ln_beta_kernel(a, b, x, 1.0 - x).exp() / (1.0 - x);
        let step = (value / p).ln() * value / density_times_x;
        let newton = x * (-step).exp();
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() <= f64::EPSILON * x || next == low || next == high {
            return next;
        }
        x = next;
    }
    x
}

/// P(T > t) of Student's t with real `df` > 0, accurate in the upper tail; `None` is the normal.
pub fn student_sf(t: f64, df: Option<f64>) -> f64 {
    let Some(df) = df.filter(|df| df.is_finite()) else {
        return normal_cdf(-t);
    };
    if t < 0.0 {
        return 1.0 - student_sf(-t, Some(df));
    }
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    0.5 * beta_cdf_xy(0.5 * df, 0.5, df / (df + square), square / (df + square))
}

/// P(T <= t) of Student's t with real `df` > 0; `None` is the normal distribution.
pub fn student_cdf(t: f64, df: Option<f64>) -> f64 {
    student_sf(-t, df)
}

/// P(|T| > |t|), the two-sided p value.
pub fn student_two_sided(t: f64, df: Option<f64>) -> f64 {
    (2.0 * student_sf(t.abs(), df)).min(1.0)
}

/// The quantile of Student's t with real `df` > 0; `None` is the normal distribution.
pub fn student_quantile(p: f64, df: Option<f64>) -> f64 {
    let Some(df) = df.filter(|df| df.is_finite()) else {
        return normal_quantile(p);
    };
    if p > 0.5 {
        return student_upper_quantile(1.0 - p, df);
    }
    -student_upper_quantile(p, df)
}

/// The t >= 0 with P(T > t) = `tail`, by Newton steps on ln P(T > t) against ln t.
///
/// That curve is concave, so that after one step every iterate lies above the answer and comes
/// down to it; the normal quantile is the start.
fn student_upper_quantile(tail: f64, df: f64) -> f64 {
    if tail >= 0.5 {
        return 0.0;
    }
    if tail <= 0.0 {
        return f64::INFINITY;
    }
    let mut t = -normal_quantile(tail);
    for _ in 0..MAX_STEPS {
        let square = t * t;
        let sf = student_sf(t, Some(df));
        let (x, y) = (df / (df + square), square / (df + square));
        let density_times_t = ln_beta_kernel(0.5 * df, 0.5, x, y).exp();
        let step = (sf / tail).ln() * sf / density_times_t;
        if !step.is_finite() {
            break;
        }
        t *= step.exp();
        if step.abs() <= 4.0 * f64::EPSILON {
            break;
        }
    }
    t
}

/// P(X > x) of chi-square with one degree of freedom: erfc(√(x/2)).
pub fn chi_square_1_sf(x: f64) -> f64 {
    libm::erfc((x / 2.0).max(0.0).sqrt())
}

/// P(X = k) of Binomial(n, p).
pub fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let q = 1.0 - p;
    if k == 0 {
        return power(q, n);
    }
    if k == n {
        return power(p, n);
    }
    if p <= 0.0 || q <= 0.0 {
        return 0.0;
    }
    // xᵃyᵇ/B(a, b) with a = k, b = n − k is the probability times ab/(a+b).
    let (a, b) = (k as f64, (n - k) as f64);
    ln_beta_kernel(a, b, p, q).exp() * (a + b) / (a * b)
}

fn power(base: f64, exponent: u64) -> f64 {
    if exponent == 0 { 1.0 } else { base.powf(exponent as f64) }
}

/// P(X <= k) of Binomial(n, p).
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    beta_cdf_xy((n - k) as f64, (k + 1) as f64, 1.0 - p, p)
}

/// P(X = k) when `drawn` are taken from `marked + unmarked` and X counts the marked ones.
pub fn hypergeometric_pmf(k: u64, marked: u64, unmarked: u64, drawn: u64) -> f64 {
    let total = marked + unmarked;
    if k > marked || k > drawn || drawn > total || drawn - k > unmarked {
        return 0.0;
    }
    if drawn == 0 || drawn == total {
        return 1.0;
    }
    // Three binomials at the same p keep every factor moderate (Loader 2000).
    let p = drawn as f64 / total as f64;
    binomial_pmf(k, marked, p) * binomial_pmf(drawn - k, unmarked, p) / binomial_pmf(drawn, total, p)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= 1e-12_f64.max(1e-11 * expected.abs()),
            "{value} instead of {expected}"
        );
    }

    #[test]
    fn published_quantiles_are_met() {
        close(normal_quantile(0.975), 1.959963984540054);
        close(student_quantile(0.975, Some(1.0)), 12.706204736174694);
        close(student_quantile(0.975, Some(4.32)), 2.697186666043716);
        close(student_quantile(0.975, Some(1e6)), 1.959966356814107);
        close(beta_quantile(1000.5, 0.5, 0.025), 0.9974918356585777);
        close(beta_quantile(0.5, 1000.5, 0.975), 0.0025081643414222978);
    }

    #[test]
    fn extremes_of_a_distribution_are_its_ends() {
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert_eq!(student_quantile(0.5, Some(3.0)), 0.0);
        assert_eq!(beta_quantile(2.0, 3.0, 0.0), 0.0);
        assert_eq!(beta_cdf(2.0, 3.0, 1.0), 1.0);
        assert_eq!(binomial_cdf(5, 5, 0.3), 1.0);
    }

    #[test]
    fn small_binomials_are_exact() {
        close(binomial_pmf(2, 5, 0.5), 10.0 / 32.0);
        close(binomial_cdf(2, 5, 0.5), 0.5);
        close(binomial_cdf(0, 6, 0.5), 1.0 / 64.0);
        assert_eq!(binomial_pmf(0, 0, 0.5), 1.0);
    }

    #[test]
    fn small_hypergeometrics_are_exact() {
        // Two marked of four, two drawn: 1/6, 4/6, 1/6.
        close(hypergeometric_pmf(0, 2, 2, 2), 1.0 / 6.0);
        close(hypergeometric_pmf(1, 2, 2, 2), 4.0 / 6.0);
        close(hypergeometric_pmf(2, 2, 2, 2), 1.0 / 6.0);
        assert_eq!(hypergeometric_pmf(3, 2, 2, 2), 0.0);
    }

    #[test]
    fn the_beta_function_is_that_of_its_gammas() {
        close(ln_beta(2.0, 3.0), (1.0_f64 / 12.0).ln());
        close(ln_beta(0.5, 0.5), std::f64::consts::PI.ln());
    }

    proptest! {
        #[test]
        fn a_student_quantile_inverts_its_cdf(p in 1e-6..0.999_999_f64, df in 1.0..1e5_f64) {
            let back = student_cdf(student_quantile(p, Some(df)), Some(df));
            prop_assert!((back - p).abs() <= 1e-12 + 1e-10 * p);
        }

        #[test]
        fn a_beta_quantile_inverts_its_cdf(p in 1e-6..0.999_999_f64, a in 0.5..5e4_f64, b in 0.5..5e4_f64) {
            let back = beta_cdf(a, b, beta_quantile(a, b, p));
            prop_assert!((back - p).abs() <= 1e-12 + 1e-9 * p);
        }

        #[test]
        fn the_beta_tails_sum_to_one(x in 0.001..0.999_f64, a in 0.5..1e6_f64, b in 0.5..1e6_f64) {
            let total = beta_cdf(a, b, x) + beta_cdf(b, a, 1.0 - x);
            prop_assert!((total - 1.0).abs() <= 1e-9);
        }
    }
}
