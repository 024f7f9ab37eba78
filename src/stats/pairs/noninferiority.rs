//! Is the candidate no worse than a margin, or the same within it?
//!
//! "Not significant" is not "no worse": the four verdicts here are the wording of a report.

use crate::stats::{Estimable, Interval, NotEstimable, StatsError, error, special};

/// What a difference says against a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MarginVerdict {
    /// The two-sided interval at 1 − 2α lies inside the margin on both sides.
    Equivalent,
    /// The candidate is not worse by the margin.
    NonInferior,
    /// The candidate is worse by more than the margin.
    Inferior,
    /// The data do not decide.
    Inconclusive,
    /// No standard error, or one of exactly 0: nothing to decide by.
    Undetermined,
}

impl MarginVerdict {
    /// The verdict's word in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::NonInferior => "non_inferior",
            Self::Inferior => "inferior",
            Self::Inconclusive => "inconclusive",
            Self::Undetermined => "undetermined",
        }
    }
}

/// Tests of a difference against a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarginTest {
    /// P value of "worse by the margin or more": P(T > (diff + δ)/se).
    pub p_noninferior: Estimable<f64>,
    /// P value of "better by the margin or more": P(T > (δ − diff)/se).
    pub p_not_superior: Estimable<f64>,
    /// The larger of the two: the p value of two one-sided tests.
    pub p_tost: Estimable<f64>,
    /// diff − t(1−α)·se; non-inferior exactly when it lies above −δ.
    pub lower_bound: Estimable<f64>,
    /// The two-sided interval at 1 − 2α.
    pub interval: Estimable<Interval>,
    /// The first verdict that applies: equivalent, non-inferior, inferior, inconclusive.
    pub verdict: MarginVerdict,
}

/// Tests `diff` = candidate − baseline (positive is better) against `margin` δ > 0, set before the
/// run, at one-sided `alpha`, with `df` degrees of freedom (`None` is the normal distribution).
///
/// Take `se` and `df` from the clustered paired difference. A standard error that is missing or
/// exactly 0 leaves it undetermined; for pass/fail use [`against_margin`] with the interval of
/// [`bonett_price`](crate::stats::bonett_price) at confidence 1 − 2α instead.
///
/// # Errors
///
/// [`StatsError::NotPositive`] for the margin or a non-positive df, [`StatsError::Probability`],
/// [`StatsError::NotFinite`], [`StatsError::OutOfRange`] for a negative standard error.
///
/// Source: Schuirmann (1987), J. Pharmacokin. Biopharm. 15, 657–680.
pub fn margin_test(
    diff: Estimable<f64>,
    se: Estimable<f64>,
    df: Option<f64>,
    margin: f64,
    alpha: f64,
) -> Result<MarginTest, StatsError> {
    error::check_positive("margin", margin)?;
    error::check_probability("alpha", alpha)?;
    if let Ok(diff) = diff {
        error::check_finite("diff", &[diff])?;
    }
    if let Ok(se) = se {
        error::check_range("se", &[se], 0.0, f64::MAX)?;
    }
    if let Some(df) = df {
        error::check_positive("df", df)?;
    }
    let known = diff.and_then(|diff| {
        let se = se?;
        if se == 0.0 { Err(NotEstimable::ZeroVariance) } else { Ok((diff, se)) }
    });
    let (diff, se) = match known {
        Ok(known) => known,
        Err(reason) => {
            return Ok(MarginTest {
                p_noninferior: Err(reason),
                p_not_superior: Err(reason),
                p_tost: Err(reason),
                lower_bound: Err(reason),
                interval: Err(reason),
                verdict: MarginVerdict::Undetermined,
            });
        }
    };
    let p_noninferior = special::student_sf((diff + margin) / se, df);
    let p_not_superior = special::student_sf((margin - diff) / se, df);
    let half = special::student_quantile(1.0 - alpha, df) * se;
    let interval = Interval::around(diff, half);
    Ok(MarginTest {
        p_noninferior: Ok(p_noninferior),
        p_not_superior: Ok(p_not_superior),
        p_tost: Ok(p_noninferior.max(p_not_superior)),
        lower_bound: Ok(interval.low),
        interval: Ok(interval),
        verdict: verdict(interval, margin),
    })
}

/// The verdict of a two-sided interval at confidence 1 − 2α against `margin`.
///
/// # Errors
///
/// [`StatsError::NotPositive`] for the margin.
pub fn against_margin(interval: Interval, margin: f64) -> Result<MarginVerdict, StatsError> {
    error::check_positive("margin", margin)?;
    Ok(verdict(interval, margin))
}

fn verdict(interval: Interval, margin: f64) -> MarginVerdict {
    if interval.low > -margin && interval.high < margin {
        MarginVerdict::Equivalent
    } else if interval.low > -margin {
        MarginVerdict::NonInferior
    } else if interval.high < -margin {
        MarginVerdict::Inferior
    } else {
        MarginVerdict::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(diff: f64, se: f64) -> MarginTest {
        margin_test(Ok(diff), Ok(se), None, 0.03, 0.05).unwrap()
    }

    #[test]
    fn each_verdict_has_its_place() {
        assert_eq!(at(0.0, 0.005).verdict, MarginVerdict::Equivalent);
        assert_eq!(at(0.05, 0.01).verdict, MarginVerdict::NonInferior);
        assert_eq!(at(-0.08, 0.01).verdict, MarginVerdict::Inferior);
        assert_eq!(at(-0.02, 0.02).verdict, MarginVerdict::Inconclusive);
        assert_eq!(at(0.0, 0.0).verdict, MarginVerdict::Undetermined);
    }

    #[test]
    fn a_missing_standard_error_keeps_its_reason() {
        let test = margin_test(Ok(0.1), Err(NotEstimable::OneCluster), None, 0.03, 0.05).unwrap();
        assert_eq!(test.p_tost, Err(NotEstimable::OneCluster));
        assert_eq!(test.verdict.code(), "undetermined");
    }

    #[test]
    fn the_p_value_and_the_bound_agree() {
        for diff in [-0.06, -0.03, -0.01, 0.0, 0.02] {
            let test = at(diff, 0.01);
            assert_eq!(test.p_noninferior.unwrap() < 0.05, test.lower_bound.unwrap() > -0.03);
        }
    }

    #[test]
    fn a_margin_of_zero_is_refused() {
        assert!(margin_test(Ok(0.0), Ok(0.1), None, 0.0, 0.05).is_err());
        assert!(against_margin(Interval { low: 0.0, high: 0.1 }, -0.1).is_err());
        assert!(margin_test(Ok(0.0), Ok(-0.1), None, 0.1, 0.05).is_err());
    }
}
