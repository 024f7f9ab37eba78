//! Going on with a run: what is pending, and what failed for a passing reason.

use std::path::Path;

use super::{
    AppError, Session,
    find_run::{find_run, open_to_write},
    grade::grade_stored,
    session::empty_plan,
    thaw::{frozen, thaw},
};
use crate::{
    config::{self, Experiment},
    domain::{Cost, ErrorClass, Outcome, RunId, RunRow, RunStatus},
    runner::TrialPlan,
    spend::Ledger,
    store::{DoneTrial, RunClaim, RunDetail, Store, StoreError, ToGrade},
};

/// A run that is gone on with.
#[derive(Debug)]
pub enum Resumed {
    /// There are trials to do.
    Session(Box<Session>),
    /// Every trial has ended.
    Finished {
        /// The run's row.
        run: RunRow,
        /// Its name.
        name: RunId,
        /// Where it stands.
        status: RunStatus,
    },
}

/// How a run is gone on with.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoOn {
    /// What failed for a reason of its own is asked again, too.
    pub own_failures: bool,
    /// What the run may spend from now on, all its sessions together, in the place of its budget. Kept with
    /// the run: later sessions keep to it.
    pub max_cost: Option<Cost>,
}

/// Prepares to go on with the run that `text` means, with the settings and cases that it began with.
/// Answers that were not graded are graded first.
///
/// # Errors
/// There is no such run, another process works on it, a key is missing, the budget cannot be kept, or the
/// store fails.
pub fn begin(path: &Path, text: &str, how: GoOn) -> Result<Resumed, AppError> {
    let store = open_to_write(path)?;
    let mut detail = find_run(&store, text)?;
    if let Some(budget) = how.max_cost {
        let mut frozen = frozen(&detail)?;
        frozen.settings.max_cost = Some(budget);
        detail.config = frozen.to_stored();
    }
    let experiment = thaw(&store, &detail)?;
    config::missing_keys(&experiment.settings.providers).none_or(())?;
    experiment.check_budget(&[])?;
    grade_stored(store, detail.row.id, &experiment, ToGrade::Ungraded)?;

    let mut store = open_to_write(path)?;
    let run = detail.row.id;
    let claim = store.claim_run(run)?;
    let Rest { plan, failed } = Rest::read(&store, &claim, &experiment, how.own_failures)?;
    if plan.pending() == 0 {
        store.give_back(claim)?;
        return finished(&store, &detail, failed);
    }
    if how.max_cost.is_some() {
        store.keep_config(&claim, &detail.config)?;
    }
    store.set_status(run, RunStatus::Running, None)?;
    let mut spent = store.spent(run)?;
    // What may have been billed at a cost nobody told counts at its worst, as it did then.
    for (target, case, attempts) in store.unpriced_attempts(run)? {
        let worst = experiment.worst_case(target, case).unwrap_or(Cost::ZERO);
        spent = spent.saturating_add(worst.times(attempts).unwrap_or(Cost::ZERO));
    }
    let ledger = Ledger::new(experiment.settings.max_cost, spent);
    let name = detail.row.name;
    Ok(Resumed::Session(Box::new(Session { run, name, claim, experiment, plan, ledger, failed, store })))
}

/// The latest run of an experiment, if trials of it are to do.
///
/// # Errors
/// The store cannot be read.
pub fn unfinished(path: &Path, experiment: &str) -> Result<Option<String>, AppError> {
    let store = match Store::open_to_read(path) {
        Ok(store) => store,
        Err(StoreError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let runs = store.list_runs()?;
    let latest = runs.iter().find(|run| run.experiment == experiment);
    Ok(latest.filter(|run| run.status != RunStatus::Complete).map(|run| run.name.to_string()))
}

/// Ends a resume that has nothing to ask: the run stands as it stood, unless its process died before
/// it could say so.
fn finished(store: &Store, detail: &RunDetail, failed: u64) -> Result<Resumed, AppError> {
    let status = if failed > 0 { RunStatus::Incomplete } else { RunStatus::Complete };
    if detail.row.status != status {
        store.set_ended(detail.row.id, status)?;
    }
    Ok(Resumed::Finished { run: detail.row.id, name: detail.row.name.clone(), status })
}

/// What of a run could still be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Trials that a resume asks.
    pub to_do: u64,
    /// Trials that failed for a reason of their own: a resume asks them only where that is wanted.
    pub failed_for_good: u64,
    /// The budget at which it stopped: only with a higher one a resume asks anything.
    pub beyond: Option<Cost>,
}

/// What of a run could still be asked; nothing of one that was decided early.
///
/// # Errors
/// The store cannot be read.
pub fn left(store: &Store, run: RunRow) -> Result<Left, AppError> {
    let detail = store.run_detail(run)?;
    let mut left = Left::default();
    if detail.row.status == RunStatus::Complete {
        return Ok(left);
    }
    if detail.row.status == RunStatus::Budget {
        left.beyond = frozen(&detail)?.settings.max_cost;
    }
    store.for_each_case::<StoreError>(run, |case| {
        left.to_do += u64::from(case.repeats) * detail.targets.len() as u64;
        Ok(())
    })?;
    store.for_each_done::<StoreError>(run, |done| {
        if !asks_again(&done, false) {
            left.to_do -= 1;
            left.failed_for_good += u64::from(done.outcome == Outcome::Failed);
        }
        Ok(())
    })?;
    Ok(left)
}

/// What is left of a run.
struct Rest {
    plan: TrialPlan,
    /// Failed trials that are not asked again.
    failed: u64,
}

impl Rest {
    /// Reads it for whoever has claimed the run: from then on nobody else makes it less.
    fn read(
        store: &Store,
        claim: &RunClaim,
        experiment: &Experiment,
        own_failures: bool,
    ) -> Result<Self, StoreError> {
        let (mut plan, mut failed) = (empty_plan(experiment), 0);
        store.for_each_done::<StoreError>(claim.run(), |done| {
            let key = done.key;
            if asks_again(&done, own_failures) {
                plan.note_attempts(key.target, key.case, key.repeat, done.attempts);
            } else {
                plan.mark_done(key.target, key.case, key.repeat);
                failed += u64::from(done.outcome == Outcome::Failed);
            }
            Ok(())
        })?;
        for (key, made) in store.attempts_of_pending(claim.run())? {
            plan.note_attempts(key.target, key.case, key.repeat, made);
        }
        Ok(Self { plan, failed })
    }
}

/// Whether a stored trial is asked again.
fn asks_again(done: &DoneTrial, own_failures: bool) -> bool {
    match done.outcome {
        Outcome::Cancelled => true,
        Outcome::Failed => own_failures || done.failure_class != Some(ErrorClass::ThisTrial),
        Outcome::Answered | Outcome::Truncated | Outcome::Refused | Outcome::Filtered => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{
            run,
            testing::{Stored, work},
        },
        domain::{CasePos, Repeat, TargetPos, TrialKey},
    };

    #[test]
    fn a_run_that_is_done_has_nothing_to_ask() {
        let stored = Stored::new();
        assert_eq!(unfinished(&stored.path(), "test").unwrap(), None);
        let resumed = begin(&stored.path(), "latest", GoOn::default()).unwrap();
        assert!(matches!(resumed, Resumed::Finished { status: RunStatus::Complete, .. }));
    }

    #[test]
    fn a_run_of_which_nothing_was_asked_is_gone_on_with_whole() {
        let stored = Stored::empty("");
        run::begin(stored.ready()).unwrap().give_up().unwrap();
        assert_eq!(unfinished(&stored.path(), "test").unwrap().as_deref(), Some("test-1"));
        let Resumed::Session(session) = begin(&stored.path(), "latest", GoOn::default()).unwrap() else {
            panic!("everything is to do")
        };
        assert_eq!(work(*session).ended, 32);
    }

    #[test]
    fn another_budget_is_kept_with_the_run() {
        let stored = Stored::empty("");
        run::begin(stored.ready()).unwrap().give_up().unwrap();
        let budget = "2.50".parse::<Cost>().unwrap();
        let refused = begin(&stored.path(), "latest", GoOn { max_cost: Some(budget), ..GoOn::default() });
        assert!(refused.unwrap_err().to_string().contains("cannot be kept"), "models of no price");
        let kept = |stored: &Stored| frozen(&find_run(&stored.open(), "latest").unwrap()).unwrap();
        assert_eq!(kept(&stored).settings.max_cost, None, "what was refused is not kept");
    }

    #[test]
    fn a_run_that_somebody_works_on_is_left_as_it_stands() {
        let stored = Stored::empty("");
        let session = run::begin(stored.ready()).unwrap();
        let store = Store::open(stored.path()).unwrap();
        store.set_status(session.run(), RunStatus::Interrupted, None).unwrap();
        assert!(begin(&stored.path(), "latest", GoOn::default()).is_err());
        assert_eq!(store.run_detail(session.run()).unwrap().row.status, RunStatus::Interrupted);
        drop(session);
        assert!(matches!(begin(&stored.path(), "latest", GoOn::default()), Ok(Resumed::Session(_))));
    }

    #[test]
    fn failures_of_a_trials_own_are_asked_again_only_where_that_is_wanted() {
        let done = |outcome, failure_class| DoneTrial {
            key: TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(0), repeat: Repeat::FIRST },
            outcome,
            failure_class,
            attempts: 1,
            gradable: false,
            has_verdict: false,
        };
        let own = done(Outcome::Failed, Some(ErrorClass::ThisTrial));
        assert!(!asks_again(&own, false) && asks_again(&own, true));
        assert!(asks_again(&done(Outcome::Failed, Some(ErrorClass::Retry)), false));
        assert!(asks_again(&done(Outcome::Cancelled, None), false));
        assert!(!asks_again(&done(Outcome::Refused, None), true));
    }

    #[test]
    fn a_store_that_is_not_there_has_no_unfinished_run() {
        assert_eq!(unfinished(&Stored::empty("").path(), "test").unwrap(), None);
    }
}
