//! `caseload runs`: what is in the store.

use std::collections::HashMap;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    domain::RunStatus,
    report::{Table, milliseconds},
    store::{ListedRun, Store},
};

/// List the runs of a store, the latest first, or delete some
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct RunsArgs {
    #[command(subcommand)]
    command: Option<RunsCommand>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    Delete(DeleteArgs),
    Keep(KeepArgs),
}

/// Delete runs with all that belongs to them alone
///
/// Readers and a run that goes on do not wait for it. `caseload store compact` gives the space back.
#[derive(Debug, Args)]
struct DeleteArgs {
    /// The runs: names, beginnings of names, `latest` or `latest~1`
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<String>,

    /// Only list what would go
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Keep the latest runs and delete the others
#[derive(Debug, Args)]
struct KeepArgs {
    /// How many to keep
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,

    /// So many of each experiment
    #[arg(long)]
    per_name: bool,

    /// Only list what would go
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload runs`.
pub(super) fn runs(arguments: &RunsArgs) -> Result<ExitStatus, CliError> {
    match &arguments.command {
        None => list(arguments),
        Some(RunsCommand::Delete(arguments)) => delete(arguments),
        Some(RunsCommand::Keep(arguments)) => keep(arguments),
    }
}

fn delete(arguments: &DeleteArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open_to_write()?;
    // All are found before any goes: `latest latest~1` means the last two.
    let mut chosen: Vec<ListedRun> = vec![];
    for text in &arguments.runs {
        let row = store.find_run(text)?;
        if chosen.iter().all(|known| known.id != row.id) {
            chosen.push(row);
        }
    }
    delete_all(store, &chosen, arguments.dry_run)
}

fn keep(arguments: &KeepArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open_to_write()?;
    let mut kept: HashMap<String, u32> = HashMap::new();
    let mut going = vec![];
    for run in store.list_runs()? {
        let name = if arguments.per_name { run.experiment.clone() } else { String::new() };
        let kept = kept.entry(name).or_default();
        // A run that is being worked on is kept and counts.
        if *kept < arguments.last || store.is_worked_on(run.id)? {
            *kept += 1;
        } else {
            going.push(run);
        }
    }
    delete_all(store, &going, arguments.dry_run)
}

fn delete_all(mut store: Store, runs: &[ListedRun], dry_run: bool) -> Result<ExitStatus, CliError> {
    if !dry_run {
        store.finish_deletions()?;
    }
    for run in runs {
        if !dry_run {
            store.delete_run(run.id)?;
        }
        let word = if dry_run { "would be deleted" } else { "deleted" };
        output::data(&format!("{}  {word}", run.name))?;
    }
    if runs.is_empty() {
        output::note("no run to delete");
    }
    Ok(ExitStatus::Success)
}

fn list(arguments: &RunsArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let rows = store.list_runs()?;
    let text = if arguments.json { json_text(&store, &rows)? } else { table(&store, &rows)? };
    output::data(&text)?;
    Ok(ExitStatus::Success)
}

/// Where a run stands: one whose process died is interrupted, whatever its row says.
fn status(store: &Store, run: &ListedRun) -> Result<&'static str, CliError> {
    if run.status == RunStatus::Running && !store.is_worked_on(run.id)? {
        return Ok(RunStatus::Interrupted.as_str());
    }
    Ok(run.status.as_str())
}

fn table(store: &Store, rows: &[ListedRun]) -> Result<String, CliError> {
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

fn json_text(store: &Store, rows: &[ListedRun]) -> Result<String, CliError> {
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
