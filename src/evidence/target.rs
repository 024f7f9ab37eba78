//! One target's measurements in columns: what a million trials come to, without a row for each.

use std::collections::{BTreeMap, HashMap};

use crate::{
    domain::{AnswerSource, Cost, Outcome, Usage, Verdict},
    stats::{Clusters, Samples, StatsError},
    store::{Measured, RunCase, ScoreRow, Store, StoreError},
};

/// Everything a scorecard counts of one target.
#[derive(Debug, Default)]
pub struct Measurements {
    /// Passes and measured repeats of every case of the run, by position.
    pub cases: Vec<CaseCount>,
    /// Outcomes that were not measured, by the keys of `not_measured`.
    pub not_measured: BTreeMap<&'static str, u64>,
    /// What failed trials failed of.
    pub failures: BTreeMap<&'static str, u64>,
    /// Trials that were graded.
    pub graded: u64,
    /// Trials that ended by each outcome.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Tokens of all answers whose usage is known.
    pub usage: Usage,
    /// Answers whose usage is not known.
    pub usage_unknown: u64,
    /// Known cost of all answers.
    pub cost: Cost,
    /// Answers whose cost is known.
    pub priced: u64,
    /// Answers whose cost is not known.
    pub unpriced: u64,
    /// Answers whose cost rests on an assumption.
    pub approximate: u64,
    /// The successful attempts' own times, in milliseconds, with their cases.
    pub latency_ms: Vec<f64>,
    /// The case of each entry of `latency_ms`.
    pub latency_case: Vec<u32>,
    /// Times to first token of streamed answers, in milliseconds.
    pub first_token_ms: Vec<f64>,
    /// The case of each entry of `first_token_ms`.
    pub first_token_case: Vec<u32>,
    /// Waits for a place, in milliseconds.
    pub queue_wait_ms: Vec<f64>,
    /// Attempts made for trials that ended.
    pub attempts: u64,
    /// Trials that ended.
    pub ended: u64,
}

/// How often a case was measured and passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseCount {
    /// Repeats planned.
    pub planned: u32,
    /// Repeats measured.
    pub measured: u32,
    /// Repeats that passed.
    pub passes: u32,
}

impl CaseCount {
    /// Whether it is neither always nor never right.
    pub fn is_flaky(self) -> bool {
        0 < self.passes && self.passes < self.measured
    }
}

/// One grader's scores: value and case of each trial that it scored.
#[derive(Debug, Default)]
pub struct GraderMeasurements {
    /// Passes and scored repeats, by case position.
    pub cases: Vec<CaseCount>,
    /// Trials that it could not score.
    pub unscored: u64,
}

impl Measurements {
    /// Reads them from the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, run: i64, target: u32, cases: &[RunCase]) -> Result<Self, StoreError> {
        let planned = |case: &RunCase| CaseCount { planned: case.repeats, ..CaseCount::default() };
        let mut measurements = Self { cases: cases.iter().map(planned).collect(), ..Self::default() };
        store.for_each_measured::<StoreError>(run, target, |trial| {
            measurements.note(&trial);
            Ok(())
        })?;
        let planned: u64 = cases.iter().map(|case| u64::from(case.repeats)).sum();
        if planned > measurements.ended {
            measurements.not_measured.insert("pending", planned - measurements.ended);
        }
        Ok(measurements)
    }

    fn note(&mut self, trial: &Measured) {
        self.ended += 1;
        self.attempts += u64::from(trial.attempts);
        *self.outcomes.entry(trial.outcome.as_str()).or_default() += 1;
        match measured_as(trial) {
            Ok(passed) => {
                self.graded += 1;
                let case = &mut self.cases[trial.case as usize];
                case.measured += 1;
                case.passes += u32::from(passed);
            }
            Err(reason) => *self.not_measured.entry(reason).or_default() += 1,
        }
        if let Some(failure) = trial.failure {
            *self.failures.entry(failure.as_str()).or_default() += 1;
        }
        if matches!(trial.outcome, Outcome::Failed | Outcome::Cancelled) {
            return;
        }
        match trial.usage {
            Some(usage) => self.usage += usage,
            None => self.usage_unknown += 1,
        }
        match trial.cost {
            Some(cost) => {
                self.cost += cost;
                self.priced += 1;
                self.approximate += u64::from(trial.usage_flag.is_some());
            }
            None => self.unpriced += 1,
        }
        if trial.source == AnswerSource::Cache {
            return;
        }
        self.queue_wait_ms.push(trial.queue_wait_ms);
        if let Some(latency) = trial.latency_ms {
            self.latency_ms.push(latency);
            self.latency_case.push(trial.case);
        }
        if let Some(first_token) = trial.first_token_ms {
            self.first_token_ms.push(first_token);
            self.first_token_case.push(trial.case);
        }
    }

    /// Bounds of the pass rate over all planned repeats: every one that was not measured wrong, and
    /// every one right. `None` without a case.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        let n = self.cases.len();
        if n == 0 {
            return None;
        }
        let sums = self.cases.iter().fold([0.0, 0.0], |[low, high], case| {
            let planned = f64::from(case.planned.max(case.measured).max(1));
            let missing = planned - f64::from(case.measured);
            [low + f64::from(case.passes) / planned, high + (f64::from(case.passes) + missing) / planned]
        });
        #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
        Some(sums.map(|sum| sum / n as f64))
    }
}

/// Whether a trial passed, or why it was not measured.
fn measured_as(trial: &Measured) -> Result<bool, &'static str> {
    match (trial.verdict, trial.outcome) {
        (Some(Verdict::Pass), _) => Ok(true),
        (Some(Verdict::Fail), _) => Ok(false),
        // An answer without a verdict was stored and not graded yet: `grade` or `resume` does that.
        (Some(Verdict::Unscored), _) | (None, Outcome::Answered | Outcome::Refused) => Err("unscored"),
        (None, Outcome::Truncated) if trial.gradable => Err("unscored"),
        (None, outcome) => Err(outcome.as_str()),
    }
}

/// Every grader's scores of one target, by the grader's position in the run.
///
/// # Errors
/// The store cannot be read.
pub(super) fn grader_measurements(
    store: &Store,
    run: i64,
    target: u32,
    cases: usize,
) -> Result<BTreeMap<u32, GraderMeasurements>, StoreError> {
    let mut graders: BTreeMap<u32, GraderMeasurements> = BTreeMap::new();
    store.for_each_score::<StoreError>(run, target, |row: ScoreRow<'_>| {
        let grader = graders.entry(row.grader).or_default();
        if grader.cases.is_empty() {
            grader.cases = vec![CaseCount::default(); cases];
        }
        let case = &mut grader.cases[row.case as usize];
        match row.verdict {
            Verdict::Unscored => grader.unscored += 1,
            verdict => {
                case.measured += 1;
                case.passes += u32::from(verdict == Verdict::Pass);
            }
        }
        Ok(())
    })?;
    Ok(graders)
}

/// Case counts laid out as statistics want them: cases without a measured repeat are left out.
#[derive(Debug)]
pub(super) struct Layout {
    scores: Vec<f64>,
    offsets: Vec<usize>,
    clusters: Clusters,
}

impl Layout {
    /// The layout of the cases at `positions`.
    pub(super) fn of(
        counts: &[CaseCount],
        cases: &[RunCase],
        positions: impl Iterator<Item = usize>,
    ) -> Self {
        let measured: Vec<usize> = positions.filter(|&at| counts[at].measured > 0).collect();
        let mut scores = vec![];
        let mut offsets = vec![0];
        for &at in &measured {
            let CaseCount { measured, passes, .. } = counts[at];
            scores.extend(std::iter::repeat_n(1.0, passes as usize));
            scores.extend(std::iter::repeat_n(0.0, (measured - passes) as usize));
            offsets.push(scores.len());
        }
        let clusters = cluster_labels(measured.iter().map(|&at| &cases[at]));
        Self { scores, offsets, clusters }
    }

    pub(super) fn samples(&self) -> Result<Samples<'_>, StatsError> {
        Samples::new(&self.scores, &self.offsets)
    }

    pub(super) fn clusters(&self) -> &Clusters {
        &self.clusters
    }
}

/// The cluster of each case, as statistics want it.
pub(super) fn cluster_labels<'a>(cases: impl Iterator<Item = &'a RunCase>) -> Clusters {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let labels: Vec<u32> = cases
        .map(|case| {
            let next = u32::try_from(known.len()).expect("a set has fewer clusters than u32 can count");
            *known.entry(case.cluster.as_str()).or_insert(next)
        })
        .collect();
    Clusters::from_labels(&labels)
}
