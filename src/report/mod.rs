//! Finished numbers in the forms in which people and machines read them.

mod comparison_csv;
#[cfg(test)]
mod comparison_fixture;
mod comparison_github;
mod comparison_junit;
mod comparison_markdown;
mod confirmation_text;
mod estimate_text;
mod comparison_text;
mod caching;
mod format;
mod frontier_svg;
mod frontier_text;
mod measurements;
mod queue_text;
mod retrieval;
mod scorecard;
mod scorecard_text;
mod table;
mod trend_text;

pub use self::{
    caching::CacheCard,
    comparison_csv::comparison_csv,
    comparison_github::comparison_github,
    comparison_junit::comparison_junit,
    comparison_markdown::comparison_markdown,
    comparison_text::{comparison_text, gates_text, matrix_text},
    confirmation_text::confirmation_text,
    estimate_text::{designs_text, estimate_text, held_text, repeat_gain_text, segment_needs_text},
    format::{count, dollars, duration, milliseconds, percent},
    frontier_svg::frontier_svg,
    frontier_text::frontier_text,
    measurements::{GraderMeasurements, Measurements},
    retrieval::{RetrievalCard, RetrievalSlice, TwoByTwo},
    scorecard::{Rate, Scorecard, Slice, TargetCard},
    scorecard_text::scorecard_text,
    table::Table,
    trend_text::{flaky_text, trend_text},
};
