//! Flips with repeats: which cases really got worse, and which are only flaky.

use crate::stats::{NotEstimable, StatsError, design::multiplicity, special};

/// How often one case passed on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedCase {
    /// Passes on the baseline.
    pub base_pass: u64,
    /// Samples on the baseline; 0 if missing.
    pub base_k: u64,
    /// Passes on the candidate.
    pub cand_pass: u64,
    /// Samples on the candidate; 0 if missing.
    pub cand_k: u64,
}

/// What repeats say about one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CaseStatus {
    /// A side has no samples.
    Missing,
    /// Worse, after adjusting for all cases tested.
    Regressed,
    /// Better, after adjusting for all cases tested.
    Improved,
    /// Every sample passed on both sides.
    StablePass,
    /// Every sample failed on both sides.
    StableFail,
    /// Worse with posterior probability of at least 95 %, not confirmed: ask again with fresh samples.
    SuspectRegressed,
    /// Better with posterior probability of at least 95 %, not confirmed.
    SuspectImproved,
    /// Anything else.
    Flaky,
}

impl CaseStatus {
    /// Every status, in the order in which they are tried.
    pub const ALL: [Self; 8] = [
        Self::Missing,
        Self::Regressed,
        Self::Improved,
        Self::StablePass,
        Self::StableFail,
        Self::SuspectRegressed,
        Self::SuspectImproved,
        Self::Flaky,
    ];

    /// The status's word in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::StablePass => "stable_pass",
            Self::StableFail => "stable_fail",
            Self::SuspectRegressed => "suspect_regressed",
            Self::SuspectImproved => "suspect_improved",
            Self::Flaky => "flaky",
        }
    }
}

/// Tests of one case with samples on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseTest {
    /// Candidate's pass rate minus baseline's.
    pub shift: f64,
    /// Posterior probability that the candidate's pass rate is the lower one, uniform priors.
    pub prob_worse: f64,
    /// Fisher's one-sided p value for "worse": P(X <= candidate's passes | margins).
    pub p_worse: f64,
    /// Fisher's one-sided p value for "better".
    pub p_better: f64,
    /// Fisher's two-sided p value.
    pub p_two: f64,
    /// The smallest `p_worse` possible with these margins.
    pub p_min_worse: f64,
    /// The smallest `p_better` possible with these margins.
    pub p_min_better: f64,
    /// `p_worse` adjusted over the testable cases; `None` if not testable at q.
    pub q_worse: Option<f64>,
    /// `p_better` adjusted over the testable cases; `None` if not testable at q.
    pub q_better: Option<f64>,
}

/// One case's tests and status.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseFlip {
    /// The tests, or that a side is missing.
    pub test: Result<CaseTest, NotEstimable>,
    /// What they say.
    pub status: CaseStatus,
}

/// All cases tested, with how many tests were made.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedFlips {
    /// Each case, in order.
    pub cases: Vec<CaseFlip>,
    /// Cases that could be found worse at q: the m of the adjustment.
    pub tests_worse: usize,
    /// Cases that could be found better at q.
    pub tests_better: usize,
    /// Whether a case that flips completely could not be named a regression: too few samples for
    /// this many testable cases.
    pub k_too_small: bool,
}

impl RepeatedFlips {
    /// How many cases have this status.
    pub fn count(&self, status: CaseStatus) -> usize {
        self.cases.iter().filter(|case| case.status == status).count()
    }
}

/// Tests each case for a change and lists the real ones at false-discovery rate `q`.
///
/// Per case Fisher's exact test on its 2×2 table; cases whose margins could not reach q are left
/// out of the family (Tarone's filter, which looks at margins only and so costs no validity); over
/// the rest Benjamini-Hochberg, each direction by itself. Per-case tests condition on the case, so
/// clusters do not matter within them. A suspect was selected by these samples: confirm it with
/// fresh ones.
///
/// # Errors
///
/// [`StatsError::CountExceedsTotal`], [`StatsError::Probability`] for `q`.
///
/// Source: Fisher (1935); Tarone (1990), Biometrics 46; Gilbert (2005), Appl. Statist. 54;
/// Benjamini & Hochberg (1995).
pub fn repeated_flips(cases: &[RepeatedCase], q: f64) -> Result<RepeatedFlips, StatsError> {
    crate::stats::error::check_probability("q", q)?;
    for (index, case) in cases.iter().enumerate() {
        for (argument, count, total) in
            [("base_pass", case.base_pass, case.base_k), ("cand_pass", case.cand_pass, case.cand_k)]
        {
            if count > total {
                return Err(StatsError::CountExceedsTotal { argument, index, count, total });
            }
        }
    }
    let mut tests: Vec<Option<CaseTest>> = cases.iter().map(test_case).collect();
    let family = |p: fn(&CaseTest) -> (f64, f64)| -> Vec<Option<f64>> {
        tests
            .iter()
            .map(|test| {
                let (p, smallest) = p(test.as_ref()?);
                multiplicity::at_most(smallest, q).then_some(p)
            })
            .collect()
    };
    let worse = family(|test| (test.p_worse, test.p_min_worse));
    let better = family(|test| (test.p_better, test.p_min_better));
    let adjusted_worse = multiplicity::benjamini_hochberg(&worse)?;
    let adjusted_better = multiplicity::benjamini_hochberg(&better)?;
    for ((test, q_worse), q_better) in tests.iter_mut().zip(adjusted_worse).zip(adjusted_better) {
        if let Some(test) = test {
            (test.q_worse, test.q_better) = (q_worse, q_better);
        }
    }
    let tests_worse = worse.iter().flatten().count();
    let best = tests.iter().flatten().map(|test| test.p_min_worse).fold(1.0, f64::min);
    Ok(RepeatedFlips {
        k_too_small: !multiplicity::at_most(best * tests_worse.max(1) as f64, q),
        tests_worse,
        tests_better: better.iter().flatten().count(),
        cases: cases
            .iter()
            .zip(tests)
            .map(|(case, test)| CaseFlip {
                status: status(case, test.as_ref(), q),
                test: test.ok_or(NotEstimable::Missing),
            })
            .collect(),
    })
}

/// The smallest one-sided p value that `k` samples on each side can reach: 1/C(2k, k).
pub fn smallest_fisher_p(k: u64) -> f64 {
    special::hypergeometric_pmf(0, k, k, k)
}

fn test_case(case: &RepeatedCase) -> Option<CaseTest> {
    if case.base_k == 0 || case.cand_k == 0 {
        return None;
    }
    let passes = case.base_pass + case.cand_pass;
    let fails = case.base_k + case.cand_k - passes;
    let (lowest, highest) = (passes.saturating_sub(case.base_k), case.cand_k.min(passes));
    let tables = probabilities(passes, fails, case.cand_k, lowest, highest);
    let observed = tables[index_of(case.cand_pass - lowest)];
    let (mut p_worse, mut p_better, mut p_two) = (0.0, 0.0, 0.0);
    for (k, &probability) in (lowest..=highest).zip(&tables) {
        if k <= case.cand_pass {
            p_worse += probability;
        }
        if k >= case.cand_pass {
            p_better += probability;
        }
        // Tables as likely as the observed one may differ from it by rounding.
        if probability <= observed * (1.0 + 1e-7) {
            p_two += probability;
        }
    }
    Some(CaseTest {
        shift: rate(case.cand_pass, case.cand_k) - rate(case.base_pass, case.base_k),
        prob_worse: posterior_worse(case),
        p_worse: at_most_one(p_worse),
        p_better: at_most_one(p_better),
        p_two: at_most_one(p_two),
        p_min_worse: tables[0],
        p_min_better: tables[tables.len() - 1],
        q_worse: None,
        q_better: None,
    })
}

/// Hypergeometric probabilities of `lowest..=highest` passes among the candidate's `drawn` samples.
///
/// Started at the mode and continued outwards by the ratio of neighbours, so that what underflows
/// is what is too small to matter.
fn probabilities(passes: u64, fails: u64, drawn: u64, lowest: u64, highest: u64) -> Vec<f64> {
    let mode = ((drawn + 1) * (passes + 1) / (passes + fails + 2)).clamp(lowest, highest);
    let mut tables = vec![0.0; index_of(highest - lowest) + 1];
    let at_mode = special::hypergeometric_pmf(mode, passes, fails, drawn);
    tables[index_of(mode - lowest)] = at_mode;
    // P(k + 1)/P(k); fails + k >= drawn holds for every possible k.
    let ratio = |k: u64| ((passes - k) * (drawn - k)) as f64 / ((k + 1) * (fails + k + 1 - drawn)) as f64;
    let mut probability = at_mode;
    for k in mode..highest {
        probability *= ratio(k);
        tables[index_of(k + 1 - lowest)] = probability;
    }
    probability = at_mode;
    for k in (lowest..mode).rev() {
        probability /= ratio(k);
        tables[index_of(k - lowest)] = probability;
    }
    tables
}

fn index_of(k: u64) -> usize {
    usize::try_from(k).expect("a case's samples fit in memory")
}

fn rate(passes: u64, k: u64) -> f64 {
    passes as f64 / k as f64
}

fn at_most_one(p: f64) -> f64 {
    p.min(1.0)
}

/// P(p₂ < p₁) for Beta(1 + a, 1 + n − a) posteriors, 1 the baseline and 2 the candidate.
///
/// Σ_{i<A₁} exp[ln B(A₂+i, B₁+B₂) − ln(B₁+i) − ln B(1+i, B₁) − ln B(A₂, B₂)]; each term follows
/// from the one before by a ratio of whole numbers.
fn posterior_worse(case: &RepeatedCase) -> f64 {
    let b1 = (1 + case.base_k - case.base_pass) as f64;
    let (a2, b2) = ((1 + case.cand_pass) as f64, (1 + case.cand_k - case.cand_pass) as f64);
    let mut ln_term = special::ln_beta(a2, b1 + b2) - special::ln_beta(a2, b2);
    let mut total = 0.0;
    for i in 0..=case.base_pass {
        total += ln_term.exp();
        let i = i as f64;
        ln_term += ((a2 + i) / (a2 + i + b1 + b2) * (b1 + i) / (1.0 + i)).ln();
    }
    at_most_one(total)
}

fn status(case: &RepeatedCase, test: Option<&CaseTest>, q: f64) -> CaseStatus {
    const SUSPECT: f64 = 0.95;
    let Some(test) = test else {
        return CaseStatus::Missing;
    };
    let listed = |adjusted: Option<f64>| adjusted.is_some_and(|p| multiplicity::at_most(p, q));
    if listed(test.q_worse) {
        CaseStatus::Regressed
    } else if listed(test.q_better) {
        CaseStatus::Improved
    } else if case.base_pass == case.base_k && case.cand_pass == case.cand_k {
        CaseStatus::StablePass
    } else if case.base_pass == 0 && case.cand_pass == 0 {
        CaseStatus::StableFail
    } else if test.prob_worse >= SUSPECT - 1e-12 {
        CaseStatus::SuspectRegressed
    } else if multiplicity::at_most(test.prob_worse, 1.0 - SUSPECT) {
        CaseStatus::SuspectImproved
    } else {
        CaseStatus::Flaky
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn case(base_pass: u64, base_k: u64, cand_pass: u64, cand_k: u64) -> RepeatedCase {
        RepeatedCase { base_pass, base_k, cand_pass, cand_k }
    }

    #[test]
    fn three_samples_can_name_one_case_but_not_one_of_seven() {
        let alone = repeated_flips(&[case(3, 3, 0, 3)], 0.05).unwrap();
        assert_eq!(alone.cases[0].status, CaseStatus::Regressed);
        assert!(!alone.k_too_small);

        let mut cases = vec![case(3, 3, 0, 3)];
        cases.extend([case(2, 3, 1, 3); 6]);
        let seven = repeated_flips(&cases, 0.05).unwrap();
        assert_eq!(seven.cases[0].status, CaseStatus::SuspectRegressed);
        assert!((seven.cases[0].test.unwrap().q_worse.unwrap() - 0.35).abs() < 1e-12);
        assert!(seven.k_too_small);
    }

    #[test]
    fn the_smallest_p_of_k_samples_is_one_in_the_ways_to_split_them() {
        for (k, ways) in [(3, 20.0), (5, 252.0), (8, 12_870.0)] {
            assert!((smallest_fisher_p(k) * ways - 1.0_f64).abs() < 1e-12);
        }
    }

    #[test]
    fn a_side_without_samples_is_missing() {
        let flips = repeated_flips(&[case(0, 0, 3, 3), case(2, 3, 0, 0)], 0.05).unwrap();
        assert_eq!(flips.count(CaseStatus::Missing), 2);
        assert_eq!(flips.cases[0].test, Err(NotEstimable::Missing));
        assert_eq!((flips.tests_worse, flips.tests_better), (0, 0));
    }

    #[test]
    fn stable_cases_are_told_from_flaky_ones() {
        let flips = repeated_flips(&[case(3, 3, 3, 3), case(0, 3, 0, 3), case(2, 3, 1, 3)], 0.05).unwrap();
        let statuses: Vec<_> = flips.cases.iter().map(|case| case.status.code()).collect();
        assert_eq!(statuses, ["stable_pass", "stable_fail", "flaky"]);
    }

    #[test]
    fn more_passes_than_samples_are_refused() {
        let refused = repeated_flips(&[case(1, 1, 1, 1), case(1, 1, 4, 3)], 0.05);
        let expected = StatsError::CountExceedsTotal { argument: "cand_pass", index: 1, count: 4, total: 3 };
        assert_eq!(refused, Err(expected));
    }

    proptest! {
        #[test]
        fn every_p_value_is_a_probability(
            (base_k, base_pass) in (1_u64..40).prop_flat_map(|k| (Just(k), 0..=k)),
            (cand_k, cand_pass) in (1_u64..40).prop_flat_map(|k| (Just(k), 0..=k)),
        ) {
            let there = repeated_flips(&[case(base_pass, base_k, cand_pass, cand_k)], 0.05).unwrap();
            let back = repeated_flips(&[case(cand_pass, cand_k, base_pass, base_k)], 0.05).unwrap();
            let (there, back) = (there.cases[0].test.unwrap(), back.cases[0].test.unwrap());
            for p in [there.p_worse, there.p_better, there.p_two, there.prob_worse] {
                prop_assert!((0.0..=1.0).contains(&p));
            }
            prop_assert!(there.p_min_worse <= there.p_worse + 1e-12);
            prop_assert!((there.p_worse - back.p_better).abs() < 1e-10);
            prop_assert!((there.prob_worse + back.prob_worse - 1.0).abs() < 1e-9);
        }
    }
}
