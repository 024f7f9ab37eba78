//! Which case belongs to which cluster.

use std::collections::HashMap;

use crate::stats::StatsError;

/// A cluster index per case, numbered by first appearance: 0, 1, 2, … without gaps.
///
/// The order of the clusters fixes the order of summation, so it follows from the order of the
/// cases alone and not from how the clusters were labelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clusters {
    of_case: Vec<u32>,
    sizes: Vec<u32>,
}

impl Clusters {
    /// From one label per case; the labels only have to be equal within a cluster. O(n).
    pub fn from_labels(labels: &[u32]) -> Self {
        let mut of_case = Vec::with_capacity(labels.len());
        let mut sizes: Vec<u32> = vec![];
        // Counts the case into its cluster, opening a new one when the label was not seen before.
        let mut count = |seen: Option<u32>| match seen {
            Some(cluster) => {
                sizes[cluster as usize] += 1;
                cluster
            }
            None => {
                sizes.push(1);
                u32::try_from(sizes.len() - 1).expect("no more clusters than u32 labels")
            }
        };
        let largest = labels.iter().copied().max().unwrap_or(0) as usize;
        if largest <= 4 * labels.len() + 1024 {
            // Labels that are indices already: a table is several times faster than hashing.
            const UNSEEN: u32 = u32::MAX;
            let mut table = vec![UNSEEN; largest + 1];
            for &label in labels {
                let entry = &mut table[label as usize];
                let seen = (*entry != UNSEEN).then_some(*entry);
                *entry = count(seen);
                of_case.push(*entry);
            }
        } else {
            let mut table: HashMap<u32, u32> = HashMap::new();
            for &label in labels {
                let cluster = count(table.get(&label).copied());
                table.insert(label, cluster);
                of_case.push(cluster);
            }
        }
        Self { of_case, sizes }
    }

    /// Every case a cluster of its own.
    pub fn singletons(n_cases: usize) -> Self {
        let n = u32::try_from(n_cases).expect("fewer than 2^32 cases");
        Self { of_case: (0..n).collect(), sizes: vec![1; n_cases] }
    }

    /// Number of cases.
    pub fn n_cases(&self) -> usize {
        self.of_case.len()
    }

    /// Number of clusters, G.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there is no case.
    pub fn is_empty(&self) -> bool {
        self.of_case.is_empty()
    }

    /// The cluster of case `case`.
    pub fn of(&self, case: usize) -> usize {
        self.of_case[case] as usize
    }

    /// The cluster of each case, in the order of the cases.
    pub fn of_cases(&self) -> impl Iterator<Item = usize> + '_ {
        self.of_case.iter().map(|&cluster| cluster as usize)
    }

    /// Cases in each cluster, m_g.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// Whether no cluster holds more than one case.
    pub fn all_single(&self) -> bool {
        self.sizes.len() == self.of_case.len()
    }

    /// Cases in the largest cluster; 0 without cases.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(0) as usize
    }

    /// Σ f_g² with f_g the cluster's share of the cases; its inverse is Kish's number of clusters.
    pub fn sum_squared_shares(&self) -> f64 {
        let n = self.n_cases() as f64;
        let squares: f64 = self.sizes.iter().map(|&m| f64::from(m) * f64::from(m)).sum();
        squares / (n * n)
    }

    /// The totals of `values` (one per case) in each cluster.
    pub fn totals(&self, values: &[f64]) -> Vec<f64> {
        let mut totals = vec![super::sums::Sum::default(); self.len()];
        for (&cluster, &value) in self.of_case.iter().zip(values) {
            totals[cluster as usize].add(value);
        }
        totals.into_iter().map(super::sums::Sum::value).collect()
    }

    /// The same clusters seen by the cases at `cases` only, numbered anew.
    #[must_use]
    pub fn restricted_to(&self, cases: &[usize]) -> Self {
        let labels: Vec<u32> = cases.iter().map(|&case| self.of_case[case]).collect();
        Self::from_labels(&labels)
    }

    /// Refuses clusters made for another number of cases.
    pub(crate) fn check_covers(&self, argument: &'static str, n_cases: usize) -> Result<(), StatsError> {
        crate::stats::error::check_same_length(argument, n_cases, "clusters", self.n_cases())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_numbered_by_first_appearance() {
        let clusters = Clusters::from_labels(&[7, 3, 7, 9, 3]);
        assert_eq!(clusters.of_cases().collect::<Vec<_>>(), [0, 1, 0, 2, 1]);
        assert_eq!(clusters.sizes(), [2, 2, 1]);
        assert_eq!(clusters.largest(), 2);
    }

    #[test]
    fn far_apart_labels_are_numbered_alike() {
        let near = Clusters::from_labels(&[5, 1, 5, 2]);
        let far = Clusters::from_labels(&[u32::MAX, 0, u32::MAX, 4_000_000_000]);
        assert_eq!(near, far);
    }

    #[test]
    fn kish_counts_equal_clusters_fully() {
        let clusters = Clusters::from_labels(&[0, 0, 1, 1, 2, 2]);
        assert!((1.0 / clusters.sum_squared_shares() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn totals_follow_the_clusters() {
        let clusters = Clusters::from_labels(&[1, 0, 1]);
        assert_eq!(clusters.totals(&[1.0, 10.0, 2.0]), [3.0, 10.0]);
        assert_eq!(clusters.restricted_to(&[1, 2]).sizes(), [1, 1]);
    }

    #[test]
    fn no_cases_are_no_clusters() {
        let clusters = Clusters::from_labels(&[]);
        assert!(clusters.is_empty());
        assert_eq!((clusters.len(), clusters.largest()), (0, 0));
        assert!(Clusters::singletons(3).all_single());
    }
}
