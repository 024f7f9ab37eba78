//! Which cases are the same on both sides, and what is left out.

use std::collections::HashMap;

use super::{comparison::LeftOut, error::CompareError, side::Side};
use crate::domain::CaseId;

/// Positions of one case in [`Side::cases`] of the baseline and of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) a: usize,
    pub(super) b: usize,
}

/// The cases of two sides.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairing {
    /// The same case on both sides, measured or not, in the candidate's order.
    pub(super) matched: Vec<Pair>,
    pub(super) left_out: LeftOut,
    /// What differs between the graders.
    pub(super) grader_changes: Vec<String>,
}

impl Pairing {
    /// Pairs two sides by case id and fingerprint.
    ///
    /// # Errors
    /// No case is the same on both sides; the graders differ, unless that is allowed.
    pub(super) fn of(a: &Side, b: &Side, allow_grader_change: bool) -> Result<Self, CompareError> {
        let mut places: HashMap<&CaseId, usize> =
            a.cases.iter().enumerate().map(|(at, case)| (&case.id, at)).collect();
        let mut pairing = Self { grader_changes: grader_changes(a, b), ..Self::default() };
        for (b_at, case) in b.cases.iter().enumerate() {
            let Some(a_at) = places.remove(&case.id) else {
                pairing.left_out.new.push(case.id.clone());
                continue;
            };
            if a.cases[a_at].fingerprint != case.fingerprint {
                pairing.left_out.changed.push(case.id.clone());
                continue;
            }
            if a.cases[a_at].count.measured == 0 || case.count.measured == 0 {
                pairing.left_out.not_measured.push(case.id.clone());
            }
            pairing.matched.push(Pair { a: a_at, b: b_at });
        }
        let mut gone: Vec<usize> = places.into_values().collect();
        gone.sort_unstable();
        pairing.left_out.gone = gone.into_iter().map(|at| a.cases[at].id.clone()).collect();
        if !pairing.grader_changes.is_empty() && !allow_grader_change {
            return Err(CompareError::GradersDiffer {
                baseline: a.label.clone(),
                candidate: b.label.clone(),
                differences: pairing.grader_changes,
            });
        }
        if pairing.matched.is_empty() {
            return Err(CompareError::NoCommonCase {
                baseline: a.label.clone(),
                candidate: b.label.clone(),
                changed: pairing.left_out.changed.len(),
            });
        }
        Ok(pairing)
    }
}

/// Graders of the same name whose rules differ. That one side has a grader which the other has not is
/// no difference by itself: which graders a case has is part of its fingerprint.
fn grader_changes(a: &Side, b: &Side) -> Vec<String> {
    let mut changes = vec![];
    for own in &b.graders {
        let Some(other) = a.graders.iter().find(|other| (&other.name, other.hard) == (&own.name, own.hard))
        else {
            continue;
        };
        if other.kind != own.kind {
            changes.push(format!(
                "`{}` is `{}` on the baseline and `{}` on the candidate",
                own.name, other.kind, own.kind
            ));
        } else if other.version != own.version {
            changes.push(format!(
                "`{}` has version {} on the baseline and {} on the candidate",
                own.name, other.version, own.version
            ));
        }
    }
    changes
}
