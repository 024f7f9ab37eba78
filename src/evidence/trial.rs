//! What a stored trial counts as.

use crate::{
    domain::{Outcome, Verdict},
    store::TrialRow,
};

/// Whether a trial passed; else why it was not measured, by the keys of `not_measured`.
///
/// # Errors
/// The trial was not measured.
pub fn measured(trial: &TrialRow) -> Result<bool, &'static str> {
    match (trial.verdict, trial.outcome) {
        (Some(Verdict::Pass), _) => Ok(true),
        (Some(Verdict::Fail), _) => Ok(false),
        // An answer without a verdict was stored and not graded yet: `grade` or `resume` does that.
        (Some(Verdict::Unscored), _) | (None, Outcome::Answered | Outcome::Refused) => Err("unscored"),
        (None, Outcome::Truncated) if trial.gradable => Err("unscored"),
        (None, outcome) => Err(outcome.as_str()),
    }
}

/// Whether the provider answered: what has tokens, a cost and a time of its own.
pub fn is_answer(trial: &TrialRow) -> bool {
    !matches!(trial.outcome, Outcome::Failed | Outcome::Cancelled)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::{AnswerSource, CasePos, Cost, Repeat, Tariff, Usage};

    /// An answer to that case: passed or failed, a dollar, 10 tokens in, 5 out, 100 ms.
    pub(in crate::evidence) fn answer(case: u32, passed: bool) -> TrialRow {
        TrialRow {
            case: CasePos(case),
            repeat: Repeat::FIRST,
            outcome: Outcome::Answered,
            gradable: true,
            verdict: Some(if passed { Verdict::Pass } else { Verdict::Fail }),
            failure: None,
            usage: Some(Usage { input_uncached: 10, output: 5, ..Usage::default() }),
            usage_flag: None,
            cost: Some(Cost::from_picodollars(1_000_000_000_000)),
            price: None,
            tariff: Some(Tariff::Standard),
            latency_ms: Some(100.0),
            first_token_ms: None,
            queue_wait_ms: Some(1.0),
            attempts: Some(1),
            source: Some(AnswerSource::Live),
        }
    }

    /// A trial of that case which ended so, without an answer's tokens, cost and time.
    pub(in crate::evidence) fn ended(case: u32, outcome: Outcome) -> TrialRow {
        TrialRow {
            outcome,
            gradable: false,
            verdict: None,
            usage: None,
            cost: None,
            latency_ms: None,
            ..answer(case, true)
        }
    }

    #[test]
    fn what_is_not_measured_says_why() {
        let with =
            |outcome, gradable, verdict| measured(&TrialRow { gradable, verdict, ..ended(0, outcome) });
        assert_eq!(with(Outcome::Answered, true, Some(Verdict::Pass)), Ok(true));
        assert_eq!(with(Outcome::Refused, true, Some(Verdict::Fail)), Ok(false));
        for (outcome, gradable, verdict, reason) in [
            (Outcome::Answered, true, None, "unscored"),
            (Outcome::Answered, true, Some(Verdict::Unscored), "unscored"),
            (Outcome::Refused, true, None, "unscored"),
            (Outcome::Truncated, true, None, "unscored"),
            (Outcome::Truncated, false, None, "truncated"),
            (Outcome::Filtered, false, None, "filtered"),
            (Outcome::Failed, false, None, "failed"),
            (Outcome::Cancelled, false, None, "cancelled"),
        ] {
            assert_eq!(with(outcome, gradable, verdict), Err(reason), "{outcome:?}");
        }
    }

    #[test]
    fn what_was_filtered_was_answered_and_what_failed_was_not() {
        for (outcome, answered) in [
            (Outcome::Answered, true),
            (Outcome::Truncated, true),
            (Outcome::Refused, true),
            (Outcome::Filtered, true),
            (Outcome::Failed, false),
            (Outcome::Cancelled, false),
        ] {
            assert_eq!(is_answer(&ended(0, outcome)), answered, "{outcome:?}");
        }
    }
}
