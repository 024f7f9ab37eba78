//! How well an application's retrieval did, beside and apart from its answers.

use serde::Serialize;

use super::rate::{CONFIDENCE, Rate, from_estimate, rate};
use crate::{
    domain::Verdict,
    evidence::target::{CaseCount, cluster_labels},
    stats::{self, Samples},
    store::{RetrievalRow, RunCase, Store, StoreError},
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

/// Whether it was the search or the answer: trials by hit or miss, and by pass or fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TwoByTwo {
    /// Found, and answered right.
    pub hit_pass: u64,
    /// Found, and answered wrong: the answer is to blame.
    pub hit_fail: u64,
    /// Not found, and answered right all the same.
    pub miss_pass: u64,
    /// Not found, and answered wrong: the search is to blame.
    pub miss_fail: u64,
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

/// What was stored of one target's retrieval, by case position.
#[derive(Debug, Default)]
pub(super) struct RetrievalMeasurements {
    k: u32,
    /// Hits and scored repeats.
    hits: Vec<CaseCount>,
    recall: Vec<Vec<f64>>,
    fact_recall: Vec<Vec<f64>>,
    without_sources: u64,
    two_by_two: TwoByTwo,
}

impl RetrievalMeasurements {
    /// Reads them from the store; `None` when the target told of no retrieval.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn read(
        store: &Store,
        run: i64,
        target: u32,
        cases: usize,
    ) -> Result<Option<Self>, StoreError> {
        let mut found: Option<Self> = None;
        store.for_each_retrieval::<StoreError>(run, target, |row| {
            found.get_or_insert_with(|| Self::of(cases)).note(&row);
            Ok(())
        })?;
        Ok(found)
    }

    fn of(cases: usize) -> Self {
        Self {
            hits: vec![CaseCount::default(); cases],
            recall: vec![vec![]; cases],
            fact_recall: vec![vec![]; cases],
            ..Self::default()
        }
    }

    fn note(&mut self, row: &RetrievalRow) {
        let Some(score) = row.score else {
            self.without_sources += 1;
            return;
        };
        let at = row.case as usize;
        self.k = score.k;
        self.hits[at].measured += 1;
        self.hits[at].passes += u32::from(score.hit);
        self.recall[at].push(score.recall);
        self.fact_recall[at].extend(score.fact_recall);
        let two = &mut self.two_by_two;
        match (score.hit, row.verdict) {
            (true, Some(Verdict::Pass)) => two.hit_pass += 1,
            (true, Some(Verdict::Fail)) => two.hit_fail += 1,
            (false, Some(Verdict::Pass)) => two.miss_pass += 1,
            (false, Some(Verdict::Fail)) => two.miss_fail += 1,
            (_, Some(Verdict::Unscored) | None) => {}
        }
    }

    /// The card of the whole target.
    pub(super) fn card(&self, cases: &[RunCase]) -> RetrievalCard {
        RetrievalCard {
            k: self.k,
            cases: self.hits.iter().filter(|count| count.measured > 0).count(),
            trials: self.hits.iter().map(|count| u64::from(count.measured)).sum(),
            trials_without_sources: self.without_sources,
            hit_rate: rate(&self.hits, cases, 0..cases.len()),
            recall: mean(&self.recall, cases),
            fact_recall: mean(&self.fact_recall, cases),
            two_by_two: self.two_by_two,
        }
    }

    /// The part of the cases at `positions`; `None` when nothing is known of them.
    pub(super) fn slice(&self, positions: &[usize]) -> Option<RetrievalSlice> {
        let scored: Vec<usize> = positions.iter().copied().filter(|&at| self.hits[at].measured > 0).collect();
        if scored.is_empty() {
            return None;
        }
        let hit = |&at: &usize| f64::from(self.hits[at].passes) / f64::from(self.hits[at].measured);
        let recall = |&at: &usize| self.recall[at].iter().sum::<f64>() / self.recall[at].len() as f64;
        #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
        let n = scored.len() as f64;
        Some(RetrievalSlice {
            cases: scored.len(),
            hit_rate: scored.iter().map(hit).sum::<f64>() / n,
            recall: scored.iter().map(recall).sum::<f64>() / n,
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
    use crate::domain::RetrievalScore;

    fn row(case: u32, hit: bool, recall: f64, verdict: Verdict) -> RetrievalRow {
        let score = Some(RetrievalScore { k: 3, hit, recall, fact_recall: None });
        RetrievalRow { case, repeat: 1, verdict: Some(verdict), score }
    }

    #[test]
    fn a_failure_says_whether_it_was_the_search_or_the_answer() {
        let mut measurements = RetrievalMeasurements::of(3);
        for row in [
            row(0, true, 1.0, Verdict::Pass),
            row(0, true, 0.5, Verdict::Fail),
            row(1, false, 0.0, Verdict::Fail),
            row(1, false, 0.0, Verdict::Unscored),
            RetrievalRow { case: 2, repeat: 1, verdict: Some(Verdict::Pass), score: None },
        ] {
            measurements.note(&row);
        }
        let two = TwoByTwo { hit_pass: 1, hit_fail: 1, miss_pass: 0, miss_fail: 1 };
        assert_eq!((measurements.two_by_two, measurements.without_sources), (two, 1));
        let slice = measurements.slice(&[0, 1, 2]).unwrap();
        assert_eq!((slice.cases, slice.hit_rate, slice.recall), (2, 0.5, 0.375));
        assert_eq!(measurements.slice(&[2]), None);
    }
}
