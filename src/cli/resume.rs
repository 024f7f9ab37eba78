//! `caseload resume`: go on with a run.

use std::path::Path;

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    output,
    session::{self, Screen},
    store_argument::StoreArgument,
};
use crate::{
    app::{
        self,
        find_run::{open_to_read, store_flag},
        resume::Resumed,
    },
    report::left_text,
};

/// Go on with a run: ask what is pending, and what failed for a passing reason
///
/// The run's settings and cases are those it began with, whatever became of the files since. What was
/// answered is never asked again.
#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    run: String,

    /// Ask again what failed for a reason of its own, too (too long a context, a rejected request)
    #[arg(long)]
    failed: bool,

    #[command(flatten)]
    screen: Screen,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload resume`.
pub(super) fn resume(arguments: &ResumeArgs) -> Result<ExitStatus, CliError> {
    go_on(&arguments.run, &arguments.store.store, arguments.failed, &arguments.screen)
}

/// Goes on with the run of that name.
pub(super) fn go_on(
    run: &str,
    store: &Path,
    own_failures: bool,
    screen: &Screen,
) -> Result<ExitStatus, CliError> {
    match app::resume::begin(store, run, own_failures)? {
        Resumed::Session(session) => session::work(*session, screen),
        Resumed::Finished { run, name, status } => {
            let store = open_to_read(store)?;
            let status = session::conclude(&store, run, status, screen.json)?;
            output::note("nothing to ask: every trial has ended");
            let left = app::resume::left(&store, run)?;
            if left.failed_for_good > 0 {
                output::note(&format!("next:{}", left_text(left, &name, &store_flag(store.path()))));
            }
            Ok(status)
        }
    }
}
