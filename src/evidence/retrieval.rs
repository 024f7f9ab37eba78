//! How well an application's retrieval did, case by case.

use serde::Serialize;

use super::case::Count;
use crate::{
    domain::{RunRow, TargetPos, Verdict},
    store::{RetrievalRow, Store, StoreError},
};

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

/// What was stored of one target's retrieval, by case position.
#[derive(Debug, Default)]
pub struct Retrieval {
    /// The cut-off.
    pub k: u32,
    /// Scored repeats of each case, and in how many a source was found.
    pub hits: Vec<Count>,
    /// The share of its sources that were found, repeat by repeat.
    pub recall: Vec<Vec<f64>>,
    /// The share of its facts that were found, for the repeats of cases that label facts.
    pub fact_recall: Vec<Vec<f64>>,
    /// Trials whose case labels no source.
    pub without_sources: u64,
    /// Retrieval against answer.
    pub two_by_two: TwoByTwo,
}

impl Retrieval {
    /// Reads them from the store; `None` when the target told of no retrieval.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(
        store: &Store,
        run: RunRow,
        target: TargetPos,
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
            hits: vec![Count::default(); cases],
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
        let at = row.case.index();
        self.k = score.k;
        self.hits[at].add(score.hit);
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

    /// The hit rate and the mean recall of the case at `position`; `None` when nothing is known of it.
    pub fn of_case(&self, position: usize) -> Option<(f64, f64)> {
        let recall = &self.recall[position];
        #[expect(clippy::cast_precision_loss, reason = "repeats are far below 2^52")]
        let mean = || recall.iter().sum::<f64>() / recall.len() as f64;
        self.hits[position].share().map(|hit_rate| (hit_rate, mean()))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::{CasePos, Repeat, RetrievalScore};

    fn row(case: u32, hit: bool, recall: f64, verdict: Verdict) -> RetrievalRow {
        let score = Some(RetrievalScore { k: 3, hit, recall, fact_recall: None });
        RetrievalRow { case: CasePos(case), repeat: Repeat::FIRST, verdict: Some(verdict), score }
    }

    /// Two cases with sources, each told of twice, and one without.
    pub(in crate::evidence) fn with_hits() -> Vec<RetrievalRow> {
        vec![
            row(0, true, 1.0, Verdict::Pass),
            row(0, false, 0.0, Verdict::Fail),
            row(1, false, 0.0, Verdict::Fail),
            row(1, false, 0.0, Verdict::Unscored),
            RetrievalRow {
                case: CasePos(2),
                repeat: Repeat::FIRST,
                verdict: Some(Verdict::Pass),
                score: None,
            },
        ]
    }

    pub(in crate::evidence) fn told(cases: usize, rows: &[RetrievalRow]) -> Retrieval {
        let mut retrieval = Retrieval::of(cases);
        rows.iter().for_each(|row| retrieval.note(row));
        retrieval
    }

    #[test]
    fn a_failure_says_whether_it_was_the_search_or_the_answer() {
        let mut rows = with_hits();
        rows[1] = row(0, true, 0.5, Verdict::Fail);
        let retrieval = told(3, &rows);
        let two = TwoByTwo { hit_pass: 1, hit_fail: 1, miss_pass: 0, miss_fail: 1 };
        assert_eq!((retrieval.two_by_two, retrieval.without_sources), (two, 1));
        assert_eq!(retrieval.of_case(0), Some((1.0, 0.75)));
        assert_eq!((retrieval.of_case(1), retrieval.of_case(2)), (Some((0.0, 0.0)), None));
    }
}
