//! Counts laid out as statistics want them.

use std::collections::HashMap;

use super::case::Count;
use crate::{
    stats::{Clusters, Samples, StatsError},
    store::RunCase,
};

/// Scores of cases, 1 for each pass and 0 for each failure, with their clusters. Cases without a
/// measured repeat are left out.
#[derive(Debug)]
pub struct Scores {
    scores: Vec<f64>,
    offsets: Vec<usize>,
    clusters: Clusters,
}

impl Scores {
    /// Those of the cases at `positions`.
    pub(super) fn of(counts: &[Count], cases: &[RunCase], positions: impl Iterator<Item = usize>) -> Self {
        let measured: Vec<usize> = positions.filter(|&at| counts[at].measured > 0).collect();
        let mut scores = vec![];
        let mut offsets = vec![0];
        for &at in &measured {
            let Count { measured, passes } = counts[at];
            scores.extend(std::iter::repeat_n(1.0, passes as usize));
            scores.extend(std::iter::repeat_n(0.0, (measured - passes) as usize));
            offsets.push(scores.len());
        }
        let clusters = cluster_labels(measured.iter().map(|&at| &cases[at]));
        Self { scores, offsets, clusters }
    }

    /// The scores, case by case.
    ///
    /// # Errors
    /// No case was measured.
    pub fn samples(&self) -> Result<Samples<'_>, StatsError> {
        Samples::new(&self.scores, &self.offsets)
    }

    /// The cluster of each case.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }
}

/// The cluster of each case, as statistics want it.
pub(super) fn cluster_labels<'a>(cases: impl Iterator<Item = &'a RunCase>) -> Clusters {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let labels: Vec<u32> = cases
        .map(|case| {
            let next = u32::try_from(known.len()).expect("a set has fewer clusters than u32 can count");
            *known.entry(case.cluster.as_str()).or_insert(next)
        })
        .collect();
    Clusters::from_labels(&labels)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::{CasePos, Fingerprint, PassIf};

    /// Case number `position` of that cluster.
    pub(in crate::evidence) fn case(position: u32, cluster: &str) -> RunCase {
        RunCase {
            position: CasePos(position),
            id: format!("c{position}").as_str().into(),
            fingerprint: Fingerprint::of(&position.to_le_bytes()),
            split: None,
            cluster: cluster.to_owned(),
            weight: 1.0,
            segment: BTreeMap::new(),
            repeats: 2,
            pass_if: PassIf::default(),
        }
    }

    #[test]
    fn cases_that_were_not_measured_are_left_out_and_clusters_follow() {
        let cases = [case(0, "a"), case(1, "b"), case(2, "a")];
        let count = |measured, passes| Count { measured, passes };
        let scores = Scores::of(&[count(2, 1), count(0, 0), count(1, 0)], &cases, 0..3);
        assert_eq!((&scores.scores[..], &scores.offsets[..]), (&[1.0, 0.0, 0.0][..], &[0, 2, 3][..]));
        assert_eq!((scores.clusters().len(), scores.clusters().n_cases()), (1, 2));
        assert_eq!(scores.samples().unwrap().n_cases(), 2);
    }
}
