//! Finished numbers in the forms in which people and machines read them.

mod format;
mod measurements;
mod scorecard;
mod scorecard_text;
mod table;
mod trend_text;

pub use self::{
    format::{count, dollars, duration, milliseconds, percent, visible},
    measurements::{GraderMeasurements, Measurements},
    scorecard::{Rate, Scorecard, Slice, TargetCard},
    scorecard_text::scorecard_text,
    table::Table,
    trend_text::{flaky_text, trend_text},
};
