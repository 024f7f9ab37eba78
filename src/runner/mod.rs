//! A run: the trials still to do, the loop that hands them to their queues, and the
//! grading of what came back.

mod coordinator;
pub mod early_stop;
mod grading;
mod plan;
mod record;
mod steering;
#[cfg(test)]
mod toy_tests;
mod warm_up;

pub use self::{
    coordinator::{RunError, RunParts, RunSummary, Shutdown, run},
    grading::{Graded, Ungraded},
    plan::{Cursor, PlannedTrial, TrialPlan},
    steering::follow_controls,
    warm_up::{Entry, Prefix, WarmUp},
};
