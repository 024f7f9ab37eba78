//! Flips: cases whose verdict differs between two sides, one verdict each.

use crate::stats::{Estimable, NotEstimable, StatsError, error, special};

/// Cases by their verdict on both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlipCounts {
    /// Passed on both sides.
    pub still_pass: u64,
    /// Failed on the baseline, passes on the candidate.
    pub fixed: u64,
    /// Passed on the baseline, fails on the candidate.
    pub broke: u64,
    /// Failed on both sides.
    pub still_fail: u64,
}

/// Counts the cases by their verdicts, `true` for a pass.
///
/// # Errors
///
/// [`StatsError::LengthsDiffer`].
pub fn count_flips(baseline: &[bool], candidate: &[bool]) -> Result<FlipCounts, StatsError> {
    error::check_same_length("baseline", baseline.len(), "candidate", candidate.len())?;
    let mut counts = FlipCounts::default();
    for sides in baseline.iter().zip(candidate) {
        match sides {
            (true, true) => counts.still_pass += 1,
            (false, true) => counts.fixed += 1,
            (true, false) => counts.broke += 1,
            (false, false) => counts.still_fail += 1,
        }
    }
    Ok(counts)
}

/// Whether flips lean to one side: the sign test and its approximations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignTest {
    /// fixed + broke.
    pub discordant: u64,
    /// Exact two-sided p value; the default. 1 without flips.
    pub p_exact: f64,
    /// Mid-p value: less conservative, and may be shown beside the exact one.
    pub p_mid: f64,
    /// McNemar's χ² = (b − c)²/(b + c); not estimable without flips.
    pub chi_square: Estimable<f64>,
    /// P value of `chi_square`.
    pub p_chi_square: Estimable<f64>,
    /// χ² with continuity correction, max(0, |b − c| − 1)²/(b + c).
    pub chi_square_corrected: Estimable<f64>,
    /// P value of `chi_square_corrected`.
    pub p_chi_square_corrected: Estimable<f64>,
}

/// The exact sign test of `fixed` against `broke`, which is McNemar's exact test.
///
/// p = min(1, 2·P(X <= min(b, c))), X ~ Binomial(b + c, ½). It says whether the split is lopsided,
/// not which flips are real: with one sample a flaky case flips by itself. Assumes independent
/// cases; with clusters use the cluster sign-flip test.
///
/// Source: McNemar (1947), Psychometrika 12; mid-p: Fagerland, Lydersen & Laake (2013), BMC Med.
/// Res. Methodol. 13:91.
pub fn sign_test(fixed: u64, broke: u64) -> SignTest {
    let discordant = fixed + broke;
    let fewer = fixed.min(broke);
    let n = discordant as f64;
    let tail = special::binomial_cdf(fewer, discordant, 0.5);
    let at = special::binomial_pmf(fewer, discordant, 0.5);
    let gap = fixed.abs_diff(broke) as f64;
    let chi_square = |gap: f64| {
        if discordant == 0 { Err(NotEstimable::ZeroDenominator) } else { Ok(gap * gap / n) }
    };
    let (plain, corrected) = (chi_square(gap), chi_square((gap - 1.0).max(0.0)));
    SignTest {
        discordant,
        p_exact: if fixed == broke { 1.0 } else { (2.0 * tail).min(1.0) },
        p_mid: if fixed == broke { 1.0 } else { (2.0 * tail - at).clamp(0.0, 1.0) },
        chi_square: plain,
        p_chi_square: plain.map(special::chi_square_1_sf),
        chi_square_corrected: corrected,
        p_chi_square_corrected: corrected.map(special::chi_square_1_sf),
    }
}

/// Flips to expect between two runs of the *same* target by chance alone: 2·n·within.
///
/// Σ 2p_i(1 − p_i) over `n` cases, estimated by the within-case variance of 0/1 samples. Print it
/// beside the observed number when there are repeats.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a variance outside [0, ½].
pub fn expected_flips_by_chance(n: usize, within: f64) -> Result<f64, StatsError> {
    error::check_range("within", &[within], 0.0, 0.5)?;
    Ok(2.0 * n as f64 * within)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn worked_splits_have_their_p_values() {
        for (fixed, broke, expected) in [
            (24, 16, 0.268_187),
            (27, 13, 0.038_477),
            (30, 10, 0.002_221),
            (8, 2, 0.109_375),
            (6, 0, 0.03125),
            (30, 20, 0.202_639),
            (8, 6, 0.790_527),
            (3, 2, 1.0),
        ] {
            let p = sign_test(fixed, broke).p_exact;
            assert!((p - expected).abs() < 1e-6, "{fixed}/{broke}: {p}");
        }
    }

    #[test]
    fn three_hundred_of_five_hundred_is_no_chance() {
        let p = sign_test(300, 200).p_exact;
        assert_eq!(format!("{p:.1e}"), "8.9e-6");
    }

    #[test]
    fn no_flips_say_nothing() {
        let test = sign_test(0, 0);
        assert_eq!((test.p_exact, test.p_mid), (1.0, 1.0));
        assert_eq!(test.chi_square, Err(NotEstimable::ZeroDenominator));
    }

    #[test]
    fn counting_keeps_the_direction() {
        let counts = count_flips(&[true, true, false, false, true], &[true, false, true, false, false]);
        let expected = FlipCounts { still_pass: 1, fixed: 1, broke: 2, still_fail: 1 };
        assert_eq!(counts, Ok(expected));
        assert!(count_flips(&[true], &[]).is_err());
    }

    #[test]
    fn a_coin_case_flips_every_second_time() {
        // One case with p = ½: within = ¼, so half a flip is expected.
        assert_eq!(expected_flips_by_chance(1, 0.25), Ok(0.5));
        assert!(expected_flips_by_chance(1, 0.7).is_err());
    }

    proptest! {
        #[test]
        fn a_p_value_is_a_probability_and_symmetric(fixed in 0_u64..2000, broke in 0_u64..2000) {
            let (there, back) = (sign_test(fixed, broke), sign_test(broke, fixed));
            prop_assert!((0.0..=1.0).contains(&there.p_exact));
            prop_assert!(there.p_mid <= there.p_exact + 1e-12);
            prop_assert_eq!(there, back);
        }
    }
}
