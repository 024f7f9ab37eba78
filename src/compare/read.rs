//! Reading a side from the store, row by row: memory grows with the cases, not with the trials.

use std::collections::{BTreeMap, HashMap};

use super::{
    error::CompareError,
    side::{Count, Percentiles, Side, SideCase, SideGrader, SideRetrieval, SideTotals},
};
use crate::{
    domain::{CasePos, Cost, Outcome, Repeat, RunRow, TargetPos},
    stats::{Clusters, Level, quantiles},
    store::{ComparedTrial, RunCase, RunDetail, Store, StoreError},
};

impl Side {
    /// Target number `target` of a run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, run: &RunDetail, target: TargetPos) -> Result<Self, CompareError> {
        let id = run.row.id;
        let mut cases = vec![];
        store.for_each_case::<StoreError>(id, |case| {
            cases.push(empty_case(case));
            Ok(())
        })?;
        let graders = read_scores(store, id, target, &mut cases)?;
        let totals = read_trials(store, id, target, &mut cases)?;
        read_retrieval(store, id, target, &mut cases)?;
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
            cases,
            graders,
            totals,
        })
    }
}

fn empty_case(case: RunCase) -> SideCase {
    SideCase {
        id: case.id,
        fingerprint: case.fingerprint,
        split: case.split,
        cluster: case.cluster,
        weight: case.weight,
        segment: case.segment,
        pass_if: case.pass_if,
        planned: case.repeats,
        count: Count::default(),
        hard: Count::default(),
        cost_usd: None,
        input_tokens: None,
        output_tokens: None,
        latency_ms: None,
        retrieval: None,
    }
}

/// The repeat whose hard scores are being read.
#[derive(Clone, Copy, Debug)]
struct HardRepeat {
    case: CasePos,
    repeat: Repeat,
    scored: bool,
    passed: bool,
}

fn read_scores(
    store: &Store,
    run: RunRow,
    target: TargetPos,
    cases: &mut [SideCase],
) -> Result<Vec<SideGrader>, StoreError> {
    let mut graders: Vec<SideGrader> = store
        .graders(run)?
        .into_iter()
        .map(|row| SideGrader {
            name: row.name.to_string(),
            hard: row.hard,
            kind: row.kind.unwrap_or_default(),
            version: row.version.unwrap_or_default(),
            counts: vec![],
        })
        .collect();
    let mut open: Option<HardRepeat> = None;
    let n = cases.len();
    let mut close = |repeat: HardRepeat| {
        if repeat.scored {
            add(&mut cases[repeat.case.index()].hard, repeat.passed);
        }
    };
    store.for_each_compared_score(run, target, |score| {
        let grader = &mut graders[score.grader.index()];
        if grader.counts.is_empty() {
            grader.counts = vec![Count::default(); n];
        }
        if let Some(passed) = score.passed {
            add(&mut grader.counts[score.case.index()], passed);
        }
        if !grader.hard {
            return;
        }
        let same = open.filter(|open| (open.case, open.repeat) == (score.case, score.repeat));
        if same.is_none()
            && let Some(done) = open
        {
            close(done);
        }
        let before =
            same.unwrap_or(HardRepeat { case: score.case, repeat: score.repeat, scored: true, passed: true });
        open = Some(HardRepeat {
            scored: before.scored && score.passed.is_some(),
            passed: before.passed && score.passed == Some(true),
            ..before
        });
    })?;
    if let Some(done) = open {
        close(done);
    }
    Ok(graders)
}

/// Fills in what was retrieved for each case: means over the repeats whose application told it.
fn read_retrieval(
    store: &Store,
    run: RunRow,
    target: TargetPos,
    cases: &mut [SideCase],
) -> Result<(), StoreError> {
    let mut repeats = vec![0_u32; cases.len()];
    store.for_each_retrieval::<StoreError>(run, target, |row| {
        let Some(score) = row.score else { return Ok(()) };
        let at = row.case.index();
        repeats[at] += 1;
        let so_far = cases[at].retrieval.unwrap_or(SideRetrieval { hit_rate: 0.0, recall: 0.0 });
        // A running mean: the repeats of a case come one after the other.
        let mean = |mean: f64, value: f64| mean + (value - mean) / f64::from(repeats[at]);
        cases[at].retrieval = Some(SideRetrieval {
            hit_rate: mean(so_far.hit_rate, f64::from(u8::from(score.hit))),
            recall: mean(so_far.recall, score.recall),
        });
        Ok(())
    })
}

fn add(count: &mut Count, passed: bool) {
    count.measured += 1;
    count.passes += u32::from(passed);
}

/// The sums of one case's answers.
#[derive(Clone, Copy, Debug, Default)]
struct CaseSums {
    answers: u32,
    priced: u32,
    cost: f64,
    counted: u32,
    input: f64,
    output: f64,
    timed: u32,
    latency: f64,
}

fn read_trials(
    store: &Store,
    run: RunRow,
    target: TargetPos,
    cases: &mut [SideCase],
) -> Result<SideTotals, StoreError> {
    let planned = cases.iter().map(|case| u64::from(case.planned)).sum();
    let mut totals = SideTotals { planned, ..SideTotals::default() };
    let mut sums = vec![CaseSums::default(); cases.len()];
    let mut latencies: Vec<f64> = vec![];
    let mut latency_cases: Vec<CasePos> = vec![];
    let mut cost: Option<Cost> = None;
    let mut not_measured: BTreeMap<&'static str, u64> = BTreeMap::new();
    let mut ended = 0;
    store.for_each_compared_trial(run, target, |trial| {
        ended += 1;
        match trial.passed {
            Some(passed) => {
                totals.graded += 1;
                add(&mut cases[trial.case.index()].count, passed);
            }
            None => *not_measured.entry(reason(&trial)).or_default() += 1,
        }
        if matches!(trial.outcome, Outcome::Failed | Outcome::Cancelled) {
            return;
        }
        let sums = &mut sums[trial.case.index()];
        sums.answers += 1;
        match trial.cost {
            Some(own) => {
                cost = Some(cost.unwrap_or_default() + own);
                sums.priced += 1;
                sums.cost += own.dollars();
            }
            None => totals.cost_unknown += 1,
        }
        if let (Some(input), Some(output)) = (trial.input_tokens, trial.output_tokens) {
            totals.input_tokens += u64::from(input);
            totals.output_tokens += u64::from(output);
            totals.cached_tokens += u64::from(trial.cached_tokens.unwrap_or(0));
            sums.counted += 1;
            sums.input += f64::from(input);
            sums.output += f64::from(output);
        }
        if let Some(latency) = trial.latency_ms {
            latencies.push(latency);
            latency_cases.push(trial.case);
            sums.timed += 1;
            sums.latency += latency;
        }
    })?;
    if planned > ended {
        not_measured.insert("pending", planned - ended);
    }
    for (case, sums) in cases.iter_mut().zip(&sums) {
        let whole = sums.answers > 0 && sums.priced == sums.answers;
        let mean = |sum: f64, of: u32| (of > 0).then(|| sum / f64::from(of));
        case.cost_usd = if whole { mean(sums.cost, sums.priced) } else { None };
        case.input_tokens = mean(sums.input, sums.counted);
        case.output_tokens = mean(sums.output, sums.counted);
        case.latency_ms = mean(sums.latency, sums.timed);
    }
    totals.cost_usd = cost;
    totals.not_measured =
        not_measured.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
    totals.latency_ms = percentiles(latencies, &latency_cases, cases, planned);
    Ok(totals)
}

/// Why a trial was not measured, by the keys of `not_measured`.
fn reason(trial: &ComparedTrial) -> &'static str {
    match trial.outcome {
        Outcome::Answered | Outcome::Refused => "unscored",
        Outcome::Truncated if trial.gradable => "unscored",
        outcome => outcome.as_str(),
    }
}

fn percentiles(values: Vec<f64>, of_case: &[CasePos], cases: &[SideCase], planned: u64) -> Percentiles {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut label_of = |cluster| {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        *known.entry(cluster).or_insert(next)
    };
    let of_cases: Vec<u32> = cases.iter().map(|case| label_of(case.cluster.as_str())).collect();
    let labels: Vec<u32> = of_case.iter().map(|&case| of_cases[case.index()]).collect();
    let clusters = Clusters::from_labels(&labels);
    let estimated = quantiles(&values, &clusters, &[Level::P50, Level::P95], 0.95);
    let Ok(Ok(found)) = estimated else { return Percentiles::default() };
    let (p95_low, p95_high, _) = found[1].limits(!clusters.all_single());
    let missing = usize::try_from(planned).unwrap_or(usize::MAX).saturating_sub(values.len());
    let n = values.len();
    let mut sorted = values;
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
