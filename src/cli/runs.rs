//! `caseload runs`: what is in the store.

use clap::{Args, Subcommand};

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    app::runs::{self, Going},
    report::runs_text,
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
        Some(RunsCommand::Delete(DeleteArgs { runs, dry_run, store })) => {
            delete(store, &Going::Named(runs.clone()), *dry_run)
        }
        Some(RunsCommand::Keep(KeepArgs { last, per_name, dry_run, store })) => {
            delete(store, &Going::AllBut { last: *last, per_name: *per_name }, *dry_run)
        }
    }
}

fn delete(store: &StoreArgument, going: &Going, dry_run: bool) -> Result<ExitStatus, CliError> {
    let word = if dry_run { "would be deleted" } else { "deleted" };
    let gone = runs::delete::<CliError>(&store.store, going, dry_run, |name| {
        Ok(output::data(&format!("{name}  {word}"))?)
    })?;
    if gone == 0 {
        output::note("no run to delete");
    }
    Ok(ExitStatus::Success)
}

fn list(arguments: &RunsArgs) -> Result<ExitStatus, CliError> {
    let list = runs::list(&arguments.store.open()?)?;
    output::either(arguments.json, &list, || runs_text(&list))?;
    Ok(ExitStatus::Success)
}
