//! One target's evidence in columns: what a million trials come to, without a row for each.

use std::collections::BTreeMap;

use super::{
    caching::Caching,
    case::{CaseEvidence, Count},
    samples::Scores,
    trial::{is_answer, measured},
};
use crate::{
    domain::{AnswerSource, CasePos, Cost, RunRow, TargetPos, Usage},
    spend::Prices,
    store::{AttemptTotals, Detail, RunCase, Store, StoreError, TrialRow},
};

/// What one target's stored trials say.
///
/// *Answers* are what the provider answered; what failed or was cancelled has no tokens and no time,
/// and its cost is told by its attempts ([`Evidence::attempts_cost`]).
#[derive(Debug, Default)]
pub struct Evidence {
    /// Every case of the run, by position.
    pub cases: Vec<CaseEvidence>,
    /// Trials that were not measured, by the keys of `not_measured`; only reasons that occurred.
    pub not_measured: BTreeMap<&'static str, u64>,
    /// What failed trials failed of.
    pub failures: BTreeMap<&'static str, u64>,
    /// Tokens of all answers whose tokens are known.
    pub usage: Usage,
    /// Answers whose tokens are not known.
    pub usage_unknown: u64,
    /// Known cost of all answers: that of the attempt which was answered.
    pub answers_cost: Cost,
    /// Answers whose cost is known.
    pub priced: u64,
    /// Answers whose cost is not known.
    pub unpriced: u64,
    /// Answers whose cost rests on an assumption.
    pub approximate: u64,
    /// The answered attempts' own times.
    pub latency: Times,
    /// Times to first token of streamed answers.
    pub first_token: Times,
    /// Waits for a place, in milliseconds.
    pub queue_wait_ms: Vec<f64>,
    /// What went through a prompt cache.
    pub caching: Caching,
}

/// Times of answers, each with its case. Copies of earlier answers took none.
#[derive(Debug, Default, PartialEq)]
pub struct Times {
    /// The times, in milliseconds.
    pub ms: Vec<f64>,
    /// The case of each.
    pub case: Vec<CasePos>,
}

impl Times {
    fn note(&mut self, case: CasePos, ms: Option<f64>) {
        if let Some(ms) = ms {
            self.ms.push(ms);
            self.case.push(case);
        }
    }
}

impl Evidence {
    /// Reads the target at `target`; `planned` are the repeats of each case of the run.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(
        store: &Store,
        run: RunRow,
        target: TargetPos,
        planned: impl IntoIterator<Item = u32>,
    ) -> Result<Self, StoreError> {
        let mut evidence = Self::of(planned);
        let prices = prices(store, run, target)?;
        store.for_each_trial_row(run, target, Detail::Full, |trial| evidence.note(trial, Some(&prices)))?;
        evidence.close();
        Ok(evidence)
    }

    /// The same without failures, assumptions, first tokens, waits and caching: what comparisons and
    /// histories look at, read a quarter faster.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read_lean(
        store: &Store,
        run: RunRow,
        target: TargetPos,
        planned: impl IntoIterator<Item = u32>,
    ) -> Result<Self, StoreError> {
        let mut evidence = Self::of(planned);
        store.for_each_trial_row(run, target, Detail::Lean, |trial| evidence.note(trial, None))?;
        evidence.close();
        Ok(evidence)
    }

    /// What `trials` say, priced by `prices`.
    #[cfg(test)]
    pub(super) fn fold(planned: &[u32], trials: &[TrialRow], prices: &Prices) -> Self {
        let mut evidence = Self::of(planned.iter().copied());
        trials.iter().for_each(|trial| evidence.note(trial, Some(prices)));
        evidence.close();
        evidence
    }

    fn of(planned: impl IntoIterator<Item = u32>) -> Self {
        Self { cases: planned.into_iter().map(CaseEvidence::planned).collect(), ..Self::default() }
    }

    fn note(&mut self, trial: &TrialRow, prices: Option<&Prices>) {
        self.cases[trial.case.index()].note(trial);
        if let Err(reason) = measured(trial) {
            *self.not_measured.entry(reason).or_default() += 1;
        }
        if let Some(failure) = trial.failure {
            *self.failures.entry(failure.as_str()).or_default() += 1;
        }
        if !is_answer(trial) {
            return;
        }
        match trial.usage {
            Some(usage) => self.usage += usage,
            None => self.usage_unknown += 1,
        }
        match trial.cost {
            Some(cost) => {
                self.answers_cost += cost;
                self.priced += 1;
                self.approximate += u64::from(trial.usage_flag.is_some());
            }
            None => self.unpriced += 1,
        }
        if trial.source == Some(AnswerSource::Cache) {
            return;
        }
        self.queue_wait_ms.extend(trial.queue_wait_ms);
        self.latency.note(trial.case, trial.latency_ms);
        self.first_token.note(trial.case, trial.first_token_ms);
        if let Some(prices) = prices {
            self.caching.note(trial, prices);
        }
    }

    fn close(&mut self) {
        let (planned, stored) = (self.planned(), self.stored());
        if planned > stored {
            self.not_measured.insert("pending", planned - stored);
        }
    }

    /// Trials planned.
    pub fn planned(&self) -> u64 {
        self.cases.iter().map(|case| u64::from(case.planned)).sum()
    }

    /// Trials that ended.
    pub fn stored(&self) -> u64 {
        self.cases.iter().map(|case| u64::from(case.stored)).sum()
    }

    /// Trials measured.
    pub fn measured(&self) -> u64 {
        self.cases.iter().map(|case| u64::from(case.count.measured)).sum()
    }

    /// How often each case was measured and passed.
    pub fn counts(&self) -> Vec<Count> {
        self.cases.iter().map(|case| case.count).collect()
    }

    /// Known cost of all that was sent: of the answers, and of the attempts that failed.
    pub fn attempts_cost(&self, attempts: &AttemptTotals) -> Cost {
        self.answers_cost + attempts.failed_cost
    }

    /// The measured cases as statistics want them.
    pub fn samples(&self, cases: &[RunCase]) -> Scores {
        Scores::of(&self.counts(), cases, 0..cases.len())
    }

    /// Bounds of the pass rate over all planned repeats: every one that was not measured wrong, and
    /// every one right. `None` without a case.
    pub fn bounds(&self) -> Option<[f64; 2]> {
        let n = self.cases.len();
        if n == 0 {
            return None;
        }
        let sums = self.cases.iter().fold([0.0, 0.0], |[low, high], case| {
            let Count { measured, passes } = case.count;
            let planned = f64::from(case.planned.max(measured).max(1));
            let missing = planned - f64::from(measured);
            [low + f64::from(passes) / planned, high + (f64::from(passes) + missing) / planned]
        });
        #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
        Some(sums.map(|sum| sum / n as f64))
    }
}

/// The price rows of the model that the target asks.
fn prices(store: &Store, run: RunRow, target: TargetPos) -> Result<Prices, StoreError> {
    let targets = store.targets(run)?;
    let model = targets.get(target.index()).map(|target| &target.model);
    let mut rows = store.prices(run)?;
    rows.retain(|(_, price)| Some(&price.model) == model);
    Ok(Prices::of_rows(rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{FailureKind, Outcome, UsageFlag},
        evidence::trial::tests::{answer, ended},
    };

    const DOLLAR: i64 = 1_000_000_000_000;

    #[test]
    fn what_is_not_measured_is_counted_by_reason_and_what_is_missing_is_pending() {
        let failed = TrialRow { failure: Some(FailureKind::Timeout), ..ended(1, Outcome::Failed) };
        let ungraded = TrialRow { verdict: None, ..answer(1, true) };
        let evidence = Evidence::fold(
            &[2, 2, 1],
            &[answer(0, true), answer(0, false), failed, ungraded],
            &Prices::default(),
        );
        assert_eq!(evidence.not_measured, BTreeMap::from([("failed", 1), ("pending", 1), ("unscored", 1)]));
        assert_eq!(evidence.failures, BTreeMap::from([(FailureKind::Timeout.as_str(), 1)]));
        assert_eq!((evidence.planned(), evidence.stored(), evidence.measured()), (5, 4, 2));
        assert_eq!(evidence.counts()[0], Count { measured: 2, passes: 1 });
        // Case 0 is half right, 1 and 2 may be all wrong or all right.
        let [low, high] = evidence.bounds().unwrap();
        assert!((low - 0.5 / 3.0).abs() < 1e-12 && (high - 2.5 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_cost_of_answers_is_not_the_cost_of_attempts() {
        let unpriced = TrialRow { cost: None, usage: None, ..answer(0, true) };
        let assumed = TrialRow { usage_flag: Some(UsageFlag::Incomplete), ..answer(0, true) };
        let evidence = Evidence::fold(&[3], &[answer(0, true), unpriced, assumed], &Prices::default());
        assert_eq!(evidence.answers_cost, Cost::from_picodollars(2 * DOLLAR));
        assert_eq!((evidence.priced, evidence.unpriced, evidence.approximate), (2, 1, 1));
        assert_eq!((evidence.usage.output, evidence.usage_unknown), (10, 1));
        let failed_cost = Cost::from_picodollars(DOLLAR);
        let attempts = AttemptTotals { attempts: 4, failed: 1, failed_cost, lost_unpriced: 0 };
        assert_eq!(evidence.attempts_cost(&attempts), Cost::from_picodollars(3 * DOLLAR));
    }

    #[test]
    fn copies_of_earlier_answers_count_and_took_no_time() {
        let copy = TrialRow { source: Some(AnswerSource::Cache), latency_ms: None, ..answer(0, true) };
        let streamed = TrialRow { first_token_ms: Some(20.0), ..answer(0, true) };
        let evidence = Evidence::fold(&[2], &[copy, streamed], &Prices::default());
        assert_eq!(evidence.measured(), 2);
        assert_eq!(evidence.latency, Times { ms: vec![100.0], case: vec![CasePos(0)] });
        assert_eq!(evidence.first_token, Times { ms: vec![20.0], case: vec![CasePos(0)] });
        assert_eq!(evidence.queue_wait_ms, [1.0]);
    }

    #[test]
    fn nothing_planned_has_no_bounds() {
        assert_eq!(Evidence::fold(&[], &[], &Prices::default()).bounds(), None);
    }
}
