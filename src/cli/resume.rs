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
        resume::{GoOn, Resumed},
    },
    domain::Cost,
    report::{dollars, left_text},
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

    /// From now on stop before more than this could be spent, in dollars, by all sessions of the run
    ///
    /// In the place of the run's budget, and kept with it.
    #[arg(long, value_name = "USD")]
    max_cost: Option<Cost>,

    #[command(flatten)]
    screen: Screen,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload resume`.
pub(super) fn resume(arguments: &ResumeArgs) -> Result<ExitStatus, CliError> {
    let how = GoOn { own_failures: arguments.failed, max_cost: arguments.max_cost };
    go_on(&arguments.run, &arguments.store.store, how, &arguments.screen)
}

/// Goes on with the run of that name.
pub(super) fn go_on(run: &str, store: &Path, how: GoOn, screen: &Screen) -> Result<ExitStatus, CliError> {
    match app::resume::begin(store, run, how)? {
        Resumed::Session(session) => {
            if let Some(budget) = how.max_cost {
                let spent = dollars(session.ledger().spent());
                let (name, budget) = (session.name(), dollars(budget));
                output::note(&format!("`{name}` may spend {budget} in all from now on; {spent} are spent"));
            }
            session::work(*session, screen)
        }
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
