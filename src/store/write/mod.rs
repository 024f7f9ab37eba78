//! Writing: a run is made and claimed, its rows are inserted, long texts are packed, by one thread.

pub(super) mod answers;
mod claim;
pub(super) mod contents;
pub(super) mod dictionary;
mod due;
pub(super) mod insert;
mod message;
mod new_run;
pub(super) mod packed;
pub(super) mod patience;
mod status;
pub(super) mod writer;
mod zstd;

pub use self::{
    claim::RunClaim,
    message::Write,
    new_run::{CreatedRun, NewRun},
    patience::Hurry,
    writer::{CommitListener, StoreWriter},
};
