//! Finished numbers in the forms in which people and machines read them.

mod comparison_text;
mod caching;
mod format;
mod measurements;
mod retrieval;
mod scorecard;
mod scorecard_text;
mod table;

pub use self::{
    caching::CacheCard,
    comparison_text::{comparison_text, gates_text, matrix_text},
    format::{count, dollars, duration, milliseconds, percent, visible},
    measurements::{GraderMeasurements, Measurements},
    retrieval::{RetrievalCard, RetrievalSlice, TwoByTwo},
    scorecard::{Rate, Scorecard, Slice, TargetCard},
    scorecard_text::scorecard_text,
    table::Table,
};
