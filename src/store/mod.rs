//! The store: one SQLite file, the single source of truth.
//!
//! [`Store`] is a connection: it makes and finds runs and reads what is in them, row by row, so that
//! memory grows with what is looked at and not with the run. [`StoreWriter`] is the one thread that
//! writes while a run goes on. What the rows mean is decided above; this module keeps them apart
//! (one row a trial), whole (an answer is committed before it is graded) and honest (NULL is
//! *unknown*, never zero). `docs/schema.md` describes the tables and views for people.

mod application;
mod case_content;
mod columns;
mod confirmation;
mod control;
mod error;
mod estimates;
mod files;
mod frozen;
mod life;
mod open;
mod positions;
mod prices;
mod queue_log;
mod read;
mod resume;
mod reuse;
mod schema;
mod write;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod scale_tests;
#[cfg(test)]
mod tests;

pub use self::{
    application::RetrievalRow,
    case_content::CaseContent,
    confirmation::{Confirmation, ConfirmationSides, ConfirmedCase},
    error::StoreError,
    frozen::{NewGrader, NewTarget},
    life::{Compacted, ConfigForm, Forget, Forgotten, KindSize, Merged, RunSize, StoreInfo},
    open::Store,
    read::{
        AttemptTotals, Detail, ExportedTrial, GraderRow, ListedRun, Returned, RunCase, RunDetail, ScoreRow,
        StoredTrial, TrialRow,
    },
    resume::{DoneTrial, FailedTrial, ToGrade},
    reuse::{RequestHash, Reusable, ReusedTotals},
    write::{CommitListener, CreatedRun, Hurry, NewRun, RunClaim, StoreWriter, Write},
};
