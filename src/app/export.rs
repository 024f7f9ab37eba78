//! A run's trials, one after the other.

use serde::Serialize;
use serde_json::Value;

use super::{AppError, find_run::find_run};
use crate::{
    domain::{
        AnswerSource, CaseId, Cost, ErrorClass, Failure, FailureKind, Outcome, Repeat, Retrieved, Score,
        TargetName, Usage, UsageFlag, Verdict,
    },
    store::{ExportedTrial, Store, StoreError},
};

/// One trial, as a line of an export. Its `id` and `output` are those that a replay reads.
#[derive(Debug, Serialize)]
pub struct ExportLine<'a> {
    /// The case.
    pub id: &'a CaseId,
    /// The target.
    pub target: &'a TargetName,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// How it ended.
    pub outcome: Outcome,
    /// The answer; `None` where only its hash was kept.
    pub output: Option<&'a str>,
    /// What its graders said together.
    pub verdict: Option<Verdict>,
    /// What each of them said.
    pub scores: &'a [Score],
    /// Why it failed, when it did.
    pub failure: Option<ExportedFailure<'a>>,
    /// What the application retrieved.
    pub retrieved: Option<&'a [Retrieved]>,
    /// Whatever else the application told.
    pub meta: Option<&'a Value>,
    /// The provider's own word for why it stopped.
    pub stop_reason: Option<&'a str>,
    /// Tokens of the successful attempt.
    pub usage: Option<&'a Usage>,
    /// What is odd about them.
    pub usage_flag: Option<UsageFlag>,
    /// What the successful attempt cost.
    pub cost_usd: Option<Cost>,
    /// Its request-to-last-byte time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Time to its first token, in milliseconds, when streamed.
    pub first_token_ms: Option<f64>,
    /// Time spent waiting for a place, in milliseconds.
    pub queue_wait_ms: f64,
    /// Time spent waiting between attempts, in milliseconds.
    pub backoff_wait_ms: f64,
    /// Attempts made for it.
    pub attempts: u32,
    /// The provider's id of the request.
    pub request_id: Option<&'a str>,
    /// The model's name as the provider returned it.
    pub model: Option<&'a str>,
    /// The provider's fingerprint of the system behind the model.
    pub system_fingerprint: Option<&'a str>,
    /// Where the answer came from.
    pub source: AnswerSource,
    /// When its first attempt of its session began.
    pub started_at: String,
    /// When it ended.
    pub finished_at: String,
}

/// Why a trial failed.
#[derive(Debug, Serialize)]
pub struct ExportedFailure<'a> {
    /// What follows from it.
    pub class: ErrorClass,
    /// What happened.
    pub kind: FailureKind,
    /// The HTTP status.
    pub status: Option<u16>,
    /// In words.
    pub message: &'a str,
}

/// Calls `each` with every trial of the run that `text` means, in golden-set order, of `target` alone
/// where one is named. Memory does not grow with the run.
///
/// # Errors
/// There is no such run or target, the store cannot be read, and the first error of `each`.
pub fn export<E: From<AppError>>(
    store: &Store,
    text: &str,
    target: Option<&str>,
    mut each: impl FnMut(&ExportLine<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let detail = find_run(store, text)?;
    if let Some(wanted) = target
        && !detail.targets.iter().any(|target| target.name.as_str() == wanted)
    {
        let names: Vec<&str> = detail.targets.iter().map(|target| target.name.as_str()).collect();
        let message = format!("run `{}` has no target `{wanted}`", detail.row.name);
        return Err(AppError::hinted(message, format!("its targets are {}", names.join(", "))).into());
    }
    let exported = store.for_each_trial::<Stopped<E>>(detail.row.id, |trial| {
        if target.is_none_or(|wanted| trial.target.as_str() == wanted) {
            each(&line(&trial)).map_err(Stopped::ByCaller)?;
        }
        Ok(())
    });
    exported.map_err(|stopped| match stopped {
        Stopped::ByStore(error) => AppError::from(error).into(),
        Stopped::ByCaller(error) => error,
    })
}

/// Who ended an export early.
enum Stopped<E> {
    ByStore(StoreError),
    ByCaller(E),
}

impl<E> From<StoreError> for Stopped<E> {
    fn from(error: StoreError) -> Self {
        Self::ByStore(error)
    }
}

fn line(trial: &ExportedTrial) -> ExportLine<'_> {
    let record = &trial.trial.record;
    ExportLine {
        id: &trial.case,
        target: &trial.target,
        repeat: record.key.repeat,
        outcome: record.outcome,
        output: trial.trial.answer_kept.then_some(record.answer.as_str()),
        verdict: trial.trial.verdict,
        scores: &trial.scores,
        failure: record.failure.as_ref().map(failure),
        retrieved: record.retrieved.as_deref(),
        meta: record.meta.as_ref(),
        stop_reason: record.stop_reason.as_deref(),
        usage: record.metered.usage.as_ref(),
        usage_flag: record.metered.flag,
        cost_usd: record.cost,
        latency_ms: record.latency_ms,
        first_token_ms: record.first_token_ms,
        queue_wait_ms: record.queue_wait_ms,
        backoff_wait_ms: record.backoff_wait_ms,
        attempts: record.attempts,
        request_id: record.request_id.as_deref(),
        model: record.model_returned.as_deref(),
        system_fingerprint: record.system_fingerprint.as_deref(),
        source: record.source,
        started_at: record.started_at.to_string(),
        finished_at: record.finished_at.to_string(),
    }
}

fn failure(failure: &Failure) -> ExportedFailure<'_> {
    let Failure { class, kind, status, message, .. } = failure;
    ExportedFailure { class: *class, kind: *kind, status: *status, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    fn lines(target: Option<&str>) -> Result<Vec<Value>, AppError> {
        let stored = Stored::new();
        let mut lines = vec![];
        export::<AppError>(&stored.open(), "latest", target, |line| {
            lines.push(serde_json::to_value(line).unwrap());
            Ok(())
        })?;
        Ok(lines)
    }

    #[test]
    fn every_trial_is_a_line_in_the_order_of_the_golden_set() {
        let lines = lines(None).unwrap();
        assert_eq!(lines.len(), 32);
        assert_eq!(
            (&lines[0]["id"], &lines[0]["target"], &lines[0]["repeat"]),
            (&"c0".into(), &"good".into(), &1.into())
        );
        assert!(lines.iter().all(|line| line["output"].is_string() && line["outcome"] == "answered"));
    }

    #[test]
    fn one_target_can_be_exported_and_an_unknown_one_is_told() {
        assert_eq!(lines(Some("poor")).unwrap().len(), 16);
        let error = lines(Some("best")).unwrap_err().to_string();
        assert_eq!(error, "run `test-1` has no target `best`\n  hint: its targets are good, poor");
    }

    #[test]
    fn the_first_error_of_the_caller_ends_it() {
        let mut seen = 0;
        let stored = Stored::new();
        let ended = export::<AppError>(&stored.open(), "latest", None, |_| {
            seen += 1;
            Err(AppError::usage("enough"))
        });
        assert_eq!((ended.unwrap_err().to_string(), seen), ("enough".to_owned(), 1));
    }
}
