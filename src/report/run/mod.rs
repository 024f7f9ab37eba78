//! A run on the screen.

mod case;
mod control;
mod left;
mod progress;
mod queues;
mod scorecard;

pub use self::{
    case::{case_text, failures_text},
    control::control_text,
    left::left_text,
    progress::RunProgress,
    scorecard::scorecard_text,
};
