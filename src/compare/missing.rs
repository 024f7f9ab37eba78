//! What was planned and not measured.
//!
//! A trial without a score is neither right nor wrong. Whatever is said of two sides holds once all
//! missing trials are taken against the candidate, and once all for it; what they could turn, nobody
//! can tell. Headline, slices, graders, flips and gates share this one notion.

use super::{
    comparison::IfMissing,
    side::{Count, SideCase},
};

/// What would measure the missing trials.
pub(super) const WOULD_DECIDE: &str = "`caseload resume`, so that every trial is measured";

/// What the missing trials are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// As missing.
    AsMeasured,
    /// Wrong on the candidate, right on the baseline.
    AgainstCandidate,
    /// Right on the candidate, wrong on the baseline.
    ForCandidate,
}

/// The two ways that bound all others.
pub(super) const BOTH_WAYS: [Taken; 2] = [Taken::AgainstCandidate, Taken::ForCandidate];

/// Which side a trial is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Baseline,
    Candidate,
}

/// The repeats of one case on one side: how many were planned, and what was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) planned: u32,
    pub(super) count: Count,
}

impl Asked {
    /// Planned repeats that were not measured.
    pub(super) fn missing(self) -> u32 {
        self.planned.saturating_sub(self.count.measured)
    }

    /// The count with the missing repeats taken as told.
    pub(super) fn taken(self, of: Of, taken: Taken) -> Count {
        let pass = match taken {
            Taken::AsMeasured => return self.count,
            Taken::AgainstCandidate => of == Of::Baseline,
            Taken::ForCandidate => of == Of::Candidate,
        };
        let (Count { measured, passes }, missing) = (self.count, self.missing());
        Count { measured: measured + missing, passes: passes + if pass { missing } else { 0 } }
    }
}

impl SideCase {
    /// What all its graders together made of what was planned.
    pub(super) fn asked(&self) -> Asked {
        Asked { planned: self.planned, count: self.count }
    }

    /// What some of its graders made of it.
    pub(super) fn asked_of(&self, count: Count) -> Asked {
        Asked { planned: self.planned, count }
    }
}

/// Whether a case has a grader that counted this of it. Where nothing of the case was measured, it may
/// have any: it counts among the missing.
pub(super) fn may_have(case: &SideCase, counted: Count) -> bool {
    counted.measured > 0 || case.count.measured == 0
}

/// As [`may_have`], for a case of both sides, which have the same graders.
pub(super) fn pair_may_have(cases: [&SideCase; 2], counted: [Count; 2]) -> bool {
    counted.iter().any(|count| count.measured > 0) || cases.iter().all(|case| case.count.measured == 0)
}

impl IfMissing {
    /// The ends of both intervals and of this one: no answer of the missing trials leads beyond.
    pub(super) fn hull(&self, low: f64, high: f64) -> (f64, f64) {
        let both = [self.against_candidate, self.for_candidate];
        (
            both.iter().filter_map(|way| way.low).fold(low, f64::min),
            both.iter().filter_map(|way| way.high).fold(high, f64::max),
        )
    }
}
