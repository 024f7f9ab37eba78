//! Finished numbers in the forms in which people and machines read them.

mod estimate_text;
mod comparison_text;
mod caching;
mod format;
mod frontier_svg;
mod frontier_text;
mod measurements;
mod scorecard;
mod scorecard_text;
mod table;

pub use self::{
    caching::CacheCard,
    comparison_text::{comparison_text, gates_text, matrix_text},
    estimate_text::{designs_text, estimate_text, held_text, repeat_gain_text, segment_needs_text},
    format::{count, dollars, duration, milliseconds, percent, visible},
    frontier_svg::frontier_svg,
    frontier_text::frontier_text,
    measurements::{GraderMeasurements, Measurements},
    scorecard::{Rate, Scorecard, Slice, TargetCard},
    scorecard_text::scorecard_text,
    table::Table,
};
