//! A run's scorecard as data: what `--json` prints, and what the screen is made from.

mod caching;
mod rate;
mod retrieval;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use self::{
    caching::CacheCard,
    rate::Rate,
    retrieval::{RetrievalCard, RetrievalSlice, TwoByTwo},
};
use self::{
    rate::{CONFIDENCE, rate, weighted_rate},
    retrieval::RetrievalMeasurements,
};
use super::target::{CaseCount, GraderMeasurements, Measurements, cluster_labels, grader_measurements};
use crate::{
    domain::{Cost, QueueRecord, Usage},
    stats::{self, Clusters, Level},
    store::{GraderRow, RunCase, RunDetail, Store, StoreError},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// A run's scorecard.
#[derive(Clone, Debug, Serialize)]
pub struct Scorecard {
    /// The version of this shape.
    pub schema_version: u32,
    /// Which run.
    pub run: RunInfo,
    /// One card a target, in the experiment's order.
    pub targets: Vec<TargetCard>,
    /// How the queues ran in the last session that ended.
    pub queues: Vec<QueueRecord>,
}

/// Which run a scorecard is of.
#[derive(Clone, Debug, Serialize)]
pub struct RunInfo {
    /// Its unique name, such as `nightly-12`.
    pub id: String,
    /// Its experiment's name.
    pub name: String,
    /// Where it stands.
    pub status: &'static str,
    /// Why it stopped early, if it did.
    pub stop_reason: Option<String>,
    /// The golden set's fingerprint.
    pub golden_fingerprint: String,
    /// The golden set's name.
    pub golden_name: String,
    /// The seed of all its draws, in full.
    pub seed: u64,
    /// From its beginning to its last end, in seconds; `None` while it runs.
    pub wall_s: Option<f64>,
}

/// One target's card.
#[derive(Clone, Debug, Serialize)]
pub struct TargetCard {
    /// Its name.
    pub name: String,
    /// Its account.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// Cases planned.
    pub cases: usize,
    /// Clusters they form.
    pub clusters: usize,
    /// Trials planned.
    pub trials: u64,
    /// Trials graded.
    pub graded: u64,
    /// Trials not measured, by reason; only reasons that occurred.
    pub not_measured: BTreeMap<&'static str, u64>,
    /// What failed trials failed of.
    pub failures: BTreeMap<&'static str, u64>,
    /// The pass rate: the mean over cases of each case's share of passes.
    pub pass_rate: Option<Rate>,
    /// The pass rate had every trial that was not measured been wrong, or right.
    pub pass_rate_bounds: Option<[f64; 2]>,
    /// The weighted pass rate, where a case has a weight other than 1.
    pub weighted_pass_rate: Option<Rate>,
    /// Cases that pass by their own `pass_if`, of those measured.
    pub cases_passed: usize,
    /// Cases measured at all.
    pub cases_measured: usize,
    /// Cases neither always nor never right, of those measured more than once.
    pub flaky_cases: usize,
    /// Tokens of all answers.
    pub usage: Usage,
    /// Answers whose tokens are not known.
    pub usage_unknown: u64,
    /// Cost of all answers; `None` when none has a known cost. A lower bound while
    /// `cost_unknown_trials` is above 0.
    pub cost_usd: Option<Cost>,
    /// Answers whose cost is not known.
    pub cost_unknown_trials: u64,
    /// Answers whose cost rests on an assumption (a cache write of unknown lifetime).
    pub cost_approximate_trials: u64,
    /// Answers that came from an earlier run: they cost and took nothing now.
    pub reused_trials: u64,
    /// What those cost when they were asked, as far as it is known.
    pub reused_original_cost_usd: Cost,
    /// Failed attempts that may have been billed at a cost nobody told.
    pub attempts_perhaps_billed: u64,
    /// The successful attempts' own times.
    pub latency_ms: Percentiles,
    /// Times to first token, of streamed answers.
    pub first_token_ms: Percentiles,
    /// Waits for a place in the queue, apart from the latency.
    pub queue_wait_ms: Percentiles,
    /// Prompt caching; `None` when nothing went through a cache.
    pub cache: Option<CacheCard>,
    /// Requests made, failed ones included.
    pub attempts: u64,
    /// Requests that failed.
    pub failed_attempts: u64,
    /// How well an application's retrieval did; absent where none was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalCard>,
    /// The same numbers per split.
    pub splits: Vec<Slice>,
    /// The same numbers per segment.
    pub segments: Vec<Slice>,
    /// The same numbers per grader.
    pub graders: Vec<GraderCard>,
}

/// Nearest-rank percentiles; `None` without a value.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: Option<f64>,
    /// Interval of the median; an end that the sample cannot bound is `None`.
    pub p50_interval: [Option<f64>; 2],
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// Interval of the 95th percentile.
    pub p95_interval: [Option<f64>; 2],
    /// Values they rest on.
    pub n: usize,
}

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

/// One grader's part.
#[derive(Clone, Debug, Serialize)]
pub struct GraderCard {
    /// Its name.
    pub name: String,
    /// Whether its failures are hard ones.
    pub hard: bool,
    /// Cases that it scored.
    pub cases: usize,
    /// Trials that it scored.
    pub graded: u64,
    /// Trials that it could not score.
    pub unscored: u64,
    /// Its pass rate.
    pub pass_rate: Option<Rate>,
}

impl Scorecard {
    /// The scorecard of a run, read from the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, run: &RunDetail) -> Result<Self, StoreError> {
        let mut cases = vec![];
        store.for_each_case::<StoreError>(run.row.id, |case| {
            cases.push(case);
            Ok(())
        })?;
        let graders = store.graders(run.row.id)?;
        let targets = (0..).zip(&run.targets).map(|(position, target)| {
            let measurements = Measurements::read(store, run.row.id, position, &cases)?;
            let scores = grader_measurements(store, run.row.id, position, cases.len())?;
            let attempts = store.attempt_totals(run.row.id, position)?;
            let retrieval = RetrievalMeasurements::read(store, run.row.id, position, cases.len())?;
            let mut card = target_card(&measurements, &cases, &graders, &scores, retrieval.as_ref());
            target.name.as_str().clone_into(&mut card.name);
            target.provider.as_str().clone_into(&mut card.provider);
            target.model.as_str().clone_into(&mut card.model);
            let reused = store.reused(run.row.id, position)?;
            card.reused_trials = reused.trials;
            card.reused_original_cost_usd = reused.original_cost;
            // A scan of its own, which most runs do not need.
            if measurements.usage.cache_read + measurements.usage.cache_writes() > 0 {
                card.cache = CacheCard::read(store, run.row.id, position, target.model.as_str())?;
            }
            card.attempts = attempts.attempts;
            card.failed_attempts = attempts.failed;
            card.attempts_perhaps_billed = attempts.failed_unpriced;
            Ok(card)
        });
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            run: run_info(run),
            targets: targets.collect::<Result<_, StoreError>>()?,
            queues: store.queue_records(run.row.id)?,
        })
    }
}

fn run_info(run: &RunDetail) -> RunInfo {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
    let wall = |end: i64| (end - run.row.created_at.0) as f64 / 1e3;
    RunInfo {
        id: run.row.name.to_string(),
        name: run.row.experiment.clone(),
        status: run.row.status.as_str(),
        stop_reason: run.row.stop_reason.clone(),
        golden_fingerprint: run.row.golden_fingerprint.to_string(),
        golden_name: run.row.golden_name.clone(),
        seed: run.seed,
        wall_s: run.row.finished_at.map(|end| wall(end.0)),
    }
}

fn target_card(
    measurements: &Measurements,
    cases: &[RunCase],
    graders: &[GraderRow],
    scores: &BTreeMap<u32, GraderMeasurements>,
    retrieval: Option<&RetrievalMeasurements>,
) -> TargetCard {
    let counts = &measurements.cases;
    let verdicts: Vec<bool> = counts
        .iter()
        .zip(cases)
        .filter_map(|(count, case)| case.pass_if.verdict(count.passes, count.measured))
        .collect();
    TargetCard {
        name: String::new(),
        provider: String::new(),
        model: String::new(),
        cases: cases.len(),
        clusters: cluster_labels(cases.iter()).len(),
        trials: cases.iter().map(|case| u64::from(case.repeats)).sum(),
        graded: measurements.graded,
        not_measured: measurements.not_measured.clone(),
        failures: measurements.failures.clone(),
        pass_rate: rate(counts, cases, 0..cases.len()),
        pass_rate_bounds: measurements.bounds(),
        weighted_pass_rate: weighted_rate(counts, cases),
        cases_passed: verdicts.iter().filter(|passed| **passed).count(),
        cases_measured: verdicts.len(),
        flaky_cases: counts.iter().filter(|count| count.is_flaky()).count(),
        usage: measurements.usage,
        usage_unknown: measurements.usage_unknown,
        cost_usd: (measurements.priced > 0).then_some(measurements.cost),
        cost_unknown_trials: measurements.unpriced,
        cost_approximate_trials: measurements.approximate,
        reused_trials: 0,
        reused_original_cost_usd: Cost::ZERO,
        attempts_perhaps_billed: 0,
        latency_ms: times(&measurements.latency_ms, &measurements.latency_case, cases),
        first_token_ms: times(&measurements.first_token_ms, &measurements.first_token_case, cases),
        queue_wait_ms: percentiles(
            &measurements.queue_wait_ms,
            &Clusters::singletons(measurements.queue_wait_ms.len()),
        ),
        cache: None,
        attempts: measurements.attempts,
        failed_attempts: 0,
        retrieval: retrieval.map(|retrieval| retrieval.card(cases)),
        splits: splits(counts, cases, retrieval),
        segments: segments(counts, cases, retrieval),
        graders: grader_cards(cases, graders, scores),
    }
}

/// Percentiles of times that belong to these cases.
fn times(values: &[f64], of: &[u32], cases: &[RunCase]) -> Percentiles {
    let of_cases = of.iter().map(|&case| &cases[case as usize]);
    percentiles(values, &cluster_labels(of_cases))
}

fn percentiles(values: &[f64], clusters: &Clusters) -> Percentiles {
    let estimated = stats::quantiles(values, clusters, &[Level::P50, Level::P95], CONFIDENCE)
        .expect("times are finite and every one has its cluster");
    let Ok(quantiles) = estimated else { return Percentiles::default() };
    let interval = |quantile: &stats::Quantile| {
        let (low, high, _) = quantile.limits(!clusters.all_single());
        [low, high]
    };
    Percentiles {
        p50: Some(quantiles[0].nearest_rank),
        p50_interval: interval(&quantiles[0]),
        p95: Some(quantiles[1].nearest_rank),
        p95_interval: interval(&quantiles[1]),
        n: values.len(),
    }
}

fn splits(counts: &[CaseCount], cases: &[RunCase], retrieval: Option<&RetrievalMeasurements>) -> Vec<Slice> {
    let present: BTreeSet<_> = cases.iter().filter_map(|case| case.split).collect();
    present
        .into_iter()
        .map(|split| {
            slice("split", split.as_str(), counts, cases, retrieval, |case| case.split == Some(split))
        })
        .collect()
}

fn segments(
    counts: &[CaseCount],
    cases: &[RunCase],
    retrieval: Option<&RetrievalMeasurements>,
) -> Vec<Slice> {
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
    counts: &[CaseCount],
    cases: &[RunCase],
    retrieval: Option<&RetrievalMeasurements>,
    belongs: impl Fn(&RunCase) -> bool,
) -> Slice {
    let positions: Vec<usize> = (0..cases.len()).filter(|&at| belongs(&cases[at])).collect();
    Slice {
        key: key.to_owned(),
        value: value.to_owned(),
        cases: positions.len(),
        clusters: cluster_labels(positions.iter().map(|&at| &cases[at])).len(),
        graded: positions.iter().map(|&at| u64::from(counts[at].measured)).sum(),
        retrieval: retrieval.and_then(|retrieval| retrieval.slice(&positions)),
        pass_rate: rate(counts, cases, positions.into_iter()),
    }
}

fn grader_cards(
    cases: &[RunCase],
    graders: &[GraderRow],
    scores: &BTreeMap<u32, GraderMeasurements>,
) -> Vec<GraderCard> {
    let card = |grader: &GraderRow| {
        let scores = scores.get(&grader.position)?;
        Some(GraderCard {
            name: grader.name.to_string(),
            hard: grader.hard,
            cases: scores.cases.iter().filter(|count| count.measured > 0).count(),
            graded: scores.cases.iter().map(|count| u64::from(count.measured)).sum(),
            unscored: scores.unscored,
            pass_rate: rate(&scores.cases, cases, 0..cases.len()),
        })
    };
    graders.iter().filter_map(card).collect()
}
