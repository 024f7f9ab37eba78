//! Flips: cases whose verdict differs, and which of them are more than noise.

use super::{
    comparison::{Direction, FlipRow, Flips, Mark},
    missing::{BOTH_WAYS, Of, Taken},
    pairing::Pair,
    side::{Count, Side, SideCase},
};
use crate::stats::{self, CaseFlip, CaseStatus, RepeatedCase, RepeatedFlips};

/// The false-discovery rate at which flips are called real.
const Q: f64 = 0.05;

/// The flips of all pairs that were measured on both sides.
pub(super) fn flips(a: &Side, b: &Side, matched: &[Pair]) -> Flips {
    flips_of(matched.iter().map(|pair| (&a.cases[pair.a], &b.cases[pair.b])))
}

/// The flips of these cases, each as it is on the baseline and on the candidate.
pub(super) fn flips_of<'c>(pairs: impl Iterator<Item = (&'c SideCase, &'c SideCase)>) -> Flips {
    let pairs: Vec<(&SideCase, &SideCase)> =
        pairs.filter(|(a, b)| a.count.measured > 0 && b.count.measured > 0).collect();
    let found = tested(&pairs, Taken::AsMeasured);
    let mut flips = Flips { repeats_too_few: found.k_too_small, ..Flips::default() };
    let missing = pairs.iter().any(|(a, b)| a.missing() + b.missing() > 0);
    let ways = if missing { BOTH_WAYS.map(|taken| tested(&pairs, taken).cases).to_vec() } else { vec![] };
    for (at, ((a, b), test)) in pairs.iter().zip(&found.cases).enumerate() {
        match (a.verdict(), b.verdict()) {
            (Some(true), Some(true)) => flips.still_passes += 1,
            (Some(false), Some(false)) => flips.still_fails += 1,
            (Some(before), Some(_)) => {
                let direction = if before { Direction::Broke } else { Direction::Fixed };
                let turned = ways.iter().any(|cases| cases[at].status != test.status);
                flips.rows.push(row(a, b, direction, test, turned));
            }
            _ => {}
        }
    }
    sort(&mut flips.rows);
    // The lists stand in the candidate's order, the rows by what matters.
    for (a, b) in &pairs {
        match (a.verdict(), b.verdict()) {
            (Some(false), Some(true)) => flips.fixed.push(b.id.clone()),
            (Some(true), Some(false)) => flips.broke.push(b.id.clone()),
            _ => {}
        }
    }
    // The bound is for one case alone among all that were tested; several together may pass it.
    flips.repeats_too_few &= flips.rows.iter().all(|row| row.mark != Mark::Real);
    let test = stats::sign_test(flips.fixed.len() as u64, flips.broke.len() as u64);
    (flips.sign_test_p, flips.mcnemar_p, flips.mcnemar_mid_p) = (test.p_exact, test.p_exact, test.p_mid);
    flips.expected_by_chance = expected_by_chance(&pairs);
    flips
}

/// The per-case test, the trials that were not measured taken as told.
fn tested(pairs: &[(&SideCase, &SideCase)], taken: Taken) -> RepeatedFlips {
    let counted = |(a, b): &(&SideCase, &SideCase)| {
        repeated(a.asked().taken(Of::Baseline, taken), b.asked().taken(Of::Candidate, taken))
    };
    let cases: Vec<RepeatedCase> = pairs.iter().map(counted).collect();
    stats::repeated_flips(&cases, Q).expect("no case passes more often than it was asked")
}

fn repeated(a: Count, b: Count) -> RepeatedCase {
    RepeatedCase {
        base_pass: u64::from(a.passes),
        base_k: u64::from(a.measured),
        cand_pass: u64::from(b.passes),
        cand_k: u64::from(b.measured),
    }
}

/// `turned`: trials that were not measured could turn what the test says.
fn row(a: &SideCase, b: &SideCase, direction: Direction, test: &CaseFlip, turned: bool) -> FlipRow {
    let found = match direction {
        Direction::Broke => CaseStatus::Regressed,
        Direction::Fixed => CaseStatus::Improved,
    };
    let mark = if test.status == found && !turned {
        Mark::Real
    } else if a.count.measured < 2 || b.count.measured < 2 {
        Mark::Untested
    } else {
        Mark::WithinNoise
    };
    let q = test.test.ok().and_then(|test| match direction {
        Direction::Broke => test.q_worse,
        Direction::Fixed => test.q_better,
    });
    FlipRow {
        id: b.id.clone(),
        direction,
        baseline: a.count,
        candidate: b.count,
        mark,
        q,
        hard: new_hard_failure(a, b),
        weight: b.weight,
        cluster: b.cluster.clone(),
        segment: b.segment.clone(),
        signed_off: None,
        confirmed: None,
    }
}

/// Whether hard graders, which passed every answer of the baseline, failed one of the candidate's.
pub(super) fn new_hard_failure(a: &SideCase, b: &SideCase) -> bool {
    a.hard.measured > 0 && !a.hard_failure() && b.hard_failure()
}

/// Real before untested before noise, hard first, heavy first, what broke before what was fixed, the
/// larger shift first.
fn sort(rows: &mut [FlipRow]) {
    let place = |mark: Mark| match mark {
        Mark::Real => 0,
        Mark::Untested => 1,
        Mark::WithinNoise => 2,
    };
    let shift =
        |row: &FlipRow| (row.candidate.share().unwrap_or(0.0) - row.baseline.share().unwrap_or(0.0)).abs();
    rows.sort_by(|one, other| {
        place(one.mark)
            .cmp(&place(other.mark))
            .then(other.hard.cmp(&one.hard))
            .then(other.weight.total_cmp(&one.weight))
            .then(one.direction.cmp(&other.direction))
            .then(shift(other).total_cmp(&shift(one)))
            .then_with(|| one.id.cmp(&other.id))
    });
}

/// Flips of single answers to expect between two runs of the baseline itself.
fn expected_by_chance(pairs: &[(&SideCase, &SideCase)]) -> Option<f64> {
    let variances: Vec<f64> = pairs
        .iter()
        .filter(|(a, _)| a.count.measured > 1)
        .map(|(a, _)| {
            let (passes, k) = (f64::from(a.count.passes), f64::from(a.count.measured));
            passes / k * (1.0 - passes / k) * k / (k - 1.0)
        })
        .collect();
    if variances.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
    let within = variances.iter().sum::<f64>() / variances.len() as f64;
    stats::expected_flips_by_chance(pairs.len(), within.min(0.5)).ok()
}
