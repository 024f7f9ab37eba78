//! One side of a comparison: a target of a run, case by case. A view of its evidence.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

pub use crate::evidence::Count;
use crate::{
    domain::{CaseId, Cost, Fingerprint, PassIf, RunRow, Split, TargetPos, UnixMillis},
    evidence::{CaseEvidence, Evidence, GraderEvidence, Graders, Retrieval, Times},
    stats::{Clusters, Level, quantiles},
    store::{RunCase, RunDetail, Store, StoreError},
};

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
    /// When the run began; `None` for a committed baseline.
    pub created_at: Option<UnixMillis>,
    /// Its cases, in golden-set order.
    pub cases: Vec<SideCase>,
    /// Its graders.
    pub graders: Vec<SideGrader>,
    /// What its trials come to.
    pub totals: SideTotals,
}

impl Side {
    /// Target number `target` of a run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, run: &RunDetail, target: TargetPos) -> Result<Self, StoreError> {
        let id = run.row.id;
        let mut planned = vec![];
        store.for_each_case::<StoreError>(id, |case| {
            planned.push(case);
            Ok(())
        })?;
        let graders = Graders::read(store, id, target, planned.len())?;
        let evidence = Evidence::read_lean(store, id, target, planned.iter().map(|case| case.repeats))?;
        let retrieval = Retrieval::read(store, id, target, planned.len())?;
        let cases: Vec<SideCase> = planned
            .into_iter()
            .enumerate()
            .map(|(at, case)| {
                let retrieval = retrieval.as_ref().and_then(|retrieval| retrieval.of_case(at));
                side_case(case, &evidence.cases[at], graders.hard[at], retrieval)
            })
            .collect();
        let own = &run.targets[target.index()];
        let label = match run.targets.len() {
            1 => run.row.name.to_string(),
            _ => format!("{}:{}", run.row.name, own.name),
        };
        Ok(Self {
            label,
            run: run.row.name.to_string(),
            target: own.name.to_string(),
            model: own.model.to_string(),
            stored: Some((id, target)),
            golden_fingerprint: run.row.golden_fingerprint,
            golden_name: run.row.golden_name.clone(),
            gates: run.gates.clone(),
            created_at: Some(run.row.created_at),
            totals: totals(&evidence, &cases),
            cases,
            graders: graders.each.into_iter().map(side_grader).collect(),
        })
    }
}

fn side_case(case: RunCase, own: &CaseEvidence, hard: Count, retrieval: Option<(f64, f64)>) -> SideCase {
    let tokens = own.mean_tokens();
    SideCase {
        id: case.id,
        fingerprint: case.fingerprint,
        split: case.split,
        cluster: case.cluster,
        weight: case.weight,
        segment: case.segment,
        pass_if: case.pass_if,
        planned: case.repeats,
        count: own.count,
        hard,
        cost_usd: own.mean_cost(),
        input_tokens: tokens.map(|(input, _)| input),
        output_tokens: tokens.map(|(_, output)| output),
        latency_ms: own.mean_latency(),
        retrieval: retrieval.map(|(hit_rate, recall)| SideRetrieval { hit_rate, recall }),
    }
}

fn side_grader(said: GraderEvidence) -> SideGrader {
    SideGrader {
        name: said.grader.name.to_string(),
        hard: said.grader.hard,
        kind: said.grader.kind.unwrap_or_default(),
        version: said.grader.version.unwrap_or_default(),
        counts: said.cases,
    }
}

fn totals(evidence: &Evidence, cases: &[SideCase]) -> SideTotals {
    let reasons = &evidence.not_measured;
    SideTotals {
        planned: evidence.planned(),
        graded: evidence.measured(),
        not_measured: reasons.iter().map(|(&reason, &count)| (reason.to_owned(), count)).collect(),
        cost_usd: (evidence.priced > 0).then_some(evidence.answers_cost),
        cost_unknown: evidence.unpriced,
        input_tokens: evidence.usage.input_total(),
        cached_tokens: evidence.usage.cache_read,
        output_tokens: evidence.usage.output,
        latency_ms: percentiles(&evidence.latency, cases, evidence.planned()),
    }
}

fn percentiles(times: &Times, cases: &[SideCase], planned: u64) -> Percentiles {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut label_of = |cluster| {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(cluster).or_insert(next)
    };
    let of_cases: Vec<u32> = cases.iter().map(|case| label_of(case.cluster.as_str())).collect();
    let labels: Vec<u32> = times.case.iter().map(|&case| of_cases[case.index()]).collect();
    let clusters = Clusters::from_labels(&labels);
    let estimated = quantiles(&times.ms, &clusters, &[Level::P50, Level::P95], 0.95);
    let Ok(Ok(found)) = estimated else { return Percentiles::default() };
    let (p95_low, p95_high, _) = found[1].limits(!clusters.all_single());
    let missing = usize::try_from(planned).unwrap_or(usize::MAX).saturating_sub(times.ms.len());
    let n = times.ms.len();
    let mut sorted = times.ms.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    // The rank of the 95th percentile had every missing trial been the slowest, or the fastest.
    let rank = Level::P95.nearest_rank(n + missing);
    Percentiles {
        p50: Some(found[0].nearest_rank),
        p95: Some(found[1].nearest_rank),
        p95_low,
        p95_high,
        p95_if_missing_fast: Some(
            rank.checked_sub(missing + 1).and_then(|at| sorted.get(at)).copied().unwrap_or(0.0),
        ),
        p95_if_missing_slow: sorted.get(rank - 1).copied(),
        n,
    }
}
