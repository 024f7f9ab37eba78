//! Reading what is stored: runs, their cases, trials and scores, row by row.

mod cases;
mod compared;
mod export;
pub(super) mod find;
mod history;
mod scorecard;
pub(super) mod trials;

pub use self::{
    cases::RunCase,
    compared::{ComparedScore, ComparedTrial},
    export::ExportedTrial,
    find::{ListedRun, RunDetail},
    history::Returned,
    scorecard::{AttemptTotals, GraderRow, Measured, ScoreRow},
    trials::StoredTrial,
};
