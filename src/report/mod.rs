//! Finished numbers in the forms in which people and machines read them.

mod check;
mod comparison;
mod estimate;
mod format;
mod history;
mod rehearsal;
mod run;
mod runs;
mod table;

pub use self::{
    check::checked_text,
    comparison::{Form, compared_case_text, confirmation_text, gates_text, written},
    estimate::{account_text, frontier_svg, planned_text},
    format::{count, dollars, duration, milliseconds, percent, wrapped},
    history::{flaky_text, trend_text},
    rehearsal::rehearsal_text,
    run::{RunProgress, case_text, control_text, failures_text, left_text, scorecard_text},
    runs::{bytes, runs_text, store_size_text},
    table::Table,
};
