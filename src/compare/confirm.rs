//! Flips asked again: what fresh answers alone say of them.

use std::collections::HashMap;

use serde::Serialize;

use super::{
    comparison::{Confirmed, Direction},
    side::{Count, Side},
};
use crate::{
    domain::CaseId,
    stats::{CaseFlip, RepeatedCase, StatsError, at_most, repeated_flips},
    store::{ConfirmationSides, Store, StoreError},
};

/// The false-discovery rate of the list of confirmed flips.
const Q: f64 = 0.05;

/// Fresh answers that make the flip this unlikely say that there is none.
const UNLIKELY: f64 = 0.05;

impl Confirmed {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::NotConfirmed => "not confirmed",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// What the store knows of flips between two sides that were asked again; nothing for a side that is
/// not in the store.
///
/// # Errors
/// The store cannot be read.
pub fn confirmed_flips(store: &Store, sides: [&Side; 2]) -> Result<HashMap<CaseId, Confirmed>, StoreError> {
    let (Some(a), Some(b)) = (sides[0].stored, sides[1].stored) else { return Ok(HashMap::new()) };
    let found = store.confirmation(ConfirmationSides { a, b })?;
    let cases = found.into_iter().flat_map(|confirmation| confirmation.cases);
    let known = |word: &str| {
        [Confirmed::Confirmed, Confirmed::NotConfirmed].into_iter().find(|said| said.as_str() == word)
    };
    Ok(cases.map(|case| (case.case, known(&case.confirmed).unwrap_or(Confirmed::CannotTell))).collect())
}

/// A flip to be asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flipped {
    /// The case.
    pub id: CaseId,
    /// Which way it flipped.
    pub direction: Direction,
}

/// The fresh answers of one flipped case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreshCase {
    /// The case, and which way it flipped at first.
    pub flip: Flipped,
    /// The baseline's fresh repeats.
    pub baseline: Count,
    /// The candidate's fresh repeats.
    pub candidate: Count,
}

/// What fresh answers say of one flip.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfirmedFlip {
    /// The case.
    pub case: CaseId,
    /// Which way it flipped at first.
    pub direction: Direction,
    /// The baseline's fresh repeats.
    pub baseline: Count,
    /// The candidate's fresh repeats.
    pub candidate: Count,
    /// What they say.
    pub confirmed: Confirmed,
    /// Fisher's one-sided p value in the flip's direction, on the fresh answers.
    pub p: Option<f64>,
    /// The same adjusted over all flips that could be confirmed (Benjamini-Hochberg); `None` where
    /// these numbers of repeats could not confirm it.
    pub q: Option<f64>,
}

/// Judges each flip by its fresh answers alone: the first ones were selected for differing, and prove
/// nothing.
///
/// *Confirmed*: Fisher's one-sided exact test in the flip's direction, adjusted over all flips of that
/// direction (Benjamini-Hochberg, false-discovery rate 5 %). *Not confirmed*: the fresh answers give
/// the direction of the flip a posterior probability of at most 5 % under uniform priors, or both sides
/// answered alike throughout (all passed, or all failed), with at least three answers each. *Cannot
/// tell*: anything else, such as too few repeats.
///
/// # Errors
/// More passes than repeats.
///
/// Source: as for [`repeated_flips`].
pub fn judge_fresh(cases: &[FreshCase]) -> Result<Vec<ConfirmedFlip>, StatsError> {
    let mut judged: Vec<Option<ConfirmedFlip>> = vec![None; cases.len()];
    // Each direction is a family by itself: a broken case is tested for being worse only.
    for direction in [Direction::Broke, Direction::Fixed] {
        let of_direction: Vec<usize> =
            (0..cases.len()).filter(|&at| cases[at].flip.direction == direction).collect();
        let repeated: Vec<RepeatedCase> = of_direction.iter().map(|&at| repeated_case(&cases[at])).collect();
        let tests = repeated_flips(&repeated, Q)?;
        for (&at, test) in of_direction.iter().zip(&tests.cases) {
            judged[at] = Some(judge(&cases[at], test));
        }
    }
    Ok(judged.into_iter().map(|judged| judged.expect("a flip has one of two directions")).collect())
}

fn repeated_case(case: &FreshCase) -> RepeatedCase {
    RepeatedCase {
        base_pass: case.baseline.passes.into(),
        base_k: case.baseline.measured.into(),
        cand_pass: case.candidate.passes.into(),
        cand_k: case.candidate.measured.into(),
    }
}

fn judge(case: &FreshCase, tested: &CaseFlip) -> ConfirmedFlip {
    /// Fewer answers than this, all alike, say nothing.
    const FEW: u32 = 3;
    let FreshCase { flip, baseline, candidate } = case;
    let (p, q, likely) = match (&tested.test, flip.direction) {
        (Err(_), _) => (None, None, None),
        (Ok(test), Direction::Broke) => (Some(test.p_worse), test.q_worse, Some(test.prob_worse)),
        (Ok(test), Direction::Fixed) => (Some(test.p_better), test.q_better, Some(1.0 - test.prob_worse)),
    };
    let throughout = |passes: bool| {
        [baseline, candidate].iter().all(|side| side.passes == if passes { side.measured } else { 0 })
    };
    let enough = baseline.measured.min(candidate.measured) >= FEW;
    let confirmed = if q.is_some_and(|q| at_most(q, Q)) {
        Confirmed::Confirmed
    } else if enough && (throughout(true) || throughout(false) || likely.is_some_and(|p| p <= UNLIKELY)) {
        Confirmed::NotConfirmed
    } else {
        Confirmed::CannotTell
    };
    ConfirmedFlip {
        case: flip.id.clone(),
        direction: flip.direction,
        baseline: *baseline,
        candidate: *candidate,
        confirmed,
        p,
        q,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(direction: Direction, baseline: (u32, u32), candidate: (u32, u32)) -> FreshCase {
        let count = |(passes, measured)| Count { passes, measured };
        let flip = Flipped { id: "c".into(), direction };
        FreshCase { flip, baseline: count(baseline), candidate: count(candidate) }
    }

    #[test]
    fn fresh_answers_confirm_refute_or_do_not_decide() {
        use Direction::{Broke, Fixed};
        for (case, said) in [
            (fresh(Broke, (8, 8), (0, 8)), Confirmed::Confirmed),
            (fresh(Fixed, (0, 8), (8, 8)), Confirmed::Confirmed),
            (fresh(Broke, (8, 8), (8, 8)), Confirmed::NotConfirmed),
            (fresh(Broke, (0, 8), (0, 8)), Confirmed::NotConfirmed),
            // The other way round than it was found.
            (fresh(Broke, (1, 8), (8, 8)), Confirmed::NotConfirmed),
            (fresh(Broke, (5, 8), (4, 8)), Confirmed::CannotTell),
            (fresh(Broke, (2, 2), (2, 2)), Confirmed::CannotTell),
            (fresh(Broke, (2, 2), (0, 2)), Confirmed::CannotTell),
            (fresh(Broke, (8, 8), (0, 0)), Confirmed::CannotTell),
        ] {
            assert_eq!(judge_fresh(std::slice::from_ref(&case)).unwrap()[0].confirmed, said, "{case:?}");
        }
    }

    /// 3 of 3 against 0 of 3 has p = 1/20, the bound itself.
    #[test]
    fn two_repeats_confirm_nothing_and_three_nothing_beside_a_doubtful_flip() {
        let clear = |repeats| vec![fresh(Direction::Broke, (repeats, repeats), (0, repeats)); 50];
        let said = |cases: &[FreshCase]| judge_fresh(cases).unwrap()[0].confirmed;
        assert_eq!(said(&clear(2)), Confirmed::CannotTell);
        assert_eq!(said(&clear(3)), Confirmed::Confirmed);
        let doubtful = fresh(Direction::Broke, (2, 3), (1, 3));
        assert_eq!(said(&[clear(3), vec![doubtful]].concat()), Confirmed::CannotTell);
    }

    /// 4 of 4 against 0 of 4 has p = 1/70, which is enough for one case and not among five doubtful.
    #[test]
    fn flips_are_adjusted_over_all_that_were_asked_again() {
        let clear = fresh(Direction::Broke, (4, 4), (0, 4));
        let doubtful = fresh(Direction::Broke, (4, 4), (1, 4));
        let alone = judge_fresh(std::slice::from_ref(&clear)).unwrap();
        assert!((alone[0].p.unwrap() - 1.0 / 70.0).abs() < 1e-12);
        assert_eq!(alone[0].confirmed, Confirmed::Confirmed);
        let among = judge_fresh(&[vec![clear], vec![doubtful; 5]].concat()).unwrap();
        assert!(among[0].q.unwrap() >= alone[0].q.unwrap());
        assert!(among[1..].iter().all(|case| case.confirmed == Confirmed::CannotTell), "{among:?}");
    }
}
