//! Two sides compared case by case: what got better, what broke, what it costs, and may it ship.
//!
//! A [`Side`] is one target of one run, read from the store or from a committed baseline. Two sides
//! are paired over the cases that are the same on both, and a [`Comparison`] says what that shows:
//! data only, in the shape of the JSON output. How it reads on a screen is decided in `report`.
//!
//! A is the baseline, B the candidate; every difference is B − A, in fractions.

mod baseline;
mod between;
mod comparison;
mod cost;
mod difference;
mod error;
mod flips;
mod gates;
mod latency;
mod pairing;
mod read;
mod resolve;
mod side;
mod sign_offs;

#[cfg(test)]
mod tests;

pub use self::{
    between::{Options, common_cases, compare, compare_all, frozen_gates},
    comparison::{
        Amount, Comparison, Confirmed, CostComparison, Difference, Direction, FlipRow, Flips, GateResult,
        GateVerdict, GraderDifference, LatencyComparison, LeftOut, Mark, Matrix, MatrixRow, Power, Quantity,
        SCHEMA_VERSION, SideInfo, SignOffUse, SliceDifference, Verdict,
    },
    error::CompareError,
    gates::judge_side,
    resolve::{DEFAULT_BASELINE, SideSource, read_sides},
    side::{Count, Percentiles, Side, SideCase, SideGrader, SideTotals},
    sign_offs::SignOff,
};
