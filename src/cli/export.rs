//! `caseload export`: a run's trials as JSON lines.

use std::io::{self, BufWriter, Write};

use clap::Args;
use serde_json::json;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    store_argument::{StoreArgument, find_run},
};
use crate::store::ExportedTrial;

/// Export a run's trials as JSON lines, in golden-set order
///
/// One line a trial: case, target, repeat, outcome, answer, verdict, scores, tokens, cost, latency.
/// A line's `id` and `output` are those that a replay reads. Streams: memory does not grow with the
/// run.
#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    run: String,

    /// Export only this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload export`.
pub(super) fn export(arguments: &ExportArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let detail = find_run(&store, &arguments.run)?;
    if let Some(wanted) = &arguments.target
        && !detail.targets.iter().any(|target| target.name.as_str() == wanted)
    {
        let names: Vec<&str> = detail.targets.iter().map(|target| target.name.as_str()).collect();
        let message = format!("run `{}` has no target `{wanted}`", detail.row.name);
        return Err(CliError::Usage { message, hint: Some(format!("its targets are {}", names.join(", "))) });
    }
    let mut out = BufWriter::new(io::stdout().lock());
    store.for_each_trial::<CliError>(detail.row.id, |trial| {
        if arguments.target.as_deref().is_none_or(|wanted| trial.target.as_str() == wanted) {
            serde_json::to_writer(&mut out, &line(&trial)).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    out.flush()?;
    Ok(ExitStatus::Success)
}

fn line(trial: &ExportedTrial) -> serde_json::Value {
    let record = &trial.trial.record;
    json!({
        "id": trial.case,
        "target": trial.target,
        "repeat": record.key.repeat,
        "outcome": record.outcome,
        "output": trial.trial.answer_kept.then_some(&record.answer),
        "verdict": trial.trial.verdict,
        "scores": trial.scores,
        "failure": record.failure.as_ref().map(|failure| json!({
            "class": failure.class,
            "kind": failure.kind,
            "status": failure.status,
            "message": failure.message,
        })),
        "retrieved": record.retrieved,
        "meta": record.meta,
        "stop_reason": record.stop_reason,
        "usage": record.metered.usage,
        "usage_flag": record.metered.flag,
        "cost_usd": record.cost,
        "latency_ms": record.latency_ms,
        "first_token_ms": record.first_token_ms,
        "queue_wait_ms": record.queue_wait_ms,
        "backoff_wait_ms": record.backoff_wait_ms,
        "attempts": record.attempts,
        "request_id": record.request_id,
        "model": record.model_returned,
        "system_fingerprint": record.system_fingerprint,
        "source": record.source,
        "started_at": record.started_at.to_string(),
        "finished_at": record.finished_at.to_string(),
    })
}
