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

mod agreement;
mod bootstrap;
mod clustered;
mod clusters;
mod confidence_sequence;
mod difference;
mod effective_n;
mod error;
mod estimate;
mod flips;
mod flips_repeats;
mod judge_quality;
mod krippendorff;
mod mean;
mod mean_score;
mod multiplicity;
mod noninferiority;
mod paired;
mod paired_medians;
mod pass_at_k;
mod pass_rate;
mod power;
mod ppi;
mod projection;
mod proportion;
mod quantiles;
mod ratio;
mod repeats;
mod retrieval;
mod rng;
mod rogan_gladen;
mod samples;
mod sign_flip;
mod stratified;
mod warning;
mod weighted;

pub use agreement::{Ac1, Agreement, Kappa, agreement, agreement_table};
pub use bootstrap::{
    Bca, Bootstrap, DEFAULT_REPLICATES, Standing, bootstrap_intervals, cluster_bootstrap, resample,
};
pub use clustered::{ClusteredMean, clustered_mean};
pub use clusters::Clusters;
pub use confidence_sequence::{
    ClusterFrame, ConfidenceSequence, DEFAULT_TRUNCATION, Look, Observation, confidence_sequence,
};
pub use difference::{DifferenceVerdict, PairedDifference, paired_difference};
pub use effective_n::{EffectiveWilson, wilson_effective_n};
pub use error::StatsError;
pub use estimate::{Estimable, Estimate, Interval, Method, NotEstimable};
pub use flips::{FlipCounts, SignTest, count_flips, expected_flips_by_chance, sign_test};
pub use flips_repeats::{
    CaseFlip, CaseStatus, CaseTest, RepeatedCase, RepeatedFlips, repeated_flips, smallest_fisher_p,
};
pub use judge_quality::{JudgeCounts, JudgeQuality, Share, judge_quality};
pub use krippendorff::{Krippendorff, KrippendorffInterval, krippendorff_alpha, krippendorff_interval};
pub use mean::{MeanSummary, mean_summary};
pub use mean_score::{MeanScore, mean_score};
pub use multiplicity::{at_most, benjamini_hochberg, holm};
pub use noninferiority::{MarginTest, MarginVerdict, against_margin, margin_test};
pub use paired::{EffectiveDifference, PairedSummary, Pairing, bonett_price, paired_summary};
pub use paired_medians::{PairedMedians, paired_medians};
pub use pass_at_k::{majority_at_k, pass_at_k, pass_hat_k, plurality_at_k};
pub use pass_rate::{PassRate, pass_rate};
pub use power::{Budget, Comparison, Design, best_design, connor_pairs, upper_variance_limit};
pub use ppi::{Augmented, ClusteredSpread, Labels, Ppi, PpiSpread, ppi};
pub use projection::{
    Projection, ProjectionSpread, StratifiedProjection, StratifiedSpread, add_strata, project_total,
};
pub use proportion::{
    clopper_pearson, clopper_pearson_lower_limit, jeffreys, two_sided_t, two_sided_z, uniform_beta, wilson,
};
pub use quantiles::{Level, OrderInterval, Quantile, Woodruff, quantiles};
pub use ratio::{Ratio, RatioSpread, ratio};
pub use repeats::{Components, optimal_repeats, repeats_for_inflation, variance_components, variance_cut};
pub use retrieval::{MetricMean, Query, QueryScores, Retrieval, retrieval, retrieval_scores};
pub use rng::SplitMix64;
pub use rogan_gladen::{CorrectedRate, JudgedCounts, RoganGladen, rogan_gladen};
pub use samples::{SampleTable, Samples};
pub use sign_flip::{SignFlip, sign_flip_test};
pub use stratified::{StratifiedMean, macro_mean_se, stratified_mean};
pub use warning::{Warning, ignoring_clusters};
pub use weighted::{WeightedMean, weighted_mean};
