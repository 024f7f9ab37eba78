//! What was answered where a verdict flipped: one answer of each side that shows it.

use std::collections::BTreeMap;

use super::{
    comparison::{Direction, FlipRow},
    side::Side,
};
use crate::{
    domain::{CaseId, Repeat, TrialKey, Verdict},
    store::{Store, StoreError},
};

/// Most characters that are kept of an answer.
const LONGEST: usize = 400;

/// One answer of each side of a flip. Hostile text: whoever writes it out must make it harmless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlipAnswers {
    /// What the baseline answered; empty when it is not in the store.
    pub baseline: String,
    /// What the candidate answered.
    pub candidate: String,
    /// Why the failing one of them failed, in its graders' words.
    pub reason: String,
}

/// The answers of the first `limit` flips, broken ones before fixed ones; the beginning of long ones.
///
/// # Errors
/// The store cannot be read.
pub fn flip_answers(
    store: &Store,
    sides: [&Side; 2],
    flips: &[FlipRow],
    limit: usize,
) -> Result<BTreeMap<CaseId, FlipAnswers>, StoreError> {
    let of = |direction| flips.iter().filter(move |flip| flip.direction == direction);
    let mut answers = BTreeMap::new();
    for flip in of(Direction::Broke).chain(of(Direction::Fixed)).take(limit) {
        let passed_before = flip.direction == Direction::Broke;
        let (baseline, was) = answer(store, sides[0], &flip.id, passed_before)?;
        let (candidate, is) = answer(store, sides[1], &flip.id, !passed_before)?;
        let reason = if passed_before { is } else { was };
        answers.insert(flip.id.clone(), FlipAnswers { baseline, candidate, reason });
    }
    Ok(answers)
}

/// An answer of a case with the verdict wanted, and why it failed if it did.
fn answer(store: &Store, side: &Side, case: &CaseId, passed: bool) -> Result<(String, String), StoreError> {
    let nothing = (String::new(), String::new());
    let Some((run, target)) = side.stored else { return Ok(nothing) };
    let Some((planned, _)) = store.find_case(run, case)? else { return Ok(nothing) };
    let wanted = if passed { Verdict::Pass } else { Verdict::Fail };
    for repeat in (1..=planned.repeats).map(Repeat) {
        let key = TrialKey { run, target, case: planned.position, repeat };
        let Some(trial) = store.trial(key)?.filter(|trial| trial.verdict == Some(wanted)) else { continue };
        let reasons: Vec<String> = store
            .scores(key)?
            .into_iter()
            .filter(|score| score.verdict == Verdict::Fail)
            .map(|score| format!("{}: {}", score.grader, score.reason))
            .collect();
        return Ok((beginning(&trial.record.answer), beginning(&reasons.join("; "))));
    }
    Ok(nothing)
}

/// The first characters of a text.
fn beginning(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
