//! A run looked into: its scorecard, and one case with all that was answered.

use serde::Serialize;
use serde_json::Value;

use super::{
    AppError,
    gates::{self, JudgedRun},
};
use crate::{
    domain::{
        AnswerSource, Attempt, AttemptEnd, CaseId, Cost, ErrorClass, Failure, FailureKind, Input, Outcome,
        PassIf, Repeat, Retrieved, RunId, RunRow, Score, TargetName, Usage, Verdict, nearest,
    },
    estimate::held::{self, HeldRun},
    evidence::Scorecard,
    store::{RunDetail, Store, StoreError, StoredTrial},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// A run's scorecard, and how its estimate fared.
#[derive(Clone, Debug, Serialize)]
pub struct ShownRun {
    /// The scorecard.
    #[serde(flatten)]
    pub card: Scorecard,
    /// What was estimated against what came; `None` where nothing was estimated.
    pub estimated_against_real: Option<HeldRun>,
    /// What its own gates say; `None` where it has none that need no other side.
    #[serde(flatten)]
    pub judged: Option<JudgedRun>,
}

/// A run's scorecard.
///
/// # Errors
/// The store cannot be read.
pub fn scorecard(store: &Store, run: RunRow) -> Result<Scorecard, AppError> {
    Ok(Scorecard::read(store, &store.run_detail(run)?)?)
}

/// A run's scorecard with how its estimate fared.
///
/// # Errors
/// The store cannot be read.
pub fn run(store: &Store, run: RunRow) -> Result<ShownRun, AppError> {
    let detail = store.run_detail(run)?;
    let card = Scorecard::read(store, &detail)?;
    let judged = Some(gates::judge(store, run)?).filter(|judged| !judged.targets.is_empty());
    Ok(ShownRun { card, estimated_against_real: held::held(store, &detail.row)?, judged })
}

/// One case of a run: every answer, its scores and attempts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownCase {
    /// The version of this shape.
    pub schema_version: u32,
    /// The run.
    pub run: RunId,
    /// The case.
    pub case: CaseId,
    /// The cluster it counts in.
    #[serde(skip)]
    pub cluster: String,
    /// From its repeats to its verdict.
    #[serde(skip)]
    pub pass_if: PassIf,
    /// What was asked.
    pub input: Input,
    /// What was given beside it.
    pub context: Value,
    /// What was expected.
    pub expected: Value,
    /// Its trials that have ended.
    pub trials: Vec<ShownTrial>,
}

/// One trial of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownTrial {
    /// Its target.
    pub target: TargetName,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// How it ended.
    pub outcome: Outcome,
    /// Where its answer came from.
    pub source: AnswerSource,
    /// What its graders said together.
    pub verdict: Option<Verdict>,
    /// The answer; `None` where it was not kept.
    pub answer: Option<String>,
    /// What the application retrieved, best first.
    pub retrieved: Option<Vec<Retrieved>>,
    /// Whatever else the application told.
    pub meta: Option<Value>,
    /// What each grader said.
    pub scores: Vec<Score>,
    /// Tokens of the successful attempt.
    pub usage: Option<Usage>,
    /// What that cost.
    pub cost_usd: Option<Cost>,
    /// Its request-to-last-byte time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Whether it failed.
    #[serde(skip)]
    pub failed: bool,
    /// Its attempts, the first first.
    pub attempts: Vec<ShownAttempt>,
}

/// One attempt of a trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownAttempt {
    /// Its number within the trial.
    pub number: u32,
    /// When it was sent.
    pub started_at: String,
    /// From the request to the last byte or the failure, in milliseconds.
    pub duration_ms: f64,
    /// How long the trial had waited just before it, in milliseconds.
    pub backoff_ms: f64,
    /// The HTTP status, if one was received.
    pub status: Option<u16>,
    /// What follows from its failure.
    pub class: Option<ErrorClass>,
    /// What went wrong.
    pub kind: Option<FailureKind>,
    /// The provider's words.
    pub message: Option<String>,
    /// Its failure, if it failed.
    #[serde(skip)]
    pub failure: Option<Failure>,
    /// What it cost; `None` when that is not known.
    pub cost_usd: Option<Cost>,
    /// What a program wrote to its standard error meanwhile.
    pub stderr: Option<String>,
}

/// One case of a run, with all that was answered.
///
/// # Errors
/// The run has no such case, or the store cannot be read.
pub fn case(store: &Store, detail: &RunDetail, id: &CaseId) -> Result<ShownCase, AppError> {
    let run = detail.row.id;
    let Some((case, content)) = store.find_case(run, id)? else {
        return Err(unknown_case(store, detail, id)?);
    };
    let mut trials = vec![];
    for trial in store.trials_of_case(run, case.position)? {
        let scores = store.scores(trial.record.key)?;
        let attempts = store.attempts(trial.record.key)?;
        let target = detail.targets[trial.record.key.target.index()].name.clone();
        trials.push(shown_trial(target, trial, scores, attempts));
    }
    Ok(ShownCase {
        schema_version: SCHEMA_VERSION,
        run: detail.row.name.clone(),
        case: id.clone(),
        cluster: case.cluster,
        pass_if: case.pass_if,
        input: content.input,
        context: content.context,
        expected: content.expected,
        trials,
    })
}

fn shown_trial(
    target: TargetName,
    trial: StoredTrial,
    scores: Vec<Score>,
    attempts: Vec<Attempt>,
) -> ShownTrial {
    let record = trial.record;
    ShownTrial {
        target,
        repeat: record.key.repeat,
        outcome: record.outcome,
        source: record.source,
        verdict: trial.verdict,
        answer: trial.answer_kept.then_some(record.answer),
        retrieved: record.retrieved,
        meta: record.meta,
        scores,
        usage: record.metered.usage,
        cost_usd: record.cost,
        latency_ms: record.latency_ms,
        failed: record.failure.is_some(),
        attempts: attempts.into_iter().map(shown_attempt).collect(),
    }
}

fn shown_attempt(attempt: Attempt) -> ShownAttempt {
    let failure = match attempt.end {
        AttemptEnd::Answered => None,
        AttemptEnd::Failed(failure) => Some(failure),
    };
    ShownAttempt {
        number: attempt.number,
        started_at: attempt.started_at.to_string(),
        duration_ms: attempt.duration_ms,
        backoff_ms: attempt.backoff_ms,
        status: attempt.status,
        class: failure.as_ref().map(|failure| failure.class),
        kind: failure.as_ref().map(|failure| failure.kind),
        message: failure.as_ref().map(|failure| failure.message.clone()),
        failure,
        cost_usd: attempt.cost,
        stderr: attempt.stderr,
    }
}

fn unknown_case(store: &Store, detail: &RunDetail, id: &CaseId) -> Result<AppError, AppError> {
    let mut ids = vec![];
    store.for_each_case::<StoreError>(detail.row.id, |case| {
        ids.push(case.id);
        Ok(())
    })?;
    let near = nearest(id.as_str(), ids.iter().map(CaseId::as_str));
    Ok(AppError::Usage {
        message: format!("run `{}` has no case `{id}`", detail.row.name),
        hint: near.map(|near| format!("did you mean `{near}`?")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{find_run::find_run, testing::Stored};

    #[test]
    fn a_scorecard_tells_every_target_and_how_its_estimate_fared() {
        let stored = Stored::new();
        let store = stored.open();
        let row = find_run(&store, "latest").unwrap().row.id;
        assert_eq!(scorecard(&store, row).unwrap().targets.len(), 2);
        let json = serde_json::to_value(run(&store, row).unwrap()).unwrap();
        assert_eq!(json["run"]["id"], "test-1");
        assert_eq!(json["estimated_against_real"]["targets"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_case_is_shown_with_its_answers_scores_and_attempts() {
        let stored = Stored::new();
        let store = stored.open();
        let detail = find_run(&store, "latest").unwrap();
        let shown = case(&store, &detail, &CaseId::from("c2")).unwrap();
        assert_eq!((shown.cluster.as_str(), shown.trials.len()), ("k1", 4));
        assert!(shown.trials.iter().all(|trial| trial.attempts.len() == 1 && trial.scores.len() == 1));
        let json = serde_json::to_value(&shown).unwrap();
        assert!(json.get("cluster").is_none() && json["trials"][0]["answer"].is_string());
        let error = case(&store, &detail, &CaseId::from("c22")).unwrap_err().to_string();
        assert!(error.starts_with("run `test-1` has no case `c22`\n  hint: did you mean"), "{error}");
    }
}
