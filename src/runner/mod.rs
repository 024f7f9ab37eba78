//! A run: the trials still to do, the loop that hands them to their queues, the budget, and the
//! grading of what came back.

mod budget;
mod coordinator;
pub mod early_stop;
mod grading;
mod plan;
mod pricing;
mod steering;
#[cfg(test)]
mod toy_tests;
mod warm_up;

pub use self::{
    budget::{Admission, Budget},
    coordinator::{RunError, RunParts, RunSummary, Shutdown, run},
    grading::{Graded, Ungraded},
    plan::{Cursor, PlannedTrial, TrialPlan},
    steering::follow_controls,
    warm_up::{Entry, Prefix, WarmUp},
};
