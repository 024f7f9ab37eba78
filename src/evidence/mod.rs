//! What the stored trials of a run say, read once: all that counts, prices or times them is a view.
//!
//! [`Evidence`] folds one target's trials: what was measured, what answers cost and took, what a
//! prompt cache saved. Scores ([`Graders`]) and retrieval ([`Retrieval`]) are read where they are asked
//! for. A [`Scorecard`] is all of it for one run, as data: how it reads on a screen is decided in
//! `report`. *Answers* cost what their own attempts cost; what failed beside them is told apart.

mod caching;
mod case;
mod graders;
mod retrieval;
mod samples;
mod scorecard;
mod target;
mod trial;

pub use self::{
    caching::Caching,
    case::{CaseEvidence, Count},
    graders::{GraderEvidence, Graders},
    retrieval::{Retrieval, TwoByTwo},
    samples::Scores,
    scorecard::{
        CacheCard, GraderCard, Percentiles, Rate, RetrievalCard, RetrievalSlice, Scorecard, Slice, TargetCard,
    },
    target::{Evidence, Times},
    trial::{is_answer, measured},
};
