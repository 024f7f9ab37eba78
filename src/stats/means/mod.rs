//! Means and rates of one side: per case, clustered, weighted and stratified, with quantiles and
//! ratios. The case mean is the unit; sums are exact.

pub(super) mod clustered;
pub(super) mod clusters;
pub(super) mod effective_n;
pub(super) mod mean;
pub(super) mod mean_score;
pub(super) mod pass_rate;
pub(super) mod quantiles;
pub(super) mod ratio;
pub(super) mod samples;
pub(super) mod stratified;
pub mod sums;
pub(super) mod weighted;

pub use self::{
    clustered::{ClusteredMean, clustered_mean},
    clusters::Clusters,
    effective_n::{EffectiveWilson, wilson_effective_n},
    mean::{MeanSummary, mean_summary},
    mean_score::{MeanScore, mean_score},
    pass_rate::{PassRate, pass_rate},
    quantiles::{Level, OrderInterval, Quantile, Woodruff, quantiles},
    ratio::{Ratio, RatioSpread, ratio},
    samples::{SampleTable, Samples},
    stratified::{StratifiedMean, macro_mean_se, stratified_mean},
    weighted::{WeightedMean, weighted_mean},
};
