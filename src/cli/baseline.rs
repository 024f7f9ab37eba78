//! `caseload baseline set`: a side as a small file to be committed.

use std::{fs, path::PathBuf};

use clap::{Args, Subcommand};

use super::{compare::find, error::CliError, exit_status::ExitStatus, output, store_argument::StoreArgument};
use crate::compare::{DEFAULT_BASELINE, read_sides};

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
/// `caseload compare baseline latest` then needs no database of the old run. Answers are not kept.
#[derive(Debug, Args)]
struct SetArgs {
    /// The run, or one target of it: `latest:opus-5`
    #[arg(value_name = "RUN[:TARGET]")]
    side: String,

    /// Write to this file
    #[arg(long, value_name = "FILE", default_value = DEFAULT_BASELINE)]
    file: PathBuf,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload baseline`.
pub(super) fn baseline(arguments: &BaselineArgs) -> Result<ExitStatus, CliError> {
    let BaselineCommand::Set(arguments) = &arguments.command;
    let sources = find(std::slice::from_ref(&arguments.side), &arguments.store)?;
    let sides = read_sides(&sources, &arguments.store.store)?;
    let side = sides.first().expect("one side was asked for");
    let unwritable = |error: std::io::Error| CliError::Usage {
        message: format!("{}: cannot be written: {error}", arguments.file.display()),
        hint: Some("name another file with --file".to_owned()),
    };
    if let Some(folder) = arguments.file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    // Written beside and moved over, so that an interruption leaves the old baseline whole.
    let beside = arguments.file.with_extension("json.tmp");
    fs::write(&beside, side.to_baseline())
        .and_then(|()| fs::rename(&beside, &arguments.file))
        .map_err(unwritable)?;
    output::note(&format!(
        "{} is the baseline: {} cases in {}\nnext:\n  commit the file\n  caseload compare {} latest",
        side.label,
        side.cases.len(),
        arguments.file.display(),
        if arguments.file.as_os_str() == DEFAULT_BASELINE {
            "baseline".to_owned()
        } else {
            arguments.file.display().to_string()
        },
    ));
    Ok(ExitStatus::Success)
}
