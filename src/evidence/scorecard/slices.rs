//! The same numbers for parts of the cases.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    rate::{Rate, rate},
    retrieval::RetrievalSlice,
};
use crate::{
    evidence::{case::Count, retrieval::Retrieval, samples::cluster_labels},
    store::RunCase,
};

/// A part of the cases.
#[derive(Clone, Debug, Serialize)]
pub struct Slice {
    /// What cuts it, such as `intent`; `split` for splits.
    pub key: String,
    /// Which part, such as `billing`.
    pub value: String,
    /// Cases in it.
    pub cases: usize,
    /// Clusters they form.
    pub clusters: usize,
    /// Trials graded.
    pub graded: u64,
    /// Its pass rate.
    pub pass_rate: Option<Rate>,
    /// How well retrieval did in it; absent where none was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalSlice>,
}

/// The parts of a golden set, such as what is held out.
pub(super) fn splits(counts: &[Count], cases: &[RunCase], retrieval: Option<&Retrieval>) -> Vec<Slice> {
    let present: BTreeSet<_> = cases.iter().filter_map(|case| case.split).collect();
    present
        .into_iter()
        .map(|split| {
            slice("split", split.as_str(), counts, cases, retrieval, |case| case.split == Some(split))
        })
        .collect()
}

/// The slices that cases name.
pub(super) fn segments(counts: &[Count], cases: &[RunCase], retrieval: Option<&Retrieval>) -> Vec<Slice> {
    let present: BTreeSet<(&str, &str)> = cases
        .iter()
        .flat_map(|case| case.segment.iter().map(|(key, value)| (key.as_str(), value.as_str())))
        .collect();
    present
        .into_iter()
        .map(|(key, value)| {
            slice(key, value, counts, cases, retrieval, |case| {
                case.segment.get(key).is_some_and(|own| own == value)
            })
        })
        .collect()
}

fn slice(
    key: &str,
    value: &str,
    counts: &[Count],
    cases: &[RunCase],
    retrieval: Option<&Retrieval>,
    belongs: impl Fn(&RunCase) -> bool,
) -> Slice {
    let positions: Vec<usize> = (0..cases.len()).filter(|&at| belongs(&cases[at])).collect();
    Slice {
        key: key.to_owned(),
        value: value.to_owned(),
        cases: positions.len(),
        clusters: cluster_labels(positions.iter().map(|&at| &cases[at])).len(),
        graded: positions.iter().map(|&at| u64::from(counts[at].measured)).sum(),
        retrieval: retrieval.and_then(|retrieval| RetrievalSlice::of(retrieval, &positions)),
        pass_rate: rate(counts, cases, positions.into_iter()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Split, evidence::samples::tests::case};

    #[test]
    fn a_part_counts_its_own_cases_and_clusters() {
        let mut cases = [case(0, "a"), case(1, "a"), case(2, "b")];
        cases[0].split = Some(Split::HeldOut);
        for at in [0, 1] {
            cases[at].segment.insert("locale".to_owned(), "de".to_owned());
        }
        let count = |measured, passes| Count { measured, passes };
        let counts = [count(2, 1), count(1, 1), count(2, 0)];
        let held_out = splits(&counts, &cases, None);
        assert_eq!(held_out.len(), 1, "a case without a split is in none");
        assert_eq!((held_out[0].key.as_str(), held_out[0].cases, held_out[0].graded), ("split", 1, 2));
        let german = &segments(&counts, &cases, None)[0];
        assert_eq!((german.key.as_str(), german.value.as_str()), ("locale", "de"));
        assert_eq!((german.cases, german.clusters, german.graded), (2, 1, 3));
        assert_eq!(german.pass_rate.as_ref().unwrap().point, 0.75);
    }
}
