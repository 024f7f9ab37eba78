//! Retrieval: whether the relevant documents were found, and how far up.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

use super::{
    Clusters, Estimable, Interval, NotEstimable, Samples, StatsError, error,
    means::{clustered, effective_n},
};

/// What one query retrieved, best first, and which documents are relevant to it.
#[derive(Clone, Debug)]
pub struct Query<'a, Id> {
    /// Retrieved documents, best first; later duplicates are ignored.
    pub retrieved: &'a [Id],
    /// Documents with their grades; relevant are those with a grade above 0.
    pub relevant: &'a [(Id, f64)],
}

/// The metrics of one query, all in [0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryScores {
    /// 1 if any relevant document is among the first k.
    pub hit: f64,
    /// Share of the relevant documents that are among the first k.
    pub recall: f64,
    /// 1/rank of the first relevant document among the first k, otherwise 0.
    pub reciprocal_rank: f64,
    /// Discounted gain over the best possible one, with gain = grade.
    pub ndcg: f64,
    /// The same with gain = 2^grade − 1.
    pub ndcg_exponential: f64,
}

/// The largest grade accepted: 2^grade must stay far from overflow.
const LARGEST_GRADE: f64 = 100.0;

/// The metrics of each query at a cut-off of `k` distinct documents.
///
/// First k distinct retrieved documents. hit = any relevant; recall = relevant found/number relevant;
/// reciprocal rank = 1/rank of the first relevant; DCG = Σ gain/log₂(rank+1), nDCG = DCG over the DCG
/// of the best k grades in order. A query that retrieved nothing scores 0 throughout. A query with no
/// relevant document is [`NotEstimable::ZeroDenominator`]: leave it out of every mean and count it.
///
/// The mean over queries with its standard error is the mean of any per-case score; hit rate is a pass
/// rate; two retrievers are compared as pairs. Fact-based labels (the share of expected facts found)
/// enter as recall.
///
/// # Errors
/// `k` = 0; a grade outside [0, 100] (index: its query).
///
/// Source: Järvelin & Kekäläinen (2002), ACM Trans. Inf. Syst. 20(4), for nDCG; Burges et al. (2005),
/// ICML, for the exponential gain; Voorhees (1999), TREC-8, for the reciprocal rank.
pub fn retrieval_scores<Id: Eq + Hash>(
    queries: &[Query<'_, Id>],
    k: usize,
) -> Result<Vec<Estimable<QueryScores>>, StatsError> {
    error::check_positive("k", k as f64)?;
    let graded = |index: usize, query: &Query<'_, Id>| match query
        .relevant
        .iter()
        .find(|(_, grade)| !(0.0..=LARGEST_GRADE).contains(grade))
    {
        None => Ok(query.scores(k)),
        Some(&(_, value)) => Err(StatsError::OutOfRange {
            argument: "grades of queries",
            index,
            value,
            low: 0.0,
            high: LARGEST_GRADE,
        }),
    };
    queries.iter().enumerate().map(|(index, query)| graded(index, query)).collect()
}

/// The means of the metrics over the queries that have a relevant document.
#[derive(Clone, Debug, PartialEq)]
pub struct Retrieval {
    /// Queries with a relevant document.
    pub n_scored: usize,
    /// Queries without one, left out of every metric.
    pub n_skipped: usize,
    /// Share of the queries that found a relevant document.
    pub hit_rate: MetricMean,
    /// Its interval: Wilson, on the effective number of queries if they are clustered.
    pub hit_rate_interval: Estimable<Interval>,
    /// Mean recall.
    pub recall: MetricMean,
    /// Mean reciprocal rank.
    pub reciprocal_rank: MetricMean,
    /// Mean nDCG with gain = grade.
    pub ndcg: MetricMean,
    /// Mean nDCG with gain = 2^grade − 1.
    pub ndcg_exponential: MetricMean,
}

/// A metric over the scored queries.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricMean {
    /// Mean over the queries; [`NotEstimable::NoData`] without a scored query.
    pub mean: Estimable<f64>,
    /// CR2 standard error: that of independent queries where every cluster is one query.
    pub se: Estimable<f64>,
    /// Its Imbens-Kolesár degrees of freedom.
    pub df: Estimable<f64>,
    /// The metric of each scored query, in their order: pairs for a comparison of two retrievers.
    pub per_query: Vec<f64>,
}

/// Means and clustered standard errors of [`retrieval_scores`] over the queries.
///
/// `clusters` says which queries are not independent (the same conversation or document). Queries
/// without a relevant document are skipped and counted. Hit rate carries the default interval of a
/// pass rate, at `confidence`.
///
/// # Errors
/// As [`retrieval_scores`]; clusters of another length; a `confidence` outside (0, 1).
pub fn retrieval<Id: Eq + Hash>(
    queries: &[Query<'_, Id>],
    clusters: &Clusters,
    k: usize,
    confidence: f64,
) -> Result<Retrieval, StatsError> {
    clusters.check_covers("queries", queries.len())?;
    let scores = retrieval_scores(queries, k)?;
    let scored: Vec<usize> = (0..queries.len()).filter(|&query| scores[query].is_ok()).collect();
    let clusters = clusters.restricted_to(&scored);
    let scores: Vec<QueryScores> = scores.into_iter().flatten().collect();
    let metric = |of: fn(&QueryScores) -> f64| {
        let per_query: Vec<f64> = scores.iter().map(of).collect();
        let mean = clustered::clustered_mean(&per_query, &clusters)?;
        Ok(MetricMean { mean: mean.mean, se: mean.se_cr2, df: mean.df_ik, per_query })
    };
    let hit_rate = metric(|scores| scores.hit)?;
    let hits = Samples::one_per_case(&hit_rate.per_query)?;
    let hit_rate_interval =
        effective_n::wilson_effective_n(&hits, &clusters, confidence)?.map(|wilson| wilson.interval);
    Ok(Retrieval {
        n_scored: scores.len(),
        n_skipped: queries.len() - scores.len(),
        hit_rate,
        hit_rate_interval,
        recall: metric(|scores| scores.recall)?,
        reciprocal_rank: metric(|scores| scores.reciprocal_rank)?,
        ndcg: metric(|scores| scores.ndcg)?,
        ndcg_exponential: metric(|scores| scores.ndcg_exponential)?,
    })
}

impl<Id: Eq + Hash> Query<'_, Id> {
    fn scores(&self, k: usize) -> Estimable<QueryScores> {
        let grades: HashMap<&Id, f64> = self.relevant.iter().map(|(id, grade)| (id, *grade)).collect();
        let mut ideal: Vec<f64> = grades.values().copied().filter(|&grade| grade > 0.0).collect();
        if ideal.is_empty() {
            return Err(NotEstimable::ZeroDenominator);
        }
        let n_relevant = ideal.len() as f64;
        ideal.sort_unstable_by(|a, b| b.total_cmp(a));
        ideal.truncate(k);
        let mut seen = HashSet::new();
        let found: Vec<f64> = self
            .retrieved
            .iter()
            .filter(|id| seen.insert(*id))
            .take(k)
            .map(|id| grades.get(id).copied().unwrap_or(0.0))
            .collect();
        let first = found.iter().position(|&grade| grade > 0.0);
        let n_found = found.iter().filter(|&&grade| grade > 0.0).count() as f64;
        let exponential = |grade: f64| grade.exp2() - 1.0;
        Ok(QueryScores {
            hit: f64::from(u8::from(first.is_some())),
            recall: n_found / n_relevant,
            reciprocal_rank: first.map_or(0.0, |place| 1.0 / (place + 1) as f64),
            ndcg: discounted(&found, |grade| grade) / discounted(&ideal, |grade| grade),
            ndcg_exponential: discounted(&found, exponential) / discounted(&ideal, exponential),
        })
    }
}

/// Σ gain/log₂(rank + 1), ranks from 1.
fn discounted(grades: &[f64], gain: impl Fn(f64) -> f64) -> f64 {
    grades.iter().enumerate().map(|(place, &grade)| gain(grade) / ((place + 2) as f64).log2()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(retrieved: &[&str], relevant: &[(&str, f64)], k: usize) -> QueryScores {
        retrieval_scores(&[Query { retrieved, relevant }], k).unwrap()[0].unwrap()
    }

    /// Eleven queries at three documents: one misses, one finds one of its two documents.
    #[test]
    fn ten_hits_in_eleven_are_91_percent_with_a_recall_of_86() {
        let one = [("a", 1.0)];
        let two = [("a", 1.0), ("b", 1.0)];
        let found = Query { retrieved: &["a", "x", "y"], relevant: &one };
        let missed = Query { retrieved: &["x", "y", "z"], relevant: &one };
        let half = Query { retrieved: &["a", "x", "y"], relevant: &two };
        let nothing_relevant = Query { retrieved: &["x"], relevant: &[] };
        let mut queries = vec![found; 9];
        queries.extend([missed, half, nothing_relevant]);
        let scores = retrieval_scores(&queries, 3).unwrap();
        assert_eq!(scores[11], Err(NotEstimable::ZeroDenominator));
        let scored: Vec<QueryScores> = scores.into_iter().flatten().collect();
        let total = |metric: fn(&QueryScores) -> f64| scored.iter().map(metric).sum::<f64>();
        assert_eq!(scored.len(), 11);
        assert_eq!(total(|scores| scores.hit), 10.0);
        assert_eq!(total(|scores| scores.recall), 9.5);
    }

    #[test]
    fn duplicates_are_removed_before_the_cut() {
        let scores = of(&["x", "x", "r", "r"], &[("r", 2.0)], 2);
        assert_eq!((scores.hit, scores.reciprocal_rank), (1.0, 0.5));
    }

    #[test]
    fn nothing_retrieved_scores_zero() {
        let scores = of(&[], &[("r", 1.0)], 3);
        assert_eq!((scores.hit, scores.recall, scores.ndcg), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_grade_of_zero_is_not_relevant() {
        let query = Query { retrieved: &["a"], relevant: &[("a", 0.0)] };
        assert_eq!(retrieval_scores(&[query], 1).unwrap()[0], Err(NotEstimable::ZeroDenominator));
    }

    #[test]
    fn wrong_grades_and_a_cut_off_of_zero_are_refused() {
        let query = |grade| [("a", grade)];
        for grade in [-1.0, f64::NAN, 1e9] {
            let relevant = query(grade);
            let queries = [Query { retrieved: &["a"], relevant: &relevant }];
            assert!(retrieval_scores(&queries, 1).is_err(), "{grade}");
        }
        assert!(retrieval_scores::<&str>(&[], 0).is_err());
        assert_eq!(retrieval_scores::<&str>(&[], 3), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn every_metric_lies_between_zero_and_one_and_a_perfect_order_is_one(
            retrieved in prop::collection::vec(0..20u32, 0..30),
            grades in prop::collection::vec(1..4u32, 1..10),
            k in 1..12usize,
        ) {
            let relevant: Vec<(u32, f64)> = (0..).zip(grades.iter().map(|&g| f64::from(g))).collect();
            let query = Query { retrieved: &retrieved, relevant: &relevant };
            let scores = retrieval_scores(&[query], k).unwrap()[0].unwrap();
            for value in [scores.hit, scores.recall, scores.reciprocal_rank, scores.ndcg,
                scores.ndcg_exponential] {
                prop_assert!((0.0..=1.0 + 1e-12).contains(&value));
            }
            let mut best = relevant.clone();
            best.sort_by(|a, b| b.1.total_cmp(&a.1));
            let best: Vec<u32> = best.into_iter().map(|(id, _)| id).collect();
            let query = Query { retrieved: &best, relevant: &relevant };
            let scores = retrieval_scores(&[query], k).unwrap()[0].unwrap();
            prop_assert!((scores.ndcg - 1.0).abs() < 1e-12);
        }
    }
}
