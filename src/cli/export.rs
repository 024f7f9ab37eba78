//! `caseload export`: a run's trials as JSON lines.

use std::io::{self, BufWriter, Write};

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, store_argument::StoreArgument};
use crate::{app, domain::text::visible_json};

/// Export a run's trials as JSON lines, in golden-set order
///
/// One line a trial: case, target, repeat, outcome, answer, verdict, scores, tokens, cost, latency.
/// A replay reads the lines of one target as they are. Streams: memory does not grow with the run.
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
    let mut out = BufWriter::new(io::stdout().lock());
    app::export::export::<CliError>(&store, &arguments.run, arguments.target.as_deref(), |line| {
        let line = serde_json::to_string(line).map_err(io::Error::from)?;
        Ok(writeln!(out, "{}", visible_json(&line))?)
    })?;
    out.flush()?;
    Ok(ExitStatus::Success)
}
