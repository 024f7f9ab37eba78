//! What a run will cost, how long it will take and what it will be able to see, before anything is
//! sent.
//!
//! Input tokens are counted ([`tokens`]), output tokens projected from earlier runs ([`output`]),
//! both are priced ([`cost`]), and the queues are played in fast motion ([`wall_time`]). What the
//! experiment can tell apart follows from earlier verdicts ([`detect`]), and so does what more cases
//! or more repeats would buy ([`design`]). Every estimate is kept with its run and held against what
//! came ([`record`]).

pub mod cost;
pub mod design;
pub mod detect;
pub mod frontier;
pub mod history;
pub mod output;
mod range;
pub mod record;
pub mod repeats;
pub mod sample;
pub mod tokens;
pub mod wall_time;
mod whole;

pub use self::{
    detect::{Assumptions, Detectable, Spread},
    history::{Basis, History, TargetHistory},
    range::Range,
    whole::{BindingLimit, Estimate, Options, TargetEstimate, Totals, estimate},
};
