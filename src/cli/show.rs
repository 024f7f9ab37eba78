//! `caseload show`: a run's scorecard, its failures, or one case.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    output, own_gates,
    session::print_scorecard,
    store_argument::{StoreArgument, find_run},
};
use crate::domain::text::{beginning, visible};
use crate::{
    domain::{AnswerSource, AttemptEnd, CaseId, Repeat, Retrieved, Verdict, nearest},
    report::milliseconds,
    store::{RunDetail, Store, StoreError, StoredTrial},
};

/// Show a run: its scorecard, what failed, or one case
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    #[arg(default_value = "latest")]
    run: String,

    /// List the trials that were wrong or not measured, with the reason
    #[arg(long, conflicts_with = "case")]
    failures: bool,

    /// Show one case: every answer, its scores and attempts
    #[arg(long, value_name = "ID")]
    case: Option<String>,

    /// End with what the run and its gates say, as `run` does
    ///
    /// Only gates that need no other side are judged: `caseload compare` judges all of them.
    #[arg(long)]
    gate: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload show`.
pub(super) fn show(arguments: &ShowArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let detail = find_run(&store, &arguments.run)?;
    if let Some(case) = &arguments.case {
        show_case(&store, &detail, &CaseId::from(case.as_str()), arguments.json)?;
    } else if arguments.failures {
        show_failures(&store, &detail, arguments.json)?;
    } else {
        print_scorecard(&store, detail.row.id, arguments.json)?;
        if !arguments.json {
            super::estimate::print_account(&store, &detail)?;
            output::note(&next_steps(&detail, &arguments.store.flag()));
        }
    }
    if arguments.gate {
        let gates = own_gates::judge(&store, detail.row.id, arguments.json)?;
        return Ok(own_gates::worse(ExitStatus::of_run(detail.row.status), gates));
    }
    Ok(ExitStatus::Success)
}

fn next_steps(detail: &RunDetail, store: &str) -> String {
    let name = &detail.row.name;
    format!(
        "next:\n  caseload show {name} --failures{store}\n  caseload show {name} --case ID{store}\n  \
         caseload export {name}{store}"
    )
}

/// One trial that was wrong or not measured, as it is listed.
#[derive(Debug, serde::Serialize)]
struct FailureLine {
    target: String,
    case: String,
    repeat: Repeat,
    /// The verdict, or the outcome where there is none.
    what: String,
    /// Why: the graders' reasons, or the provider's words.
    why: String,
}

fn show_failures(store: &Store, detail: &RunDetail, json: bool) -> Result<(), CliError> {
    let mut lines = vec![];
    store.for_each_trial::<StoreError>(detail.row.id, |exported| {
        let trial = &exported.trial;
        if trial.verdict != Some(Verdict::Pass) {
            lines.push(FailureLine {
                target: exported.target.to_string(),
                case: exported.case.to_string(),
                repeat: trial.record.key.repeat,
                what: what(trial),
                why: why(trial, &exported.scores),
            });
        }
        Ok(())
    })?;
    let text = if json {
        let whole = serde_json::json!({ "schema_version": 1, "run": detail.row.name, "failures": lines });
        serde_json::to_string_pretty(&whole).expect("a list of failures is plain data")
    } else if lines.is_empty() {
        "every trial that was asked passed".to_owned()
    } else {
        lines.iter().map(failure_text).collect()
    };
    Ok(output::data(&text)?)
}

fn failure_text(line: &FailureLine) -> String {
    format!(
        "{} · {} · repeat {} · {}\n    {}\n",
        line.target,
        visible(&line.case),
        line.repeat,
        line.what,
        visible(&line.why)
    )
}

fn what(trial: &StoredTrial) -> String {
    trial.verdict.map_or_else(|| trial.record.outcome.as_str(), Verdict::as_str).to_owned()
}

fn why(trial: &StoredTrial, scores: &[crate::domain::Score]) -> String {
    if let Some(failure) = &trial.record.failure {
        return failure.to_string();
    }
    let reasons = scores.iter().filter(|score| score.verdict != Verdict::Pass);
    let reasons: Vec<String> = reasons.map(|score| format!("{}: {}", score.grader, score.reason)).collect();
    if reasons.is_empty() { trial.record.stop_reason.clone().unwrap_or_default() } else { reasons.join("; ") }
}

fn show_case(store: &Store, detail: &RunDetail, id: &CaseId, json: bool) -> Result<(), CliError> {
    let run = detail.row.id;
    let Some((case, content)) = store.find_case(run, id)? else {
        return Err(unknown_case(store, detail, id)?);
    };
    let trials = store.trials_of_case(run, case.position)?;
    let mut text = String::new();
    let mut values = vec![];
    for trial in &trials {
        let scores = store.scores(trial.record.key)?;
        let attempts = store.attempts(trial.record.key)?;
        let target = &detail.targets[trial.record.key.target.index()].name;
        if json {
            values.push(trial_json(target.as_str(), trial, &scores, &attempts));
        } else {
            text.push_str(&trial_text(target.as_str(), trial, &scores, &attempts));
        }
    }
    if json {
        let whole = serde_json::json!({
            "schema_version": 1,
            "run": detail.row.name,
            "case": id,
            "input": content.input,
            "context": content.context,
            "expected": content.expected,
            "trials": values,
        });
        return Ok(output::data(&serde_json::to_string_pretty(&whole).expect("a case is plain data"))?);
    }
    let heading = format!(
        "case {} · cluster {} · passes if {}\n  asked     {}\n  expected  {}\n",
        visible(id.as_str()),
        visible(&case.cluster),
        case.pass_if,
        indented(content.input.last_user_message()),
        indented(&content.expected.to_string()),
    );
    let pending = if trials.is_empty() { "\nno trial of it has ended yet\n" } else { "" };
    Ok(output::data(&format!("{heading}{text}{pending}"))?)
}

/// Text below a label: harmless, its further lines indented.
fn indented(text: &str) -> String {
    visible(text.trim_end()).replace('\n', "\n            ")
}

fn trial_text(
    target: &str,
    trial: &StoredTrial,
    scores: &[crate::domain::Score],
    attempts: &[crate::domain::Attempt],
) -> String {
    let record = &trial.record;
    let mut text = format!("\n{target} · repeat {} · {}", record.key.repeat, record.outcome.as_str());
    if let Some(verdict) = trial.verdict {
        text.push_str(&format!(" · {}", verdict.as_str()));
    }
    if record.source == AnswerSource::Cache {
        text.push_str(" · answer of an earlier run");
    }
    if let Some(latency) = record.latency_ms {
        text.push_str(&format!(" · {}", milliseconds(latency)));
    }
    if let Some(cost) = record.cost {
        text.push_str(&format!(" · ${cost}"));
    }
    text.push('\n');
    if !trial.answer_kept {
        text.push_str("  answer    (not kept)\n");
    } else if !record.answer.is_empty() {
        text.push_str(&format!("  answer    {}\n", indented(&record.answer)));
    }
    if let Some(retrieved) = &record.retrieved {
        text.push_str(&retrieved_text(retrieved));
    }
    for score in scores {
        text.push_str(&format!(
            "  {:8}  {} {}\n",
            score.verdict.as_str(),
            score.grader,
            indented(&score.reason)
        ));
    }
    for attempt in attempts.iter().filter(|_| attempts.len() > 1 || record.failure.is_some()) {
        let end = match &attempt.end {
            AttemptEnd::Answered => "answered".to_owned(),
            AttemptEnd::Failed(failure) => indented(&failure.to_string()),
        };
        text.push_str(&format!(
            "  attempt   {} after {}: {end}\n",
            attempt.number,
            milliseconds(attempt.duration_ms)
        ));
        if let Some(stderr) = &attempt.stderr {
            text.push_str(&format!("  stderr    {}\n", indented(stderr)));
        }
    }
    text
}

/// What an application retrieved, best first, each passage by its beginning.
fn retrieved_text(retrieved: &[Retrieved]) -> String {
    if retrieved.is_empty() {
        return "  retrieved nothing\n".to_owned();
    }
    let line = |(at, passage): (usize, &Retrieved)| {
        let label = if at == 0 { "retrieved" } else { "" };
        let name = visible(passage.chunk.as_deref().unwrap_or(&passage.doc));
        let score = passage.score.map(|score| format!(" ({score:.2})")).unwrap_or_default();
        let words = passage.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = visible(&words);
        format!("  {label:9} {}. {name}{score}\n{:15}{}\n", at + 1, "", beginning(&words, 70))
    };
    retrieved.iter().enumerate().map(line).collect()
}

fn trial_json(
    target: &str,
    trial: &StoredTrial,
    scores: &[crate::domain::Score],
    attempts: &[crate::domain::Attempt],
) -> serde_json::Value {
    let record = &trial.record;
    let attempts: Vec<serde_json::Value> = attempts
        .iter()
        .map(|attempt| {
            let failure = match &attempt.end {
                AttemptEnd::Answered => None,
                AttemptEnd::Failed(failure) => Some(failure),
            };
            serde_json::json!({
                "number": attempt.number,
                "started_at": attempt.started_at.to_string(),
                "duration_ms": attempt.duration_ms,
                "backoff_ms": attempt.backoff_ms,
                "status": attempt.status,
                "class": failure.map(|failure| failure.class),
                "kind": failure.map(|failure| failure.kind),
                "message": failure.map(|failure| failure.message.as_str()),
                "cost_usd": attempt.cost,
                "stderr": attempt.stderr,
            })
        })
        .collect();
    serde_json::json!({
        "target": target,
        "repeat": record.key.repeat,
        "outcome": record.outcome,
        "source": record.source,
        "verdict": trial.verdict,
        "answer": trial.answer_kept.then_some(&record.answer),
        "retrieved": record.retrieved,
        "meta": record.meta,
        "scores": scores,
        "usage": record.metered.usage,
        "cost_usd": record.cost,
        "latency_ms": record.latency_ms,
        "attempts": attempts,
    })
}

fn unknown_case(store: &Store, detail: &RunDetail, id: &CaseId) -> Result<CliError, CliError> {
    let mut ids = vec![];
    store.for_each_case::<StoreError>(detail.row.id, |case| {
        ids.push(case.id);
        Ok(())
    })?;
    let near = nearest(id.as_str(), ids.iter().map(CaseId::as_str));
    Ok(CliError::Usage {
        message: format!("run `{}` has no case `{id}`", detail.row.name),
        hint: near.map(|near| format!("did you mean `{near}`?")),
    })
}
