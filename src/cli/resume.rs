//! `caseload resume`: go on with a run.

use clap::Args;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    grade, output,
    session::{self, Prepared, Screen},
    store_argument::{StoreArgument, find_run},
    stored_experiment::thaw,
};
use crate::{
    config,
    domain::{Cost, ErrorClass, Outcome, RunStatus},
    store::{DoneTrial, RunDetail, Store, StoreError, ToGrade},
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
    let store = arguments.store.open_to_write()?;
    let detail = find_run(&store, &arguments.run)?;
    let experiment = thaw(&store, &detail)?;
    config::missing_keys(&experiment.settings.providers).none_or(())?;
    grade::grade_stored(store, detail.row.id, &experiment, ToGrade::Ungraded)?;

    let mut store = arguments.store.open_to_write()?;
    let mut plan = session::empty_plan(&experiment);
    let mut failed = 0;
    store.for_each_done::<StoreError>(detail.row.id, |done| {
        let key = done.key;
        if asks_again(&done, arguments.failed) {
            plan.note_attempts(key.target, key.case, key.repeat, done.attempts);
        } else {
            plan.mark_done(key.target, key.case, key.repeat);
            failed += u64::from(done.outcome == Outcome::Failed);
        }
        Ok(())
    })?;
    for (key, made) in store.attempts_of_pending(detail.row.id)? {
        plan.note_attempts(key.target, key.case, key.repeat, made);
    }
    if plan.pending() == 0 {
        return finished(&store, &detail, failed, arguments);
    }
    store.set_status(detail.row.id, RunStatus::Running, None)?;
    let claim = store.claim_run(detail.row.id)?;
    let mut spent = store.spent(detail.row.id)?;
    // What may have been billed at a cost nobody told counts at its worst, as it did then.
    for (target, case, attempts) in store.unpriced_attempts(detail.row.id)? {
        let worst = experiment.worst_case(target, case).unwrap_or(Cost::ZERO);
        spent = spent.saturating_add(worst.times(attempts).unwrap_or(Cost::ZERO));
    }
    let prepared = Prepared {
        run: detail.row.id,
        name: detail.row.name.clone(),
        claim,
        experiment,
        plan,
        spent,
        failed,
        store_path: arguments.store.store.clone(),
    };
    session::work(prepared, store, &arguments.screen)
}

/// The latest run of an experiment, if trials of it are to do and nobody works on it.
pub(super) fn unfinished(path: &std::path::Path, experiment: &str) -> Result<Option<String>, CliError> {
    let store = match Store::open_read_only(path) {
        Ok(store) => store,
        Err(StoreError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let runs = store.list_runs()?;
    let latest = runs.iter().find(|run| run.experiment == experiment);
    Ok(latest.filter(|run| run.status != RunStatus::Complete).map(|run| run.name.to_string()))
}

/// Goes on with the run of that name.
pub(super) fn go_on(run: &str, store: std::path::PathBuf, screen: &Screen) -> Result<ExitStatus, CliError> {
    let store = StoreArgument { store };
    resume(&ResumeArgs { run: run.to_owned(), failed: false, screen: screen.clone(), store })
}

/// Ends a resume that has nothing to ask: the run stands as it stood, unless its process died before
/// it could say so.
fn finished(
    store: &Store,
    detail: &RunDetail,
    failed: u64,
    arguments: &ResumeArgs,
) -> Result<ExitStatus, CliError> {
    let status = if failed > 0 { RunStatus::Incomplete } else { RunStatus::Complete };
    if detail.row.status != status {
        store.set_status(detail.row.id, status, None)?;
    }
    session::print_scorecard(store, detail.row.id, arguments.screen.json)?;
    output::note("nothing to ask: every trial has ended");
    Ok(ExitStatus::of_run(status))
}

/// Whether a stored trial is asked again.
fn asks_again(done: &DoneTrial, also_own_failures: bool) -> bool {
    match done.outcome {
        Outcome::Cancelled => true,
        Outcome::Failed => also_own_failures || done.failure_class != Some(ErrorClass::ThisTrial),
        Outcome::Answered | Outcome::Truncated | Outcome::Refused | Outcome::Filtered => false,
    }
}
