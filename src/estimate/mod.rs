//! What a run will cost, how long it will take and what it will be able to see, before anything is
//! sent.
//!
//! Input tokens are counted ([`input`]), output tokens projected from earlier runs ([`output`]),
//! both are priced ([`cost`]), and the queues are played in fast motion ([`wall_time`]). What the
//! experiment can tell apart follows from earlier verdicts ([`detect`]), and so does what more cases
//! or more repeats would buy ([`design`]). Every estimate is kept with its run and held against what
//! came ([`held`]).

mod account;
pub mod cost;
pub mod design;
pub mod detect;
pub mod frontier;
pub mod held;
pub mod history;
pub mod input;
mod notes;
pub mod output;
mod range;
pub mod repeats;
pub mod sample;
mod total;
pub mod wall_time;

pub use self::{
    account::BindingLimit,
    detect::{Assumptions, Detectable, Spread},
    history::{Basis, History, TargetHistory},
    range::Range,
    total::{Estimate, Options, TargetEstimate, Totals, estimate},
};
