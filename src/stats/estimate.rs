//! What a procedure answers: a point with its interval, or the reason why there is none.

use std::fmt;

/// Why a quantity cannot be estimated from good data. Never replaced by 0 or NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NotEstimable {
    /// There is no case at all.
    #[error("there are no data")]
    NoData,
    /// One case has no spread to measure.
    #[error("a single case has no spread to estimate an error from")]
    SingleCase,
    /// All cases are in one cluster: there is one independent observation.
    #[error("all cases are in one cluster, which is one independent observation")]
    OneCluster,
    /// All values (or all cluster means) are equal, so a ratio to their spread does not exist.
    #[error("the values do not differ")]
    ZeroVariance,
    /// Both raters used one and the same category.
    #[error("only one category was used")]
    SingleCategory,
    /// A ratio whose denominator is 0.
    #[error("the denominator is zero")]
    ZeroDenominator,
    /// Human labels are all positive or all negative.
    #[error("there are no positive or no negative human labels")]
    NoPositiveOrNoNegativeLabels,
    /// Sensitivity + specificity does not exceed 1: the judge says nothing about the truth.
    #[error("the judge is not better than chance")]
    JudgeNotInformative,
    /// The BCa correction does not exist for these replicates.
    #[error("the BCa interval is undefined here; use the percentile interval")]
    BcaUndefinedFallBackToPercentile,
    /// A projection needs a spread between cases, hence two of them.
    #[error("a projection needs at least two pilot cases")]
    NeedTwoPilotCases,
    /// Every case was answered once, so the noise within a case is unknown.
    #[error("no case has two samples, so the noise within a case is unknown")]
    NoRepeats,
    /// Every cluster holds one case, so nothing can be said about likeness within a cluster.
    #[error("every cluster holds one case")]
    AllClustersSingle,
    /// Fewer samples than the k that was asked for.
    #[error("there are fewer samples than k")]
    FewerSamplesThanK,
    /// No case has samples on both sides.
    #[error("no case was measured on both sides")]
    NoPairs,
    /// A case cannot reach significance whatever its answers were (Tarone's filter).
    #[error("this case could not reach significance with these numbers of samples")]
    NotTestable,
    /// A side, or a case, has no sample.
    #[error("a side has no samples")]
    Missing,
    /// No number of cases meets the target: the budget or the ceiling is too low.
    #[error("no affordable design has two cases")]
    NoAffordableDesign,
    /// The limit lies beyond the largest observation: the sample is too small to bound it.
    #[error("the sample is too small to bound this limit")]
    Unbounded,
}

impl NotEstimable {
    /// The reason code, as it stands in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoData => "no_data",
            Self::SingleCase => "single_case",
            Self::OneCluster => "one_cluster",
            Self::ZeroVariance => "zero_variance",
            Self::SingleCategory => "single_category",
            Self::ZeroDenominator => "zero_denominator",
            Self::NoPositiveOrNoNegativeLabels => "no_positive_or_no_negative_labels",
            Self::JudgeNotInformative => "judge_not_informative",
            Self::BcaUndefinedFallBackToPercentile => "bca_undefined_fall_back_to_percentile",
            Self::NeedTwoPilotCases => "need_two_pilot_cases",
            Self::NoRepeats => "no_repeats",
            Self::AllClustersSingle => "all_clusters_single",
            Self::FewerSamplesThanK => "fewer_samples_than_k",
            Self::NoPairs => "no_pairs",
            Self::NotTestable => "not_testable",
            Self::Missing => "missing",
            Self::NoAffordableDesign => "no_affordable_design",
            Self::Unbounded => "unbounded",
        }
    }
}

/// A value, or the reason why it cannot be estimated.
pub type Estimable<T> = Result<T, NotEstimable>;

/// Two ends of an interval, `low <= high`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval `centre - half ..= centre + half`.
    pub fn around(centre: f64, half: f64) -> Self {
        Self { low: centre - half, high: centre + half }
    }

    /// The part inside `low..=high`, for display of a bounded quantity.
    #[must_use]
    pub fn clipped(self, low: f64, high: f64) -> Self {
        Self { low: self.low.clamp(low, high), high: self.high.clamp(low, high) }
    }

    /// Whether the value lies inside, ends included.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// `high - low`.
    pub fn width(self) -> f64 {
        self.high - self.low
    }
}

/// By which rule an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Wilson score interval on independent cases.
    Wilson,
    /// Wilson score interval on the effective number of samples.
    WilsonEffectiveN,
    /// Clopper-Pearson exact interval.
    ClopperPearson,
    /// Jeffreys interval.
    Jeffreys,
    /// Student t on the independent-cases standard error.
    StudentT,
    /// Student t on the CR2 clustered standard error with Imbens-Kolesar degrees of freedom.
    ClusteredT,
    /// Bonett-Price interval of a paired difference, on the effective number of pairs.
    BonettPriceEffectiveN,
    /// Student t on a stratified estimate with Satterthwaite degrees of freedom.
    StratifiedT,
    /// Student t on a weighted, clustered estimate.
    WeightedT,
    /// Percentile cluster bootstrap.
    BootstrapPercentile,
    /// Bias-corrected and accelerated cluster bootstrap.
    BootstrapBca,
    /// Order statistics of the sample.
    OrderStatistics,
    /// Woodruff's interval of a clustered percentile.
    Woodruff,
    /// Anytime-valid empirical-Bernstein confidence sequence.
    ConfidenceSequence,
    /// Prediction-powered inference with power tuning.
    PredictionPowered,
    /// Rogan-Gladen with the interval of Lang and Reiczigel.
    RoganGladen,
    /// Fieller's interval of a ratio.
    Fieller,
    /// Linearised ratio with a t quantile.
    LinearisedRatio,
    /// Prediction interval of a projected total.
    Projection,
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Wilson => "Wilson",
            Self::WilsonEffectiveN => "Wilson on effective n",
            Self::ClopperPearson => "Clopper-Pearson",
            Self::Jeffreys => "Jeffreys",
            Self::StudentT => "t",
            Self::ClusteredT => "CR2 clustered, t with Imbens-Kolesar df",
            Self::BonettPriceEffectiveN => "Bonett-Price on effective n",
            Self::StratifiedT => "stratified, t with Satterthwaite df",
            Self::WeightedT => "weighted, CR1 clustered, t",
            Self::BootstrapPercentile => "cluster bootstrap, percentile",
            Self::BootstrapBca => "cluster bootstrap, BCa",
            Self::OrderStatistics => "order statistics",
            Self::Woodruff => "Woodruff, clustered",
            Self::ConfidenceSequence => "confidence sequence",
            Self::PredictionPowered => "PPI++",
            Self::RoganGladen => "Rogan-Gladen, Lang-Reiczigel",
            Self::Fieller => "Fieller",
            Self::LinearisedRatio => "linearised ratio, t",
            Self::Projection => "projection",
        })
    }
}

/// A point, its uncertainty, and what both rest on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimated value.
    pub point: f64,
    /// The interval at `confidence`, or why there is none.
    pub interval: Estimable<Interval>,
    /// Standard error of the point, or why there is none.
    pub se: Estimable<f64>,
    /// Degrees of freedom of the quantile used; `None` is the normal distribution.
    pub df: Option<f64>,
    /// How the interval was made.
    pub method: Method,
    /// Confidence level of the interval, 0.95 for "95 %".
    pub confidence: f64,
    /// Number of cases.
    pub n_cases: usize,
    /// Number of clusters; equals `n_cases` when the cases are independent.
    pub n_clusters: usize,
    /// Number of samples (trials) over all cases.
    pub n_samples: usize,
}

impl Estimate {
    /// Lower end of the interval, where there is one.
    pub fn low(&self) -> Option<f64> {
        self.interval.ok().map(|interval| interval.low)
    }

    /// Upper end of the interval, where there is one.
    pub fn high(&self) -> Option<f64> {
        self.interval.ok().map(|interval| interval.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_prints_as_a_reader_would_name_it() {
        assert_eq!(Method::WilsonEffectiveN.to_string(), "Wilson on effective n");
    }

    #[test]
    fn clipping_keeps_the_order_of_the_ends() {
        let clipped = Interval { low: -2.4, high: 3.9 }.clipped(0.0, 1.0);
        assert_eq!(clipped, Interval { low: 0.0, high: 1.0 });
        assert!(clipped.contains(1.0));
        assert!((clipped.width() - 1.0).abs() < 1e-15);
    }
}
