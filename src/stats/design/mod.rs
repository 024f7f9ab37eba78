//! Before and while measuring: how many cases and repeats, when to stop, and what many looks cost.

pub(super) mod confidence_sequence;
pub(super) mod multiplicity;
pub(super) mod power;
pub(super) mod projection;
pub(super) mod repeats;

pub use self::{
    confidence_sequence::{
        ClusterFrame, ConfidenceSequence, DEFAULT_TRUNCATION, Look, Observation, confidence_sequence,
    },
    multiplicity::{at_most, benjamini_hochberg, holm},
    power::{Budget, Comparison, Design, best_design, connor_pairs, upper_variance_limit},
    projection::{
        Projection, ProjectionSpread, StratifiedProjection, StratifiedSpread, add_strata, project_total,
    },
    repeats::{Components, optimal_repeats, repeats_for_inflation, variance_components, variance_cut},
};
