//! The cases of two sides beside each other, and how each stands.

use std::collections::HashMap;

use super::side::{Side, SideCase};
use crate::domain::CaseId;

/// How a case stands on the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseChange {
    /// Passes on both.
    StillPasses,
    /// Fails on both.
    StillFails,
    /// Passed, and fails now.
    Broke,
    /// Failed, and passes now.
    Fixed,
    /// On the candidate's side only.
    New,
    /// On the baseline's side only.
    Gone,
    /// On both, with another fingerprint.
    Changed,
    /// The same on both, and not measured on a side.
    NotMeasured,
}

impl CaseChange {
    /// How a case stands that is on these sides.
    pub fn of(baseline: Option<&SideCase>, candidate: Option<&SideCase>) -> Self {
        let (baseline, candidate) = match (baseline, candidate) {
            (None, _) => return Self::New,
            (_, None) => return Self::Gone,
            (Some(baseline), Some(candidate)) => (baseline, candidate),
        };
        if baseline.fingerprint != candidate.fingerprint {
            return Self::Changed;
        }
        match (baseline.verdict(), candidate.verdict()) {
            (Some(true), Some(true)) => Self::StillPasses,
            (Some(false), Some(false)) => Self::StillFails,
            (Some(true), Some(false)) => Self::Broke,
            (Some(false), Some(true)) => Self::Fixed,
            _ => Self::NotMeasured,
        }
    }

    /// The words in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StillPasses => "still passes",
            Self::StillFails => "still fails",
            Self::Broke => "broke",
            Self::Fixed => "fixed",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Changed => "changed",
            Self::NotMeasured => "not measured",
        }
    }
}

/// The cases of both sides: the candidate's in its order, then those that are gone.
pub fn side_by_side<'a>(sides: [&'a Side; 2]) -> Vec<(Option<&'a SideCase>, Option<&'a SideCase>)> {
    let by_id = |side: &'a Side| -> HashMap<&'a CaseId, &'a SideCase> {
        side.cases.iter().map(|case| (&case.id, case)).collect()
    };
    let (baseline, candidate) = (by_id(sides[0]), by_id(sides[1]));
    let present = sides[1].cases.iter().map(|case| (baseline.get(&case.id).copied(), Some(case)));
    let gone = sides[0].cases.iter().filter(|case| !candidate.contains_key(&case.id));
    present.chain(gone.map(|case| (Some(case), None))).collect()
}
