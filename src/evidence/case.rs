//! What the trials of one case come to.

use serde::{Deserialize, Serialize};

use super::trial::{is_answer, measured};
use crate::{domain::Cost, store::TrialRow};

/// How often something was measured and passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Repeats measured.
    pub measured: u32,
    /// Those that passed.
    pub passes: u32,
}

impl Count {
    /// Counts one more.
    pub fn add(&mut self, passed: bool) {
        self.measured += 1;
        self.passes += u32::from(passed);
    }

    /// The share that passed; `None` when nothing was measured.
    pub fn share(self) -> Option<f64> {
        (self.measured > 0).then(|| f64::from(self.passes) / f64::from(self.measured))
    }

    /// Whether it is neither always nor never right.
    pub fn is_flaky(self) -> bool {
        0 < self.passes && self.passes < self.measured
    }
}

/// One case's trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CaseEvidence {
    /// Repeats planned.
    pub planned: u32,
    /// Repeats stored.
    pub stored: u32,
    /// Repeats measured, and how many passed.
    pub count: Count,
    /// Repeats that were answered.
    pub answers: u32,
    /// Answers whose cost is known.
    pub priced: u32,
    /// What those cost.
    pub cost: Cost,
    /// Answers whose tokens are known.
    pub counted: u32,
    /// Their input tokens.
    pub input_tokens: u64,
    /// Their output tokens.
    pub output_tokens: u64,
    /// Answers that took a time of their own: copies of earlier ones took none.
    pub timed: u32,
    /// The sum of those times, in milliseconds.
    pub latency_ms: f64,
}

impl CaseEvidence {
    /// A case that is to be asked so often.
    pub fn planned(repeats: u32) -> Self {
        Self { planned: repeats, ..Self::default() }
    }

    /// Mean cost of an answer, in dollars; `None` while any of its answers has no known cost.
    pub fn mean_cost(&self) -> Option<f64> {
        let whole = self.answers > 0 && self.priced == self.answers;
        whole.then(|| self.cost.dollars() / f64::from(self.priced))
    }

    /// Mean input and output tokens of an answer; `None` when no answer's are known.
    pub fn mean_tokens(&self) -> Option<(f64, f64)> {
        #[expect(clippy::cast_precision_loss, reason = "tokens of a case are far below 2^52")]
        let mean = |sum: u64| sum as f64 / f64::from(self.counted);
        (self.counted > 0).then(|| (mean(self.input_tokens), mean(self.output_tokens)))
    }

    /// Mean time of an answer, in milliseconds; `None` when none took one.
    pub fn mean_latency(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.latency_ms / f64::from(self.timed))
    }

    pub(super) fn note(&mut self, trial: &TrialRow) {
        self.stored += 1;
        if let Ok(passed) = measured(trial) {
            self.count.add(passed);
        }
        if !is_answer(trial) {
            return;
        }
        self.answers += 1;
        if let Some(cost) = trial.cost {
            self.priced += 1;
            self.cost += cost;
        }
        if let Some(usage) = trial.usage {
            self.counted += 1;
            self.input_tokens += usage.input_total();
            self.output_tokens += usage.output;
        }
        if let Some(latency) = trial.latency_ms {
            self.timed += 1;
            self.latency_ms += latency;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::Outcome,
        evidence::trial::tests::{answer, ended},
    };

    fn case(trials: &[TrialRow]) -> CaseEvidence {
        let mut case = CaseEvidence::planned(4);
        trials.iter().for_each(|trial| case.note(trial));
        case
    }

    #[test]
    fn means_are_over_answers_alone() {
        let slow = TrialRow { latency_ms: Some(300.0), ..answer(0, false) };
        let case = case(&[answer(0, true), slow, ended(0, Outcome::Failed)]);
        assert_eq!((case.planned, case.stored, case.count), (4, 3, Count { measured: 2, passes: 1 }));
        assert_eq!((case.mean_cost(), case.mean_latency()), (Some(1.0), Some(200.0)));
        assert_eq!(case.mean_tokens(), Some((10.0, 5.0)));
        assert!(case.count.is_flaky());
    }

    #[test]
    fn one_answer_of_unknown_cost_leaves_the_mean_cost_unknown() {
        let unpriced = TrialRow { cost: None, usage: None, ..answer(0, true) };
        let case = case(&[answer(0, true), unpriced]);
        assert_eq!((case.mean_cost(), case.mean_tokens()), (None, Some((10.0, 5.0))));
        assert!(!case.count.is_flaky());
    }

    #[test]
    fn a_case_without_an_answer_has_no_means_and_no_share() {
        let case = case(&[ended(0, Outcome::Cancelled)]);
        assert_eq!((case.mean_cost(), case.mean_tokens(), case.mean_latency()), (None, None, None));
        assert_eq!(case.count.share(), None);
    }
}
