//! Reading what is stored: runs, their cases, trials and scores, row by row.

mod attempt_totals;
mod cases;
mod export;
pub(super) mod find;
mod history;
mod score_rows;
mod trial_rows;
pub(super) mod trials;

pub use self::{
    attempt_totals::AttemptTotals,
    cases::RunCase,
    export::ExportedTrial,
    find::{ListedRun, RunDetail},
    history::Returned,
    score_rows::{GraderRow, ScoreRow},
    trial_rows::{Detail, TrialRow},
    trials::StoredTrial,
};
