//! Finished numbers in the forms in which people and machines read them.

mod comparison;
mod estimate;
mod format;
mod history;
mod run;
mod table;

pub use self::{
    comparison::{
        comparison_csv, comparison_github, comparison_junit, comparison_markdown, comparison_text,
        confirmation_text, gates_text, matrix_text,
    },
    estimate::{
        designs_text, estimate_text, frontier_svg, frontier_text, held_text, repeat_gain_text,
        segment_needs_text,
    },
    format::{count, dollars, duration, milliseconds, percent},
    history::{flaky_text, trend_text},
    run::scorecard_text,
    table::Table,
};
