//! `caseload grade`: grade stored answers again; no provider is called.

use clap::Args;

use super::{
    error::CliError, exit_status::ExitStatus, output, session::print_scorecard, store_argument::StoreArgument,
};
use crate::{app, report::count};

/// Grade a run's stored answers again
///
/// No provider is called: after a grader was mended, or where grading broke off, the answers that were
/// paid for are graded with the graders of the run as this program has them.
#[derive(Debug, Args)]
pub(super) struct GradeArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    run: String,

    /// Print the scorecard as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload grade`.
pub(super) fn grade(arguments: &GradeArgs) -> Result<ExitStatus, CliError> {
    let regraded = app::grade::grade(&arguments.store.store, &arguments.run)?;
    output::note(&format!("{} answers graded again", count(regraded.answers)));
    print_scorecard(&arguments.store.open()?, regraded.run, arguments.json)?;
    Ok(ExitStatus::Success)
}
