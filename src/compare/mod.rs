//! Two sides compared case by case: what got better, what broke, what it costs, and may it ship.
//!
//! A [`Side`] is one target of one run, read from the store or from a committed baseline. Two sides
//! are paired over the cases that are the same on both, and a [`Comparison`] says what that shows:
//! data only, in the shape of the JSON output. How it reads on a screen is decided in `report`.
//! A [`History`] is one target over many runs: [`trend_target`] and [`flaky_target`] look at that.
//!
//! A is the baseline, B the candidate; every difference is B − A, in fractions.

mod answers;
mod assemble;
mod baseline;
mod case_change;
mod comparison;
mod confirm;
mod cost;
mod difference;
mod error;
mod flaky;
mod flips;
mod gates;
mod history;
mod latency;
mod missing;
mod pairing;
mod side;
mod sign_offs;
mod source;
mod trend;

#[cfg(test)]
mod tests;

pub use self::{
    answers::{FlipAnswers, flip_answers},
    assemble::{Options, compare, compare_all, frozen_gates},
    case_change::{CaseChange, side_by_side},
    comparison::{
        Amount, Comparison, Confirmed, CostComparison, Difference, Direction, FlipRow, Flips, GateResult,
        GateVerdict, GraderDifference, IfMissing, LatencyComparison, LeftOut, Mark, Matrix, MatrixRow, Power,
        Quantity, RetrievalComparison, SCHEMA_VERSION, SideInfo, SignOffUse, SliceDifference, Verdict,
    },
    confirm::{ConfirmedFlip, Flipped, FreshCase, confirmed_flips, judge_fresh},
    error::CompareError,
    flaky::{FlakyCase, FlakyLedger, FlakyTarget, Steadiness, flaky_target},
    gates::judge_side,
    history::{CaseCounts, History, HistoryCase, HistoryRun},
    side::{Count, Percentiles, Side, SideCase, SideGrader, SideRetrieval, SideTotals},
    sign_offs::SignOff,
    source::{DEFAULT_BASELINE, SideSource, read_sides},
    trend::{Change, ChangeKind, ChangePoint, Share, TrendRun, TrendTarget, trend_target},
};
