//! How well an application's retrieval did, beside and apart from its answers.

use serde::Serialize;

use super::rate::{CONFIDENCE, Rate, from_estimate, rate};
use crate::{
    evidence::{
        retrieval::{Retrieval, TwoByTwo},
        samples::cluster_labels,
    },
    stats::{self, Samples},
    store::RunCase,
};

/// The retrieval of one target.
#[derive(Clone, Debug, Serialize)]
pub struct RetrievalCard {
    /// The cut-off.
    pub k: u32,
    /// Cases that label a source and whose retrieval was told.
    pub cases: usize,
    /// Trials of those cases.
    pub trials: u64,
    /// Trials whose retrieval was told and whose case labels no source: nothing can be said of them.
    pub trials_without_sources: u64,
    /// Share of retrievals among whose first k documents one of the sources was, over case means.
    pub hit_rate: Option<Rate>,
    /// Mean share of a case's sources that were retrieved, over case means.
    pub recall: Option<Rate>,
    /// Mean share of a case's labelled facts that stand in a retrieved passage of a source, over the
    /// means of the cases that label facts.
    pub fact_recall: Option<Rate>,
    /// Retrieval against answer, by trials that have a verdict.
    pub two_by_two: TwoByTwo,
}

/// The retrieval of a part of the cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetrievalSlice {
    /// Cases of it that label a source and whose retrieval was told.
    pub cases: usize,
    /// Their hit rate.
    pub hit_rate: f64,
    /// Their recall.
    pub recall: f64,
}

impl RetrievalCard {
    /// The card of the whole target.
    pub(super) fn of(retrieval: &Retrieval, cases: &[RunCase]) -> Self {
        Self {
            k: retrieval.k,
            cases: retrieval.hits.iter().filter(|count| count.measured > 0).count(),
            trials: retrieval.hits.iter().map(|count| u64::from(count.measured)).sum(),
            trials_without_sources: retrieval.without_sources,
            hit_rate: rate(&retrieval.hits, cases, 0..cases.len()),
            recall: mean(&retrieval.recall, cases),
            fact_recall: mean(&retrieval.fact_recall, cases),
            two_by_two: retrieval.two_by_two,
        }
    }
}

impl RetrievalSlice {
    /// The part of the cases at `positions`; `None` when nothing is known of them.
    pub(super) fn of(retrieval: &Retrieval, positions: &[usize]) -> Option<Self> {
        let scored: Vec<(f64, f64)> = positions.iter().filter_map(|&at| retrieval.of_case(at)).collect();
        if scored.is_empty() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
        let n = scored.len() as f64;
        Some(Self {
            cases: scored.len(),
            hit_rate: scored.iter().map(|(hit_rate, _)| hit_rate).sum::<f64>() / n,
            recall: scored.iter().map(|(_, recall)| recall).sum::<f64>() / n,
        })
    }
}

/// The mean over case means, with its clustered interval within 0..=1.
fn mean(scores: &[Vec<f64>], cases: &[RunCase]) -> Option<Rate> {
    let scored: Vec<usize> = (0..scores.len()).filter(|&at| !scores[at].is_empty()).collect();
    let mut offsets = vec![0];
    let mut values = vec![];
    for &at in &scored {
        values.extend_from_slice(&scores[at]);
        offsets.push(values.len());
    }
    let samples = Samples::new(&values, &offsets).ok()?;
    let clusters = cluster_labels(scored.iter().map(|&at| &cases[at]));
    let mean = stats::mean_score(&samples, &clusters, CONFIDENCE).ok()?;
    let estimate = mean.estimate.ok()?;
    let interval = estimate.interval.map(|interval| interval.clipped(0.0, 1.0));
    Some(Rate {
        warnings: mean.warnings.iter().map(|warning| warning.code()).collect(),
        ..from_estimate(&stats::Estimate { interval, ..estimate })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{
        retrieval::tests::{told, with_hits},
        samples::tests::case,
    };

    #[test]
    fn a_card_rests_on_case_means_and_a_slice_on_what_is_known_of_its_cases() {
        // Case 0: found in one of two; case 1: never; case 2 labels no source.
        let retrieval = told(3, &with_hits());
        let cases = [case(0, "a"), case(1, "b"), case(2, "c")];
        let card = RetrievalCard::of(&retrieval, &cases);
        assert_eq!((card.k, card.cases, card.trials, card.trials_without_sources), (3, 2, 4, 1));
        assert_eq!((card.hit_rate.unwrap().point, card.recall.unwrap().point), (0.25, 0.25));
        assert!(card.fact_recall.is_none());
        let slice = RetrievalSlice::of(&retrieval, &[0, 2]).unwrap();
        assert_eq!((slice.cases, slice.hit_rate, slice.recall), (1, 0.5, 0.5));
        assert_eq!(RetrievalSlice::of(&retrieval, &[2]), None);
    }
}
