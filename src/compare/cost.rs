//! What the answers of both sides cost, and what was retrieved for them, paired by case.

use super::{
    comparison::{Amount, CostComparison, Quantity, RetrievalComparison},
    difference::{CONFIDENCE, cluster_labels},
    pairing::Pair,
    side::{Side, SideCase, SideRetrieval},
};
use crate::stats::{self, Clusters, Samples};

/// Cost and tokens of both sides over the pairs.
pub(super) fn cost(a: &Side, b: &Side, matched: &[Pair]) -> CostComparison {
    let priced = Values::of(a, b, matched, |case| case.cost_usd);
    let share = |side: &Side| {
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more than a float")]
        let share = side.totals.cached_tokens as f64 / side.totals.input_tokens as f64;
        (side.totals.input_tokens > 0).then_some(share)
    };
    CostComparison {
        per_case_usd: priced.quantity(),
        increase: priced.increase(),
        input_tokens: Values::of(a, b, matched, |case| case.input_tokens).quantity(),
        output_tokens: Values::of(a, b, matched, |case| case.output_tokens).quantity(),
        cached_share: [share(a), share(b)],
        total_usd: [a.totals.cost_usd, b.totals.cost_usd],
        unknown: matched.len() - priced.a.len(),
    }
}

/// What was retrieved on both sides, over the pairs that have it on both.
pub(super) fn retrieval(a: &Side, b: &Side, matched: &[Pair]) -> Option<RetrievalComparison> {
    let of = |value: fn(SideRetrieval) -> f64| {
        Values::of(a, b, matched, |case| case.retrieval.map(value)).quantity()
    };
    let hit_rate = of(|retrieval| retrieval.hit_rate);
    (hit_rate.n > 0).then(|| RetrievalComparison { hit_rate, recall: of(|retrieval| retrieval.recall) })
}

/// One value a case on both sides; cases that lack one on a side are left out.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) clusters: Vec<u32>,
}

impl Values {
    pub(super) fn of(a: &Side, b: &Side, matched: &[Pair], value: impl Fn(&SideCase) -> Option<f64>) -> Self {
        let labels = cluster_labels(b, matched);
        let mut values = Self::default();
        for (pair, label) in matched.iter().zip(labels) {
            if let (Some(of_a), Some(of_b)) = (value(&a.cases[pair.a]), value(&b.cases[pair.b])) {
                values.a.push(of_a);
                values.b.push(of_b);
                values.clusters.push(label);
            }
        }
        values
    }

    fn quantity(&self) -> Quantity {
        let (Ok(a), Ok(b)) = (Samples::one_per_case(&self.a), Samples::one_per_case(&self.b)) else {
            return Quantity::default();
        };
        let clusters = Clusters::from_labels(&self.clusters);
        let Ok(paired) = stats::paired_summary(&b, &a, &clusters) else { return Quantity::default() };
        let interval = paired.clustered.cr2_ik_interval(CONFIDENCE).ok().and_then(Result::ok);
        Quantity {
            baseline: paired.mean_baseline.ok(),
            candidate: paired.mean_candidate.ok(),
            difference: Amount {
                point: paired.diff.ok(),
                low: interval.map(|interval| interval.low),
                high: interval.map(|interval| interval.high),
            },
            n: self.a.len(),
            method: "clustered_t",
        }
    }

    fn increase(&self) -> Amount {
        let clusters = Clusters::from_labels(&self.clusters);
        let Ok(Ok(ratio)) = stats::ratio(&self.b, &self.a, &clusters, CONFIDENCE) else {
            return Amount::default();
        };
        let less_one = |value: f64| value - 1.0;
        Amount {
            point: Some(ratio.ratio - 1.0),
            low: ratio.printed.low().map(less_one),
            high: ratio.printed.high().map(less_one),
        }
    }
}
