//! What a reader should know beside a number.

use super::{ClusteredMean, Clusters, Samples};

/// A reason to trust a number less; printed beside it, never instead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Warning {
    /// Fewer than 30 cases.
    FewCases,
    /// Fewer than 300 cases under an interval that rests on the central limit theorem alone.
    CltSmall,
    /// Fewer than 30 clusters; `strong` below 10.
    FewClusters {
        /// Fewer than 10.
        strong: bool,
    },
    /// Fewer than 4 degrees of freedom.
    LowDf,
    /// One cluster holds more than a fifth of the cases.
    DominantCluster,
    /// Fewer than 10 clusters carry the information.
    FewInformativeClusters,
    /// Clusters exist and matter (design effect above 1.5), but were ignored on request.
    ClustersIgnored,
    /// Too few samples a case to name single cases.
    KTooSmallToNameCases,
    /// A pass rate above 98 %: the set hardly tells targets apart any more.
    Ceiling,
    /// Cases have different numbers of samples.
    UnequalK,
    /// Cases were measured on one side only.
    MissingPairs,
    /// All values, or all cluster means, are equal.
    ZeroVariance,
}

impl Warning {
    /// The warning's code in JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::FewCases => "few_cases",
            Self::CltSmall => "clt_small",
            Self::FewClusters { .. } => "few_clusters",
            Self::LowDf => "low_df",
            Self::DominantCluster => "dominant_cluster",
            Self::FewInformativeClusters => "few_informative_clusters",
            Self::ClustersIgnored => "clusters_ignored",
            Self::KTooSmallToNameCases => "k_too_small_to_name_cases",
            Self::Ceiling => "ceiling",
            Self::UnequalK => "unequal_k",
            Self::MissingPairs => "missing_pairs",
            Self::ZeroVariance => "zero_variance",
        }
    }
}

/// [`Warning::ClustersIgnored`] for an unclustered interval over cases that have clusters.
pub fn ignoring_clusters(mean: &ClusteredMean) -> Option<Warning> {
    mean.deff.is_ok_and(|deff| deff > 1.5).then_some(Warning::ClustersIgnored)
}

/// Warnings about how many cases and clusters there are. Cases without clusters are only counted.
pub(crate) fn of_sizes(clusters: &Clusters) -> Vec<Warning> {
    let mut warnings = vec![];
    if clusters.n_cases() < 30 {
        warnings.push(Warning::FewCases);
    }
    if !clusters.all_single() {
        if clusters.len() < 30 {
            warnings.push(Warning::FewClusters { strong: clusters.len() < 10 });
        }
        if clusters.largest() as f64 > 0.2 * clusters.n_cases() as f64 {
            warnings.push(Warning::DominantCluster);
        }
    }
    warnings
}

/// [`Warning::LowDf`] for the degrees of freedom used.
pub(crate) fn of_df(df: Option<f64>) -> Option<Warning> {
    df.is_some_and(|df| df < 4.0).then_some(Warning::LowDf)
}

/// [`Warning::UnequalK`] for cases with different numbers of samples.
pub(crate) fn of_repeats(samples: &Samples<'_>) -> Option<Warning> {
    samples.k_range().is_some_and(|(least, most)| least != most).then_some(Warning::UnequalK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_clusters_are_few_and_nine_are_very_few() {
        let of = |clusters: u32| {
            let labels: Vec<u32> = (0..clusters).flat_map(|label| [label; 4]).collect();
            of_sizes(&Clusters::from_labels(&labels))
        };
        assert_eq!(of(10), [Warning::FewClusters { strong: false }]);
        assert_eq!(of(9), [Warning::FewClusters { strong: true }]);
        assert_eq!(of(30), []);
    }

    #[test]
    fn independent_cases_are_not_called_few_clusters() {
        assert_eq!(of_sizes(&Clusters::singletons(3)), [Warning::FewCases]);
    }

    #[test]
    fn a_large_cluster_dominates() {
        let mut labels = vec![0; 10];
        labels.extend(1..=35);
        assert_eq!(of_sizes(&Clusters::from_labels(&labels)), [Warning::DominantCluster]);
    }
}
