//! Golden sets: JSONL files of cases, read strictly, fingerprinted, and narrowed to a selection.
//!
//! A file is right as a whole or refused with all its faults at once. What a grader's parameters
//! mean is settled in `grading`; here a grader is a kind with data.

mod case_line;
mod fields;
mod fingerprint;
mod grader_specs;
mod id;
mod lines;
mod load;
mod select;
mod set;
mod written;

pub use self::{
    fingerprint::canonical_json,
    load::{load, load_sound, read},
    select::{Filter, Selection, select},
    set::{CaseDefaults, GoldenSet},
};
