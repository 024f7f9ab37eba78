//! A ratio of totals: output per input token, cost per pass.

use super::sums;
use crate::stats::{
    Clusters, Estimable, Estimate, Interval, Method, NotEstimable, StatsError, error,
    special::student_quantile,
};

/// Above this t² v_x/x̄² the denominator is too uncertain for the t interval.
const UNCERTAIN_DENOMINATOR: f64 = 0.05;

/// A ratio Σy/Σx with its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Σy/Σx: the ratio of the means, which is not the mean of the ratios.
    pub ratio: f64,
    /// What is printed: Fieller's interval where the denominator is uncertain (`fieller_g` above
    /// 0.05), else the t interval.
    pub printed: Estimate,
    /// Its uncertainty; [`NotEstimable::OneCluster`] with fewer than two clusters.
    pub spread: Estimable<RatioSpread>,
}

/// The uncertainty of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioSpread {
    /// Linearised clustered standard error.
    pub se: f64,
    /// Degrees of freedom, G − 1.
    pub df: f64,
    /// t interval around the ratio.
    pub interval: Interval,
    /// Fieller's interval; [`NotEstimable::Unbounded`] if the denominator may be 0.
    pub fieller: Estimable<Interval>,
    /// t² v_x / x̄²: how uncertain the denominator is. Print Fieller's interval above 0.05; it is
    /// unbounded from 1.
    pub fieller_g: f64,
}

/// The ratio of the totals of `y` and `x`, one value of each per case.
///
/// R = Σy/Σx, SE = √(G/(G−1) Σ_g (Σ_{i in g} y_i − R x_i)²)/|Σx|, t with G − 1 degrees of freedom.
/// Fieller: with clustered variances and covariance v_y, v_x, v_xy of the means, A = x̄² − t² v_x,
/// B = x̄ȳ − t² v_xy, C = ȳ² − t² v_y, the limits are (B ∓ √(B²−AC))/A if A > 0.
///
/// Assumes independent clusters; the plain interval needs a denominator known well (`fieller_g`
/// below 0.05). [`NotEstimable::NoData`] without cases, [`NotEstimable::ZeroDenominator`] if Σx = 0.
///
/// # Errors
/// Lengths that differ, a value that is not finite, a `confidence` outside (0, 1).
///
/// Source: Cochran (1977), Sampling Techniques, ch. 6; Fieller (1954), J. R. Stat. Soc. B 16(2).
pub fn ratio(
    y: &[f64],
    x: &[f64],
    clusters: &Clusters,
    confidence: f64,
) -> Result<Estimable<Ratio>, StatsError> {
    error::check_finite("y", y)?;
    error::check_finite("x", x)?;
    error::check_same_length("y", y.len(), "x", x.len())?;
    clusters.check_covers("y", y.len())?;
    error::check_probability("confidence", confidence)?;
    let (Some(mean_y), Some(mean_x)) = (sums::mean(y), sums::mean(x)) else {
        return Ok(Err(NotEstimable::NoData));
    };
    let (total_y, total_x) = (sums::sum(y.iter().copied()), sums::sum(x.iter().copied()));
    if total_x == 0.0 {
        return Ok(Err(NotEstimable::ZeroDenominator));
    }
    let ratio = total_y / total_x;
    let groups = clusters.len();
    let answer = |spread: Estimable<RatioSpread>| Ratio {
        ratio,
        printed: printed(ratio, spread, clusters, confidence),
        spread,
    };
    if groups < 2 {
        return Ok(Ok(answer(Err(NotEstimable::OneCluster))));
    }
    let totals =
        |value: &dyn Fn(usize) -> f64| clusters.totals(&(0..y.len()).map(value).collect::<Vec<f64>>());
    let correction = groups as f64 / (groups - 1) as f64;
    let cross = |left: &[f64], right: &[f64]| {
        correction * sums::sum(left.iter().zip(right).map(|(left, right)| left * right))
    };
    let residuals = totals(&|case| y[case] - ratio * x[case]);
    let se = cross(&residuals, &residuals).sqrt() / total_x.abs();
    let df = (groups - 1) as f64;
    let t = student_quantile(0.5 + 0.5 * confidence, Some(df));

    let (off_y, off_x) = (totals(&|case| y[case] - mean_y), totals(&|case| x[case] - mean_x));
    let scale = t * t / (y.len() as f64).powi(2);
    let uncertain_x = scale * cross(&off_x, &off_x);
    let a = mean_x * mean_x - uncertain_x;
    let b = mean_x * mean_y - scale * cross(&off_x, &off_y);
    let c = mean_y * mean_y - scale * cross(&off_y, &off_y);
    let fieller = if a > 0.0 {
        // With A > 0 the discriminant is not negative but for rounding.
        let root = (b * b - a * c).max(0.0).sqrt();
        Ok(Interval { low: (b - root) / a, high: (b + root) / a })
    } else {
        Err(NotEstimable::Unbounded)
    };
    Ok(Ok(answer(Ok(RatioSpread {
        se,
        df,
        interval: Interval::around(ratio, t * se),
        fieller,
        fieller_g: uncertain_x / (mean_x * mean_x),
    }))))
}

fn printed(ratio: f64, spread: Estimable<RatioSpread>, clusters: &Clusters, confidence: f64) -> Estimate {
    let uncertain = spread.is_ok_and(|spread| spread.fieller_g > UNCERTAIN_DENOMINATOR);
    Estimate {
        point: ratio,
        interval: spread.and_then(|spread| if uncertain { spread.fieller } else { Ok(spread.interval) }),
        se: spread.map(|spread| spread.se),
        df: spread.ok().map(|spread| spread.df),
        method: if uncertain { Method::Fieller } else { Method::LinearisedRatio },
        confidence,
        n_cases: clusters.n_cases(),
        n_clusters: clusters.len(),
        n_samples: clusters.n_cases(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(y: &[f64], x: &[f64]) -> Ratio {
        ratio(y, x, &Clusters::singletons(y.len()), 0.95).unwrap().unwrap()
    }

    #[test]
    fn a_ratio_of_totals_is_not_a_mean_of_ratios() {
        assert_eq!(of(&[1.0, 9.0], &[1.0, 3.0]).ratio, 2.5);
    }

    #[test]
    fn a_denominator_that_may_be_zero_leaves_fieller_unbounded() {
        let spread = of(&[3.0, 1.0, 4.0, 1.0, 5.0], &[1.0, 0.0, 1.0, 0.0, 0.0]).spread.unwrap();
        assert_eq!(spread.fieller, Err(NotEstimable::Unbounded));
        assert!(spread.fieller_g > 1.0);
        let printed = of(&[3.0, 1.0, 4.0, 1.0, 5.0], &[1.0, 0.0, 1.0, 0.0, 0.0]).printed;
        assert_eq!(printed.method, Method::Fieller);
        assert_eq!(printed.interval, Err(NotEstimable::Unbounded));
    }

    #[test]
    fn a_known_denominator_makes_both_intervals_alike() {
        let spread = of(&[3.0, 1.0, 4.0, 1.0, 5.0], &[2.0; 5]).spread.unwrap();
        let fieller = spread.fieller.unwrap();
        assert!((fieller.low - spread.interval.low).abs() < 1e-12);
        assert!((fieller.high - spread.interval.high).abs() < 1e-12);
        assert_eq!(spread.fieller_g, 0.0);
    }

    #[test]
    fn what_cannot_be_divided_is_named() {
        let two = Clusters::singletons(2);
        let zero = ratio(&[1.0, 2.0], &[0.0, 0.0], &two, 0.95);
        assert_eq!(zero, Ok(Err(NotEstimable::ZeroDenominator)));
        let none = ratio(&[], &[], &Clusters::singletons(0), 0.95);
        assert_eq!(none, Ok(Err(NotEstimable::NoData)));
        assert_eq!(of(&[3.0], &[2.0]).spread, Err(NotEstimable::OneCluster));
        assert!(ratio(&[1.0], &[1.0, 2.0], &two, 0.95).is_err());
        assert!(ratio(&[1.0, f64::NAN], &[1.0, 2.0], &two, 0.95).is_err());
    }

    proptest! {
        #[test]
        fn the_unit_of_the_numerator_scales_the_answer(
            pairs in prop::collection::vec((0.0..1e3f64, 1.0..1e3f64), 2..50)
        ) {
            let (y, x): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let doubled: Vec<f64> = y.iter().map(|y| y * 2.0).collect();
            let (one, two) = (of(&y, &x), of(&doubled, &x));
            prop_assert_eq!(one.ratio * 2.0, two.ratio);
            let (one, two) = (one.spread.unwrap(), two.spread.unwrap());
            prop_assert!((one.se * 2.0 - two.se).abs() <= 1e-12 * two.se);
        }
    }
}
