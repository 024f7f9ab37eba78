//! What failed in a run, and one of its cases, on the screen.

use crate::{
    app::{
        failures::{FailedTrial, Failures},
        show::{ShownAttempt, ShownCase, ShownTrial},
    },
    domain::{
        AnswerSource, Retrieved,
        text::{beginning, visible},
    },
    report::format::milliseconds,
};

/// The trials that were wrong or not measured.
pub fn failures_text(failures: &Failures) -> String {
    if failures.failures.is_empty() {
        return "every trial that was asked passed".to_owned();
    }
    failures.failures.iter().map(failure_text).collect()
}

fn failure_text(failed: &FailedTrial) -> String {
    format!(
        "{} · {} · repeat {} · {}\n    {}\n",
        failed.target,
        visible(failed.case.as_str()),
        failed.repeat,
        failed.what,
        visible(&failed.why)
    )
}

/// A case: every answer, its scores and attempts.
pub fn case_text(shown: &ShownCase) -> String {
    let mut text = format!(
        "case {} · cluster {} · passes if {}\n  asked     {}\n  expected  {}\n",
        visible(shown.case.as_str()),
        visible(&shown.cluster),
        shown.pass_if,
        indented(shown.input.last_user_message()),
        indented(&shown.expected.to_string()),
    );
    text.extend(shown.trials.iter().map(trial_text));
    if shown.trials.is_empty() {
        text.push_str("\nno trial of it has ended yet\n");
    }
    text
}

/// Text below a label: harmless, its further lines indented.
fn indented(text: &str) -> String {
    visible(text.trim_end()).replace('\n', "\n            ")
}

fn trial_text(trial: &ShownTrial) -> String {
    let mut text = heading(trial);
    match &trial.answer {
        None => text.push_str("  answer    (not kept)\n"),
        Some(answer) if answer.is_empty() => {}
        Some(answer) => text.push_str(&format!("  answer    {}\n", indented(answer))),
    }
    if let Some(retrieved) = &trial.retrieved {
        text.push_str(&retrieved_text(retrieved));
    }
    for score in &trial.scores {
        text.push_str(&format!(
            "  {:8}  {} {}\n",
            score.verdict.as_str(),
            score.grader,
            indented(&score.reason)
        ));
    }
    if trial.attempts.len() > 1 || trial.failed {
        text.extend(trial.attempts.iter().map(attempt_text));
    }
    text
}

fn heading(trial: &ShownTrial) -> String {
    let mut text = format!("\n{} · repeat {} · {}", trial.target, trial.repeat, trial.outcome.as_str());
    if let Some(verdict) = trial.verdict {
        text.push_str(&format!(" · {}", verdict.as_str()));
    }
    if trial.source == AnswerSource::Cache {
        text.push_str(" · answer of an earlier run");
    }
    if let Some(latency) = trial.latency_ms {
        text.push_str(&format!(" · {}", milliseconds(latency)));
    }
    if let Some(cost) = trial.cost_usd {
        text.push_str(&format!(" · ${cost}"));
    }
    text.push('\n');
    text
}

fn attempt_text(attempt: &ShownAttempt) -> String {
    let end = match &attempt.failure {
        None => "answered".to_owned(),
        Some(failure) => indented(&failure.to_string()),
    };
    let mut text =
        format!("  attempt   {} after {}: {end}\n", attempt.number, milliseconds(attempt.duration_ms));
    if let Some(stderr) = &attempt.stderr {
        text.push_str(&format!("  stderr    {}\n", indented(stderr)));
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
