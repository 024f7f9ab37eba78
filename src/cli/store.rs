//! `caseload store`: the life of a store: its size, copies, merging, forgetting.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    app::{Forget, Merged, store_life},
    report::{bytes, count, store_size_text},
};

/// Keep a store small, sound and movable
#[derive(Debug, Args)]
pub(super) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    Info(InfoArgs),
    /// Pack old rows, drop what nothing refers to, and give the free space back
    ///
    /// No run may be going on. When it fails, as on a full disk, the store is as it was.
    Compact(PlainArgs),
    Backup(BackupArgs),
    Merge(MergeArgs),
    /// Look for damage, broken references, orphans and texts that are not what was stored
    Check(PlainArgs),
    Forget(ForgetArgs),
}

/// How large the store is, by kind of data and by run
#[derive(Debug, Args)]
struct InfoArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Arguments of a command that needs none but the store.
#[derive(Debug, Args)]
struct PlainArgs {
    #[command(flatten)]
    store: StoreArgument,
}

/// Copy the store to FILE, whole and compacted, while a run may go on
#[derive(Debug, Args)]
struct BackupArgs {
    /// The new file
    file: PathBuf,

    #[command(flatten)]
    store: StoreArgument,
}

/// Take over the runs of other stores; shards of one experiment become one run
///
/// Shards (`caseload run --shard 3/8`) that agree in settings, golden set and seed become the run that
/// one machine would have made. All is merged, or nothing: every conflict is named.
#[derive(Debug, Args)]
struct MergeArgs {
    /// The other stores; they are only read
    #[arg(required = true, value_name = "OTHER")]
    others: Vec<PathBuf>,

    /// Give a run whose name is taken the next number of its experiment
    #[arg(long)]
    renumber: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Whose words they are.
#[derive(Debug, Args)]
#[group(id = "who", required = true, multiple = false)]
struct Who {
    /// The case of this id
    #[arg(long, value_name = "ID")]
    case: Option<String>,

    /// The cases whose `source.trace_id` is this
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
}

/// Take one person's words out of every run and out of the file
///
/// Inputs, contexts, answers, messages and reasons go; verdicts, tokens, costs and times stay. Copies
/// of the store (`caseload store backup`, `*.before-v2`) and the golden set are yours to clean. It
/// cannot be undone.
#[derive(Debug, Args)]
struct ForgetArgs {
    #[command(flatten)]
    who: Who,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload store`.
pub(super) fn store(arguments: &StoreArgs) -> Result<ExitStatus, CliError> {
    match &arguments.command {
        StoreCommand::Info(arguments) => info(arguments),
        StoreCommand::Compact(arguments) => compact(arguments),
        StoreCommand::Backup(arguments) => backup(arguments),
        StoreCommand::Merge(arguments) => merge(arguments),
        StoreCommand::Check(arguments) => check(arguments),
        StoreCommand::Forget(arguments) => forget(arguments),
    }
}

fn info(arguments: &InfoArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open()?;
    let sizes = store_life::size(&store)?;
    output::either(arguments.json, &sizes, || store_size_text(&store.path().display().to_string(), &sizes))?;
    Ok(ExitStatus::Success)
}

fn compact(arguments: &PlainArgs) -> Result<ExitStatus, CliError> {
    let compacted = store_life::compact(&arguments.store.store)?;
    output::note(&format!("{} before, {} after", bytes(compacted.before), bytes(compacted.after)));
    Ok(ExitStatus::Success)
}

fn backup(arguments: &BackupArgs) -> Result<ExitStatus, CliError> {
    store_life::backup(&arguments.store.open()?, &arguments.file)?;
    output::note(&format!("copied to {}", arguments.file.display()));
    Ok(ExitStatus::Success)
}

fn merge(arguments: &MergeArgs) -> Result<ExitStatus, CliError> {
    for merged in store_life::merge(&arguments.store.store, &arguments.others, arguments.renumber)? {
        output::data(&match merged {
            Merged::Added { name } => format!("{name}  added"),
            Merged::Joined { name, shards, of } => format!("{name}  {shards} of {of} shards"),
            Merged::AlreadyThere { name } => format!("{name}  is there already"),
        })?;
    }
    Ok(ExitStatus::Success)
}

fn check(arguments: &PlainArgs) -> Result<ExitStatus, CliError> {
    store_life::check(&arguments.store.open()?)?;
    output::data("nothing is wrong with the store")?;
    Ok(ExitStatus::Success)
}

fn forget(arguments: &ForgetArgs) -> Result<ExitStatus, CliError> {
    let which = match (&arguments.who.case, &arguments.who.trace) {
        (Some(case), _) => Forget::Case(case),
        (None, Some(trace)) => Forget::Trace(trace),
        (None, None) => return Err(CliError::usage("give --case or --trace")),
    };
    let forgotten = store_life::forget(&arguments.store.store, which)?;
    output::data(&format!(
        "forgot {} in {} runs, {} trials; scores and figures stay",
        forgotten.cases.join(", "),
        count(forgotten.runs),
        count(forgotten.trials)
    ))?;
    Ok(ExitStatus::Success)
}
