//! The store: one SQLite file, the single source of truth.
//!
//! [`Store`] is a connection: it makes and finds runs and reads what is in them, row by row, so that
//! memory grows with what is looked at and not with the run. [`StoreWriter`] is the one thread that
//! writes while a run goes on. What the rows mean is decided above; this module keeps them apart
//! (one row a trial), whole (an answer is committed before it is graded) and honest (NULL is
//! *unknown*, never zero). `docs/schema.md` describes the tables and views for people.

mod answers;
mod application;
mod cases;
mod claim;
mod columns;
mod control;
mod compared;
mod confirmation;
mod contents;
mod copy;
mod delete;
mod dictionary;
mod error;
mod estimates;
mod export;
mod find;
mod forget;
mod history;
mod info;
mod insert;
mod merge;
mod migrations;
mod open;
mod packed;
mod positions;
mod prices;
mod queue_log;
mod reuse;
mod resume;
mod run_tables;
mod runs;
mod schema;
mod schema_life;
mod scorecard;
mod schema_control;
mod trials;
mod upkeep;
mod writer;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod scale_tests;
#[cfg(test)]
mod tests;

pub use self::{
    application::RetrievalRow,
    cases::{CaseContent, RunCase},
    claim::RunClaim,
    compared::{ComparedScore, ComparedTrial},
    confirmation::{Confirmation, ConfirmationSides, ConfirmedCase},
    error::StoreError,
    export::ExportedTrial,
    find::{ListedRun, RunDetail},
    forget::{Forget, Forgotten},
    history::Returned,
    info::{KindSize, RunSize, StoreInfo},
    merge::Merged,
    open::Store,
    resume::{DoneTrial, FailedTrial, ToGrade},
    reuse::{RequestHash, Reusable, ReusedTotals},
    runs::{CreatedRun, NewGrader, NewRun, NewTarget},
    scorecard::{AttemptTotals, GraderRow, Measured, ScoreRow},
    trials::StoredTrial,
    upkeep::Compacted,
    writer::{StoreWriter, Write},
};
