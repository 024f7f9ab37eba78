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
mod effective_n;
mod error;
mod estimate;
mod mean;
mod multiplicity;
mod noninferiority;
mod proportion;
mod repeats;
mod rng;
mod samples;
mod stratified;
mod weighted;

pub use clustered::{ClusteredMean, clustered_mean};
pub use clusters::Clusters;
pub use effective_n::{EffectiveWilson, wilson_effective_n};
pub use error::StatsError;
pub use estimate::{Estimable, Estimate, Interval, Method, NotEstimable};
pub use mean::{MeanSummary, mean_summary};
pub use multiplicity::{at_most, benjamini_hochberg, holm};
pub use noninferiority::{MarginTest, MarginVerdict, against_margin, margin_test};
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
pub use weighted::{WeightedMean, weighted_mean};
