//! What an application's retrieval was worth, apart from its answer.
//!
//! A case labels its `expected.sources` (ids of documents or passages) and perhaps `expected.facts`
//! (texts that those sources hold). Cases without sources say nothing about retrieval.

use std::collections::HashSet;

use serde_json::Value;

use super::{expected, grounded::comparable, parameters::texts_of};
use crate::{
    domain::{Case, RetrievalScore, Retrieved},
    stats::{Query, retrieval_scores},
};

/// What `retrieved` was worth for `case` at a cut-off of `k`; `None` for a case without sources.
///
/// *hit*: one of the sources is among the first k distinct documents. *recall*: the share of the
/// sources that are. *fact recall*: the share of the labelled facts that stand, whatever their case
/// and spacing, in one of the first k distinct passages that is of a labelled source. `k` is at
/// least 1.
pub fn retrieval_score(case: &Case, retrieved: &[Retrieved], k: u32) -> Option<RetrievalScore> {
    let sources = expected::texts(case, "sources").ok()??;
    let cut = k.max(1) as usize;
    // A source that is the id of a passage is found by that passage, not by its document.
    let label = |passage: &'_ Retrieved| match &passage.chunk {
        Some(chunk) if sources.contains(chunk) => chunk.clone(),
        _ => passage.doc.clone(),
    };
    let ids: Vec<String> = retrieved.iter().map(label).collect();
    let relevant: Vec<(String, f64)> = sources.iter().map(|source| (source.clone(), 1.0)).collect();
    let query = Query { retrieved: &ids, relevant: &relevant };
    let scores = retrieval_scores(&[query], cut).ok()?.pop()?.ok()?;
    Some(RetrievalScore {
        k,
        hit: scores.hit > 0.0,
        recall: scores.recall,
        fact_recall: fact_recall(case, &sources, retrieved, cut),
    })
}

fn fact_recall(case: &Case, sources: &[String], retrieved: &[Retrieved], k: usize) -> Option<f64> {
    let facts = facts(case)?;
    let mut seen = HashSet::new();
    let passages: Vec<String> = retrieved
        .iter()
        .filter(|passage| seen.insert((&passage.doc, &passage.chunk, &passage.text)))
        .take(k)
        .filter(|passage| sources.iter().any(|source| passage.is_named(source)))
        .map(|passage| comparable(&passage.text))
        .collect();
    let is_found = |fact: &&String| {
        let fact = comparable(fact);
        passages.iter().any(|passage| passage.contains(fact.trim()))
    };
    #[expect(clippy::cast_precision_loss, reason = "a case has few facts")]
    Some(facts.iter().filter(is_found).count() as f64 / facts.len() as f64)
}

fn facts(case: &Case) -> Option<Vec<String>> {
    let facts = expected::field(case, "facts").filter(|facts| !matches!(facts, Value::Null))?;
    texts_of(facts).filter(|facts| !facts.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::grading::testing::case;

    fn passage(chunk: &str, text: &str) -> Retrieved {
        let doc = chunk.split('#').next().unwrap().to_owned();
        Retrieved { doc, chunk: Some(chunk.to_owned()), text: text.to_owned(), score: None }
    }

    #[test]
    fn hits_and_recall_count_distinct_documents_up_to_the_cut_off() {
        let case = case(json!({"sources": ["plans", "refunds"]}));
        let found = [
            passage("billing#1", ""),
            passage("billing#2", ""),
            passage("plans#1", ""),
            passage("refunds#0", ""),
        ];
        for (k, hit, recall) in [(1, false, 0.0), (2, true, 0.5), (3, true, 1.0), (5, true, 1.0)] {
            let score = retrieval_score(&case, &found, k).unwrap();
            assert_eq!((score.hit, score.recall), (hit, recall), "k = {k}");
            assert_eq!(score.fact_recall, None);
        }
        let nothing = retrieval_score(&case, &[], 5).unwrap();
        assert_eq!((nothing.hit, nothing.recall), (false, 0.0));
    }

    #[test]
    fn a_source_may_be_a_passage() {
        let case = case(json!({"sources": ["plans#2"]}));
        assert!(!retrieval_score(&case, &[passage("plans#1", "")], 5).unwrap().hit);
        assert!(retrieval_score(&case, &[passage("plans#2", "")], 5).unwrap().hit);
    }

    #[test]
    fn a_fact_counts_where_a_passage_of_a_source_holds_it() {
        let case = case(json!({"sources": ["plans"], "facts": ["25 hives", "4 seats"]}));
        let facts = |found: &[Retrieved]| retrieval_score(&case, found, 2).unwrap().fact_recall.unwrap();
        assert_eq!(facts(&[passage("plans#1", "Up to 25\nHives.")]), 0.5);
        assert_eq!(facts(&[passage("blog#1", "25 hives, 4 seats")]), 0.0);
        assert_eq!(facts(&[passage("plans#1", "25 hives"), passage("plans#2", "4 seats")]), 1.0);
        assert_eq!(facts(&[passage("a#1", ""), passage("b#1", ""), passage("plans#1", "25 hives")]), 0.0);
    }

    #[test]
    fn a_case_without_sources_says_nothing_about_retrieval() {
        for expected in [json!(null), json!("x"), json!({"facts": ["x"]}), json!({"sources": []})] {
            assert_eq!(retrieval_score(&case(expected), &[passage("a#1", "x")], 5), None);
        }
    }
}
