//! A run: the trials still to do, the loop that hands their calls to lanes, and the grading of what came
//! back.

mod account;
mod coordinator;
pub mod early_stop;
mod error;
#[cfg(test)]
mod fixtures;
mod grading;
mod lane;
mod live;
mod plan;
mod progress;
mod record;
mod reused;
mod run;
mod shutdown;
mod source;
mod steering;
#[cfg(test)]
mod toy_tests;
mod warm_up;

pub use self::{
    error::RunError,
    plan::TrialPlan,
    progress::RunSummary,
    run::{RunParts, grade, run},
    shutdown::Shutdown,
    steering::follow_controls,
};
