//! Graders: an answer and what a case expects, to a score. Pure.
//!
//! One file per grader, each saying at its top what it reads and which parameters it has; what they
//! share stands in files of its own (`fold`, `phrase`, `number`, `boxed`). A judge, which asks a
//! model, is not among them.

mod boxed;
mod cache;
mod check;
mod cites;
mod enumeration;
mod exact;
mod examples;
mod expected;
mod finding;
mod fold;
mod grader;
mod grounded;
mod json;
mod number;
mod parameters;
mod pattern;
mod phrase;
mod retrieval;
mod unknown;
mod verdict;
mod words;

#[cfg(test)]
mod testing;

pub use self::{
    cache::GraderCache,
    check::{check_graders, check_set},
    grader::{Grader, grader_versions},
    retrieval::retrieval_score,
    verdict::{grade_all_with, trial_verdict},
};
