//! `caseload store`: the life of a store: its size, copies, merging, forgetting.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::{
    config::CONFIG_FORM,
    report::{Table, count},
    store::{Forget, Merged, Store, StoreInfo},
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

/// Take one person's words out of every run and out of the file
///
/// Inputs, contexts, answers, messages and reasons go; verdicts, tokens, costs and times stay. Copies
/// of the store (`caseload store backup`, `*.before-v2`) and the golden set are yours to clean.
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
    let info = store.info()?;
    output::data(&if arguments.json { info_json(&info) } else { info_text(&store, &info) })?;
    Ok(ExitStatus::Success)
}

fn info_json(info: &StoreInfo) -> String {
    let kinds: Vec<_> = info
        .kinds
        .iter()
        .map(|kind| json!({ "kind": kind.name, "rows": kind.rows, "bytes": kind.bytes }))
        .collect();
    let runs: Vec<_> = info
        .runs
        .iter()
        .map(|run| {
            json!({
                "id": run.name,
                "trials": run.trials,
                "answer_bytes": run.answers,
                "answer_bytes_stored": run.answers_stored,
                "rest_bytes": run.rest,
            })
        })
        .collect();
    let whole = json!({
        "schema_version": 1,
        "store_version": info.version,
        "file_bytes": info.file_bytes,
        "log_bytes": info.log_bytes,
        "free_bytes": info.free_bytes,
        "kinds": kinds,
        "runs": runs,
    });
    serde_json::to_string_pretty(&whole).expect("sizes are plain data")
}

fn info_text(store: &Store, info: &StoreInfo) -> String {
    let mut kinds = Table::new(2, ["kind", "rows", "size"]);
    for kind in info.kinds.iter().filter(|kind| kind.rows > 0) {
        kinds.row([kind.name.clone(), count(kind.rows), size(kind.bytes)]);
    }
    let mut runs = Table::new(2, ["run", "trials", "answers", "stored in", "the rest, about"]);
    for run in &info.runs {
        runs.row([
            run.name.to_string(),
            count(run.trials),
            size(run.answers),
            size(run.answers_stored),
            size(run.rest),
        ]);
    }
    format!(
        "{} · version {} · {}, log {}, free {}\n\n{}\n\n{}",
        store.path().display(),
        info.version,
        size(info.file_bytes),
        size(info.log_bytes),
        size(info.free_bytes),
        kinds.text().trim_end(),
        runs.text().trim_end(),
    )
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut value = bytes as f64;
    if value < 1_000.0 {
        return format!("{bytes} B");
    }
    for unit in ["kB", "MB", "GB"] {
        value /= 1_000.0;
        if value < 999.95 {
            return format!("{value:.1} {unit}");
        }
    }
    format!("{:.1} TB", value / 1_000.0)
}

fn compact(arguments: &PlainArgs) -> Result<ExitStatus, CliError> {
    let compacted = arguments.store.open_to_write()?.compact()?;
    output::note(&format!("{} before, {} after", size(compacted.before), size(compacted.after)));
    Ok(ExitStatus::Success)
}

fn backup(arguments: &BackupArgs) -> Result<ExitStatus, CliError> {
    arguments.store.open()?.backup(&arguments.file)?;
    output::note(&format!("copied to {}", arguments.file.display()));
    Ok(ExitStatus::Success)
}

fn merge(arguments: &MergeArgs) -> Result<ExitStatus, CliError> {
    let mut store = Store::open(&arguments.store.store)?;
    for merged in store.merge(&arguments.others, arguments.renumber, &CONFIG_FORM)? {
        output::data(&match merged {
            Merged::Added { name } => format!("{name}  added"),
            Merged::Joined { name, shards, of } => format!("{name}  {shards} of {of} shards"),
            Merged::AlreadyThere { name } => format!("{name}  is there already"),
        })?;
    }
    Ok(ExitStatus::Success)
}

fn check(arguments: &PlainArgs) -> Result<ExitStatus, CliError> {
    let found = arguments.store.open()?.check()?;
    if found.is_empty() {
        output::data("nothing is wrong with the store")?;
        return Ok(ExitStatus::Success);
    }
    Err(CliError::Usage {
        message: found.join("\n"),
        hint: Some("`caseload store compact` drops orphans; damage needs a backup".to_owned()),
    })
}

fn forget(arguments: &ForgetArgs) -> Result<ExitStatus, CliError> {
    let which = match (&arguments.who.case, &arguments.who.trace) {
        (Some(case), _) => Forget::Case(case),
        (None, Some(trace)) => Forget::Trace(trace),
        (None, None) => return Err(CliError::usage("give --case or --trace")),
    };
    let forgotten = arguments.store.open_to_write()?.forget(which)?;
    output::data(&format!(
        "forgot {} in {} runs, {} trials; scores and figures stay",
        forgotten.cases.join(", "),
        count(forgotten.runs),
        count(forgotten.trials)
    ))?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_at_most_four_digits() {
        for (bytes, text) in
            [(0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (999_960, "1.0 MB"), (12_345_678_901, "12.3 GB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
