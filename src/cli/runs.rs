//! `caseload runs`: what is in the store.

use clap::Args;
use serde_json::json;

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    domain::RunStatus,
    report::{Table, milliseconds},
    store::{RunRow, Store},
};

/// List the runs of a store, the latest first
#[derive(Debug, Args)]
pub(super) struct RunsArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload runs`.
pub(super) fn runs(arguments: &RunsArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let rows = store.list_runs()?;
    let text = if arguments.json { json_text(&store, &rows)? } else { table(&store, &rows)? };
    output::data(&text)?;
    Ok(ExitStatus::Success)
}

/// Where a run stands: one whose process died is interrupted, whatever its row says.
fn status(store: &Store, run: &RunRow) -> Result<&'static str, CliError> {
    if run.status == RunStatus::Running && !store.is_worked_on(run.id)? {
        return Ok(RunStatus::Interrupted.as_str());
    }
    Ok(run.status.as_str())
}

fn table(store: &Store, rows: &[RunRow]) -> Result<String, CliError> {
    if rows.is_empty() {
        return Ok("no run yet: `caseload run config/demo.toml` makes one".to_owned());
    }
    let headings = ["run", "status", "began (UTC)", "took", "golden set", "fingerprint"];
    let mut table = Table::new(0, headings).left(&[1, 2, 4, 5]);
    for run in rows {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
        let took = run.finished_at.map(|end| milliseconds((end.0 - run.created_at.0) as f64));
        table.row([
            run.name.to_string(),
            status(store, run)?.to_owned(),
            run.created_at.to_string().chars().take(16).collect::<String>().replace('T', " "),
            took.unwrap_or_default(),
            run.golden_name.clone(),
            run.golden_fingerprint.to_string().chars().take(12).collect(),
        ]);
    }
    Ok(table.text())
}

fn json_text(store: &Store, rows: &[RunRow]) -> Result<String, CliError> {
    let mut list = vec![];
    for run in rows {
        list.push(json!({
            "id": run.name,
            "name": run.experiment,
            "status": status(store, run)?,
            "created_at": run.created_at.to_string(),
            "finished_at": run.finished_at.map(|end| end.to_string()),
            "stop_reason": run.stop_reason,
            "golden_name": run.golden_name,
            "golden_fingerprint": run.golden_fingerprint,
        }));
    }
    let whole = json!({ "schema_version": 1, "runs": list });
    Ok(serde_json::to_string_pretty(&whole).expect("a list of runs is plain data"))
}
