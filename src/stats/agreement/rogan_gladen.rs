//! The true pass rate behind a judge's verdicts, from error rates measured elsewhere.

use crate::stats::{
    Estimable, Estimate, Interval, Method, NotEstimable, StatsError, error, special::normal_quantile,
};

/// What a judge said of the cases, and how it did on cases with human labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedCounts {
    /// Cases that the judge passed.
    pub judge_pass: u64,
    /// Cases judged.
    pub judged: u64,
    /// Of the labelled cases that humans passed, those that the judge passed.
    pub true_pass: u64,
    /// Labelled cases that humans passed.
    pub human_pass: u64,
    /// Of the labelled cases that humans failed, those that the judge failed.
    pub true_fail: u64,
    /// Labelled cases that humans failed.
    pub human_fail: u64,
}

/// What a judge knows, and the pass rate corrected for its errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoganGladen {
    /// Sensitivity + specificity − 1: what the judge knows; 1 is everything, 0 nothing.
    pub youden: Estimable<f64>,
    /// The corrected pass rate.
    pub corrected: Estimable<CorrectedRate>,
}

/// A pass rate corrected for the judge's errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrectedRate {
    /// The corrected pass rate as the formula gives it, which may lie outside [0, 1].
    pub raw: f64,
    /// The corrected pass rate clipped to [0, 1].
    pub estimate: f64,
    /// What is printed: the clipped rate with the interval of Lang and Reiczigel.
    pub printed: Estimate,
    /// Standard error of `raw` by the delta method.
    pub se: f64,
    /// Normal interval around `raw`, not clipped; for comparison only, it covers too little.
    pub wald: Interval,
    /// Interval of Lang and Reiczigel, clipped to [0, 1]: what is printed. Not estimable where so few
    /// labels stand behind the judge's better side that its adjusted knowledge is not above 0.
    pub interval: Estimable<Interval>,
}

/// Rogan-Gladen estimate of the true pass rate with the interval of Lang and Reiczigel.
///
/// With q the judged pass share of N, Se and Sp on n1 and n0 labels and J = Se + Sp − 1:
/// π = (q + Sp − 1)/J, var = [q(1−q)/N + π² Se(1−Se)/n1 + (1−π)² Sp(1−Sp)/n0]/J².
/// Interval: with N' = N+z², n' = n+2, q' = (Nq+z²/2)/N', Se' = (n1 Se+1)/n1', Sp' and J' alike,
/// π' = (q'+Sp'−1)/J', shift = 2z²[π' Se'(1−Se')/n1' − (1−π') Sp'(1−Sp')/n0'],
/// π' + shift ± (z/J') √(q'(1−q')/N' + π'² Se'(1−Se')/n1' + (1−π')² Sp'(1−Sp')/n0').
///
/// For error rates measured *elsewhere* (another release, another sample). With labels on the same
/// population [`ppi`](crate::stats::ppi()) is 35 to 45 % narrower. Assumes that the judge errs as often here as
/// where it was measured, and independent cases.
///
/// [`NotEstimable::NoData`] if nothing was judged;
/// [`NotEstimable::NoPositiveOrNoNegativeLabels`] without human passes or without human fails;
/// [`NotEstimable::JudgeNotInformative`] if J ≤ 0.
///
/// # Errors
/// A part larger than its whole; a `confidence` outside (0, 1).
///
/// Source: Rogan & Gladen (1978), Am. J. Epidemiol. 107(1); Lang & Reiczigel (2014), Prev. Vet. Med.
/// 113(1).
pub fn rogan_gladen(counts: JudgedCounts, confidence: f64) -> Result<RoganGladen, StatsError> {
    error::check_probability("confidence", confidence)?;
    for (argument, count, total) in [
        ("judge_pass", counts.judge_pass, counts.judged),
        ("true_pass", counts.true_pass, counts.human_pass),
        ("true_fail", counts.true_fail, counts.human_fail),
    ] {
        if count > total {
            return Err(StatsError::CountExceedsTotal { argument, index: 0, count, total });
        }
    }
    if counts.human_pass == 0 || counts.human_fail == 0 {
        let reason = NotEstimable::NoPositiveOrNoNegativeLabels;
        return Ok(RoganGladen { youden: Err(reason), corrected: Err(reason) });
    }
    let sensitivity = counts.true_pass as f64 / counts.human_pass as f64;
    let specificity = counts.true_fail as f64 / counts.human_fail as f64;
    Ok(RoganGladen { youden: Ok(sensitivity + specificity - 1.0), corrected: corrected(counts, confidence) })
}

fn corrected(counts: JudgedCounts, confidence: f64) -> Estimable<CorrectedRate> {
    if counts.judged == 0 {
        return Err(NotEstimable::NoData);
    }
    if !informative(counts) {
        return Err(NotEstimable::JudgeNotInformative);
    }
    let plain = Rates {
        judged: counts.judged as f64,
        share: counts.judge_pass as f64 / counts.judged as f64,
        positives: counts.human_pass as f64,
        sensitivity: counts.true_pass as f64 / counts.human_pass as f64,
        negatives: counts.human_fail as f64,
        specificity: counts.true_fail as f64 / counts.human_fail as f64,
    };
    let z = normal_quantile(0.5 + 0.5 * confidence);
    let raw = plain.pass_rate();
    let se = plain.standard_error();
    let adjusted = Rates {
        judged: plain.judged + z * z,
        share: (counts.judge_pass as f64 + z * z / 2.0) / (plain.judged + z * z),
        positives: plain.positives + 2.0,
        sensitivity: (counts.true_pass as f64 + 1.0) / (plain.positives + 2.0),
        negatives: plain.negatives + 2.0,
        specificity: (counts.true_fail as f64 + 1.0) / (plain.negatives + 2.0),
    };
    let centre = adjusted.pass_rate();
    let shift = 2.0
        * z
        * z
        * (centre * adjusted.sensitivity_variance() - (1.0 - centre) * adjusted.specificity_variance());
    let interval = if adjusted.youden() > 0.0 {
        Ok(Interval::around(centre + shift, z * adjusted.standard_error()).clipped(0.0, 1.0))
    } else {
        Err(NotEstimable::JudgeNotInformative)
    };
    let judged = usize::try_from(counts.judged).unwrap_or(usize::MAX);
    Ok(CorrectedRate {
        raw,
        estimate: raw.clamp(0.0, 1.0),
        printed: Estimate {
            point: raw.clamp(0.0, 1.0),
            interval,
            se: Ok(se),
            df: None,
            method: Method::RoganGladen,
            confidence,
            n_cases: judged,
            n_clusters: judged,
            n_samples: judged,
        },
        se,
        wald: Interval::around(raw, z * se),
        interval,
    })
}

/// Whether J > 0, decided in integers: a judge that guesses has J = 0 exactly, not a rounding of it.
fn informative(counts: JudgedCounts) -> bool {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    product(counts.true_pass, counts.human_fail) + product(counts.true_fail, counts.human_pass)
        > product(counts.human_pass, counts.human_fail)
}

/// Shares with the counts that they rest on.
struct Rates {
    judged: f64,
    share: f64,
    positives: f64,
    sensitivity: f64,
    negatives: f64,
    specificity: f64,
}

impl Rates {
    fn youden(&self) -> f64 {
        self.sensitivity + self.specificity - 1.0
    }

    fn pass_rate(&self) -> f64 {
        (self.share + self.specificity - 1.0) / self.youden()
    }

    fn sensitivity_variance(&self) -> f64 {
        self.sensitivity * (1.0 - self.sensitivity) / self.positives
    }

    fn specificity_variance(&self) -> f64 {
        self.specificity * (1.0 - self.specificity) / self.negatives
    }

    fn standard_error(&self) -> f64 {
        let rate = self.pass_rate();
        let variance = self.share * (1.0 - self.share) / self.judged
            + rate.powi(2) * self.sensitivity_variance()
            + (1.0 - rate).powi(2) * self.specificity_variance();
        variance.sqrt() / self.youden()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPICAL: JudgedCounts = JudgedCounts {
        judge_pass: 812,
        judged: 1000,
        true_pass: 67,
        human_pass: 72,
        true_fail: 20,
        human_fail: 28,
    };

    #[test]
    fn a_perfect_judge_is_taken_at_its_word() {
        let counts = JudgedCounts { true_pass: 72, true_fail: 28, ..TYPICAL };
        let result = rogan_gladen(counts, 0.95).unwrap();
        assert!((result.corrected.unwrap().raw - 0.812).abs() < 1e-12);
        assert_eq!(result.youden, Ok(1.0));
    }

    #[test]
    fn a_rate_above_one_is_clipped_and_kept_raw() {
        let counts = JudgedCounts { judge_pass: 1000, ..TYPICAL };
        let result = rogan_gladen(counts, 0.95).unwrap().corrected.unwrap();
        assert!(result.raw > 1.0);
        assert_eq!(result.estimate, 1.0);
        assert!(result.wald.low < result.wald.high);
    }

    #[test]
    fn a_guessing_judge_says_nothing() {
        // 3/10 + 7/10 − 1 is not 0 in floating point.
        let counts = JudgedCounts { true_pass: 3, human_pass: 10, true_fail: 7, human_fail: 10, ..TYPICAL };
        let result = rogan_gladen(counts, 0.95).unwrap();
        assert_eq!(result.corrected, Err(NotEstimable::JudgeNotInformative));
    }

    /// Adding a pseudo-label to each side pulls a specificity of 1 from one label down to 2/3.
    #[test]
    fn a_judge_known_by_one_failure_has_a_point_and_no_interval() {
        let counts =
            JudgedCounts { true_pass: 300, human_pass: 1000, true_fail: 1, human_fail: 1, ..TYPICAL };
        let rate = rogan_gladen(counts, 0.95).unwrap().corrected.unwrap();
        assert!(rate.raw > 0.0);
        assert_eq!(rate.interval, Err(NotEstimable::JudgeNotInformative));
    }

    #[test]
    fn missing_labels_and_missing_verdicts_are_named() {
        let counts = JudgedCounts { true_fail: 0, human_fail: 0, ..TYPICAL };
        let reason = NotEstimable::NoPositiveOrNoNegativeLabels;
        assert_eq!(rogan_gladen(counts, 0.95).unwrap().corrected, Err(reason));
        let counts = JudgedCounts { judge_pass: 0, judged: 0, ..TYPICAL };
        let result = rogan_gladen(counts, 0.95).unwrap();
        assert_eq!(result.corrected, Err(NotEstimable::NoData));
        let counts = JudgedCounts { true_pass: 73, ..TYPICAL };
        assert!(rogan_gladen(counts, 0.95).is_err());
    }
}
