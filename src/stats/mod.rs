//! Statistics: pure functions over slices of numbers and cluster indices.
//!
//! Three nested levels: a *cluster* (document, ticket thread) holds *cases* (questions), a case
//! holds *samples* (repeats of the same question). Cases are weighted equally, whatever their
//! number of samples; samples of one case are never treated as independent.
//!
//! Nothing here knows the project: which outcome counts as a failure, which cases may be compared
//! and what a gate demands is decided by the floors above. What cannot be estimated is a named
//! state ([`NotEstimable`]), never 0 or NaN; contradictory arguments are a [`StatsError`].

pub mod special;
pub mod sums;

mod clustered;
mod clusters;
mod difference;
mod effective_n;
mod error;
mod estimate;
mod flips;
mod flips_repeats;
mod mean;
mod mean_score;
mod multiplicity;
mod noninferiority;
mod paired;
mod pass_at_k;
mod pass_rate;
mod power;
mod proportion;
mod repeats;
mod rng;
mod samples;
mod stratified;
mod warning;
mod weighted;

pub use clustered::{ClusteredMean, clustered_mean};
pub use clusters::Clusters;
pub use difference::{DifferenceVerdict, PairedDifference, paired_difference};
pub use effective_n::{EffectiveWilson, wilson_effective_n};
pub use error::StatsError;
pub use estimate::{Estimable, Estimate, Interval, Method, NotEstimable};
pub use flips::{FlipCounts, SignTest, count_flips, expected_flips_by_chance, sign_test};
pub use flips_repeats::{
    CaseFlip, CaseStatus, CaseTest, RepeatedCase, RepeatedFlips, repeated_flips, smallest_fisher_p,
};
pub use mean::{MeanSummary, mean_summary};
pub use mean_score::{MeanScore, mean_score};
pub use multiplicity::{at_most, benjamini_hochberg, holm};
pub use noninferiority::{MarginTest, MarginVerdict, against_margin, margin_test};
pub use paired::{EffectiveDifference, PairedSummary, Pairing, bonett_price, paired_summary};
pub use pass_at_k::{majority_at_k, pass_at_k, pass_hat_k, plurality_at_k};
pub use pass_rate::{PassRate, pass_rate};
pub use power::{Budget, Comparison, Design, best_design, connor_pairs, upper_variance_limit};
pub use proportion::{
    clopper_pearson, clopper_pearson_lower_limit, jeffreys, two_sided_t, two_sided_z, uniform_beta,
    wilson,
};
pub use repeats::{
    Components, optimal_repeats, repeats_for_inflation, variance_components, variance_cut,
};
pub use rng::SplitMix64;
pub use samples::{SampleTable, Samples};
pub use stratified::{StratifiedMean, macro_mean_se, stratified_mean};
pub use warning::{Warning, ignoring_clusters};
pub use weighted::{WeightedMean, weighted_mean};
