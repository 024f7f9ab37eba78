//! One side of a comparison: a target of a run, case by case.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{CaseId, Cost, Fingerprint, PassIf, RunRow, Split, TargetPos};

/// How often something was measured and passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Repeats measured.
    pub measured: u32,
    /// Those that passed.
    pub passes: u32,
}

impl Count {
    /// The share that passed; `None` when nothing was measured.
    pub fn share(self) -> Option<f64> {
        (self.measured > 0).then(|| f64::from(self.passes) / f64::from(self.measured))
    }
}

/// One case on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct SideCase {
    /// Its id.
    pub id: CaseId,
    /// Hash over all that can change its result.
    pub fingerprint: Fingerprint,
    /// Which part of the golden set it belongs to.
    pub split: Option<Split>,
    /// The cluster it counts in: its own id where none is named.
    pub cluster: String,
    /// Its weight.
    pub weight: f64,
    /// Named slices it belongs to.
    pub segment: BTreeMap<String, String>,
    /// From its repeats to its verdict.
    pub pass_if: PassIf,
    /// Repeats planned.
    pub planned: u32,
    /// Repeats graded, and how many passed.
    pub count: Count,
    /// Repeats scored by hard graders, and how many passed all of those.
    pub hard: Count,
    /// Mean cost of an answer, in dollars; `None` while any of its answers has no known cost.
    pub cost_usd: Option<f64>,
    /// Mean tokens of an answer's input; `None` when they are not known.
    pub input_tokens: Option<f64>,
    /// Mean tokens of an answer's output; `None` when they are not known.
    pub output_tokens: Option<f64>,
    /// Mean latency of an answer, in milliseconds.
    pub latency_ms: Option<f64>,
    /// What its application retrieved was worth; `None` where nothing was told or no source is labelled.
    pub retrieval: Option<SideRetrieval>,
}

/// What an application retrieved for a case, as means over its repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideRetrieval {
    /// The share of repeats in which a source was among what was retrieved.
    pub hit_rate: f64,
    /// The share of the sources that were retrieved.
    pub recall: f64,
}

impl SideCase {
    /// Whether it passes by its `pass_if`; `None` when nothing was measured.
    pub fn verdict(&self) -> Option<bool> {
        self.pass_if.verdict(self.count.passes, self.count.measured)
    }

    /// Whether a hard grader failed in any of its repeats.
    pub fn hard_failure(&self) -> bool {
        self.hard.passes < self.hard.measured
    }

    /// Planned repeats that were not measured.
    pub fn missing(&self) -> u32 {
        self.planned.saturating_sub(self.count.measured)
    }
}

/// One grader's scores on one side.
#[derive(Clone, Debug, PartialEq)]
pub struct SideGrader {
    /// The name its scores are reported under.
    pub name: String,
    /// Whether its failures are hard ones.
    pub hard: bool,
    /// Which grader it is, such as `words`.
    pub kind: String,
    /// The version of its rules.
    pub version: String,
    /// Its scores of each case, in the order of [`Side::cases`]; empty when it scored none.
    pub counts: Vec<Count>,
}

/// Nearest-rank percentiles of the trials' latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// The median, in milliseconds; `None` without a value.
    pub p50: Option<f64>,
    /// The 95th percentile, in milliseconds.
    pub p95: Option<f64>,
    /// Lower end of its interval; `None` when the sample cannot bound it.
    pub p95_low: Option<f64>,
    /// Upper end of its interval; `None` when the sample cannot bound it.
    pub p95_high: Option<f64>,
    /// What it would be had every trial without a latency been faster than all others.
    pub p95_if_missing_fast: Option<f64>,
    /// What it would be had every trial without a latency been slower; `None` is beyond all bounds.
    pub p95_if_missing_slow: Option<f64>,
    /// Values they rest on.
    pub n: usize,
}

/// What the trials of a side come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideTotals {
    /// Trials planned.
    pub planned: u64,
    /// Trials graded.
    pub graded: u64,
    /// Trials not measured, by reason; only reasons that occurred.
    pub not_measured: BTreeMap<String, u64>,
    /// Known cost of all answers, in exact dollars; `None` when none is known.
    pub cost_usd: Option<Cost>,
    /// Answers whose cost is not known: the cost is a lower bound while this is above 0.
    pub cost_unknown: u64,
    /// Tokens of all inputs.
    pub input_tokens: u64,
    /// Tokens of them that were read from a cache.
    pub cached_tokens: u64,
    /// Tokens of all outputs.
    pub output_tokens: u64,
    /// Latency of the trials.
    pub latency_ms: Percentiles,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What it is called: `run:target`, or `run` where that has one target, or `baseline`.
    pub label: String,
    /// The run.
    pub run: String,
    /// The target of that run.
    pub target: String,
    /// The model asked.
    pub model: String,
    /// The run's row and the target's position in the store; `None` for a committed baseline.
    pub stored: Option<(RunRow, TargetPos)>,
    /// Fingerprint of the whole golden set.
    pub golden_fingerprint: Fingerprint,
    /// The golden set's name.
    pub golden_name: String,
    /// The gates as they stood before the first request.
    pub gates: Option<serde_json::Value>,
    /// Its cases, in golden-set order.
    pub cases: Vec<SideCase>,
    /// Its graders.
    pub graders: Vec<SideGrader>,
    /// What its trials come to.
    pub totals: SideTotals,
}
