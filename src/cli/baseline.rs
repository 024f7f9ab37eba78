//! `caseload baseline set`: a side as a small file to be committed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::app::{self, DEFAULT_BASELINE, compare::need_store, find_run::shell_word};

/// Keep a side as the baseline that later runs are compared with
#[derive(Debug, Args)]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    command: BaselineCommand,
}

#[derive(Debug, Subcommand)]
enum BaselineCommand {
    Set(SetArgs),
}

/// Write a run's counts, verdicts, costs and latencies to a file to be committed
///
/// `caseload compare baseline latest` then needs no database of the old run. Answers are not kept. An older
/// baseline of the same target makes room; one file holds one target.
#[derive(Debug, Args)]
struct SetArgs {
    /// The run, or one target of it: `latest:opus-5`
    #[arg(value_name = "RUN[:TARGET]")]
    side: String,

    /// Write to this file
    #[arg(long, value_name = "FILE", default_value = DEFAULT_BASELINE)]
    file: PathBuf,

    /// Also where the file holds another target's baseline, or something else
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload baseline`.
pub(super) fn baseline(arguments: &BaselineArgs) -> Result<ExitStatus, CliError> {
    let BaselineCommand::Set(SetArgs { side, file, replace, store }) = &arguments.command;
    let store = need_store(std::slice::from_ref(side)).then(|| store.open()).transpose()?;
    let written = app::baseline::set(store.as_ref(), side, file, *replace)?;
    if let Some(before) = &written.replaced {
        output::note(&format!("in the place of {before}"));
    }
    output::note(&format!(
        "{} is the baseline: {} cases in {}\nnext:\n  commit the file\n  caseload compare {} latest",
        written.label,
        written.cases,
        file.display(),
        if file.as_os_str() == DEFAULT_BASELINE { "baseline".to_owned() } else { shell_word(file) },
    ));
    Ok(ExitStatus::Success)
}
