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

mod agreement;
mod design;
mod error;
mod estimate;
mod means;
mod pairs;
mod proportions;
mod resampling;
mod retrieval;
mod rng;
mod warning;

pub use self::{
    agreement::{
        Ac1, Agreement, Augmented, ClusteredSpread, CorrectedRate, JudgeCounts, JudgeQuality, JudgedCounts,
        Kappa, Krippendorff, KrippendorffInterval, Labels, Ppi, PpiSpread, RoganGladen, Share, agreement,
        agreement_table, judge_quality, krippendorff_alpha, krippendorff_interval, ppi, rogan_gladen,
    },
    design::{
        Budget, ClusterFrame, Comparison, Components, ConfidenceSequence, DEFAULT_TRUNCATION, Design, Look,
        Observation, Projection, ProjectionSpread, StratifiedProjection, StratifiedSpread, add_strata,
        at_most, benjamini_hochberg, best_design, confidence_sequence, connor_pairs, holm, optimal_repeats,
        project_total, repeats_for_inflation, upper_variance_limit, variance_components, variance_cut,
    },
    error::StatsError,
    estimate::{Estimable, Estimate, Interval, Method, NotEstimable},
    means::{
        ClusteredMean, Clusters, EffectiveWilson, Level, MeanScore, MeanSummary, OrderInterval, PassRate,
        Quantile, Ratio, RatioSpread, SampleTable, Samples, StratifiedMean, WeightedMean, Woodruff,
        clustered_mean, macro_mean_se, mean_score, mean_summary, pass_rate, quantiles, ratio,
        stratified_mean, sums, weighted_mean, wilson_effective_n,
    },
    pairs::{
        CaseFlip, CaseStatus, CaseTest, DifferenceVerdict, EffectiveDifference, FlipCounts, MarginTest,
        MarginVerdict, PairedDifference, PairedMedians, PairedSummary, Pairing, RepeatedCase, RepeatedFlips,
        SignTest, against_margin, bonett_price, count_flips, expected_flips_by_chance, margin_test,
        paired_difference, paired_medians, paired_summary, repeated_flips, sign_test, smallest_fisher_p,
    },
    proportions::{
        clopper_pearson, clopper_pearson_lower_limit, jeffreys, majority_at_k, pass_at_k, pass_hat_k,
        plurality_at_k, two_sided_t, two_sided_z, uniform_beta, wilson,
    },
    resampling::{
        Bca, Bootstrap, DEFAULT_REPLICATES, SignFlip, Standing, bootstrap_intervals, cluster_bootstrap,
        resample, sign_flip_test,
    },
    retrieval::{MetricMean, Query, QueryScores, Retrieval, retrieval, retrieval_scores},
    rng::SplitMix64,
    warning::{Warning, ignoring_clusters},
};
