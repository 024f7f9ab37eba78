//! The flipped cases of a comparison asked again, on both sides.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;

use super::{
    AppError, Session,
    compare::find_sides,
    find_run::open_to_write,
    fresh::{Source, again, budgets, create, stored},
};
use crate::{
    compare::{
        ConfirmedFlip, Count, Flipped, FreshCase, Options, Side, SideSource, compare, judge_fresh, read_sides,
    },
    config::{self, Experiment, Gates},
    domain::{CaseId, Cost, RunId, RunRow, RunStatus, TargetPos},
    store::{Confirmation, ConfirmationSides, ConfirmedCase, CreatedRun, Store},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// What fresh answers said of the flips.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmed {
    /// The version of this shape.
    pub schema_version: u32,
    /// The sides, the baseline first.
    pub sides: [String; 2],
    /// The flips; none where no case flipped.
    pub flips: Vec<ConfirmedFlip>,
}

/// Two sides, and the cases that flipped between them.
#[derive(Debug)]
pub struct Flips {
    store: PathBuf,
    sources: [Source; 2],
    sides: [Side; 2],
    flips: Vec<Flipped>,
}

/// How the flipped cases are asked again.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// How often each of them, on each side.
    pub repeats: u32,
    /// What may be spent at most, on both sides together.
    pub max_cost: Option<Cost>,
}

/// The fresh runs of both sides, made and not asked yet.
#[derive(Debug)]
pub struct FreshRuns {
    /// Their names.
    pub names: [RunId; 2],
    /// Trials of both.
    pub trials: u64,
    store: PathBuf,
    left: Vec<(CreatedRun, Experiment)>,
}

impl Flips {
    /// Finds the cases that flipped between two sides, the baseline first: the same as a comparison lists.
    ///
    /// # Errors
    /// There is no such side in the store, or they cannot be compared.
    pub fn find(path: &Path, sides: &[String; 2], allow_grader_change: bool) -> Result<Self, AppError> {
        let store = open_to_write(path)?;
        let found = find_sides(Some(&store), sides)?;
        let found = found.into_iter().map(stored).collect::<Result<Vec<_>, _>>()?;
        let sources = <[Source; 2]>::try_from(found).expect("two sides were asked for");
        let wanted = sources
            .each_ref()
            .map(|source| SideSource::Stored(Box::new(source.detail.clone()), source.target));
        let sides = <[Side; 2]>::try_from(read_sides(&wanted, path)?).expect("two sides were asked for");
        let options = Options {
            allow_grader_change,
            gates: Some(Gates::default()),
            confirmed: HashMap::new(),
            today: TimeZone::UTC.to_datetime(Timestamp::now()).date(),
        };
        let rows = compare(&sides[0], &sides[1], &options)?.flips.rows.into_iter();
        let flips = rows.map(|row| Flipped { id: row.id, direction: row.direction }).collect();
        Ok(Self { store: path.to_owned(), sources, sides, flips })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.flips.len()
    }

    /// Makes the runs that ask them again. Whatever happens then, [`judge`](Self::judge) finds them.
    ///
    /// # Errors
    /// They were asked again already, a side cannot be asked again, a key is missing, or the store cannot
    /// be written.
    pub fn ask_again(&self, asking: Asking) -> Result<FreshRuns, AppError> {
        let mut store = open_to_write(&self.store)?;
        self.never_asked_again(&store)?;
        let shares = budgets(asking.max_cost, self.sides.each_ref(), &self.flips);
        let mut experiments = vec![];
        // Fresh draws on each side, each time that it is asked again.
        let earlier = store.list_runs()?.len() as u64;
        for ((source, budget), draw) in self.sources.iter().zip(shares).zip(earlier..) {
            let experiment = again(&store, source, &self.flips, asking.repeats, budget, draw)?;
            config::missing_keys(&experiment.settings.providers).none_or(())?;
            experiments.push(experiment);
        }
        let trials = experiments.iter().map(Experiment::trials).sum();
        let mut left = vec![];
        for (source, experiment) in self.sources.iter().zip(experiments) {
            left.push((create(&mut store, source, &experiment)?, experiment));
        }
        let fresh = [&left[0].0, &left[1].0];
        let names = fresh.map(|run| run.name.clone());
        self.store_judged(&mut store, fresh.map(|run| run.id))?;
        Ok(FreshRuns { names, trials, store: self.store.clone(), left })
    }

    /// Whoever could ask until the answers suit would be told nothing by them.
    fn never_asked_again(&self, store: &Store) -> Result<(), AppError> {
        let Some(known) = store.confirmation(self.pair())? else { return Ok(()) };
        let [a, b] = known.fresh_runs.map(|run| store.run_detail(run));
        let (a, b) = (a?.row.name, b?.row.name);
        Err(AppError::hinted(
            format!("the flips of these two sides were asked again already, in `{a}` and `{b}`"),
            format!(
                "`--judge` judges by those answers, `caseload resume` completes them; to ask anew, delete \
                 them first: `caseload runs delete {a} {b}`"
            ),
        ))
    }

    /// Judges the flips by what is stored of their fresh answers, and stores that.
    ///
    /// # Errors
    /// They were never asked again, or the store fails.
    pub fn judge(&self) -> Result<Confirmed, AppError> {
        if self.flips.is_empty() {
            return Ok(self.confirmed(vec![]));
        }
        let mut store = open_to_write(&self.store)?;
        let Some(known) = store.confirmation(self.pair())? else {
            return Err(AppError::hinted(
                "the flips of these two sides were never asked again",
                "run it without --judge",
            ));
        };
        let flips = self.store_judged(&mut store, known.fresh_runs)?;
        Ok(self.confirmed(flips))
    }

    fn confirmed(&self, flips: Vec<ConfirmedFlip>) -> Confirmed {
        let sides = self.sides.each_ref().map(|side| side.label.clone());
        Confirmed { schema_version: SCHEMA_VERSION, sides, flips }
    }

    fn pair(&self) -> ConfirmationSides {
        let of = |source: &Source| (source.detail.row.id, source.target);
        ConfirmationSides { a: of(&self.sources[0]), b: of(&self.sources[1]) }
    }

    fn store_judged(
        &self,
        store: &mut Store,
        fresh_runs: [RunRow; 2],
    ) -> Result<Vec<ConfirmedFlip>, AppError> {
        let mut counts: Vec<HashMap<CaseId, Count>> = vec![];
        for run in fresh_runs {
            let side = Side::read(store, &store.run_detail(run)?, TargetPos(0))?;
            counts.push(side.cases.into_iter().map(|case| (case.id, case.count)).collect());
        }
        let count = |side: usize, id: &CaseId| counts[side].get(id).copied().unwrap_or_default();
        let fresh = self.flips.iter().map(|flip| FreshCase {
            flip: flip.clone(),
            baseline: count(0, &flip.id),
            candidate: count(1, &flip.id),
        });
        let judged =
            judge_fresh(&fresh.collect::<Vec<_>>()).expect("no case passes more often than it was asked");
        let cases = judged.iter().map(confirmed_case).collect();
        store.store_confirmation(self.pair(), &Confirmation { fresh_runs, cases })?;
        Ok(judged)
    }
}

impl FreshRuns {
    /// The next run to work on; `None` once both are done, or where the one before ended so that the
    /// other is not worth asking.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub fn next_session(&mut self, before: RunStatus) -> Result<Option<Session>, AppError> {
        if self.left.is_empty() || !matches!(before, RunStatus::Complete | RunStatus::Incomplete) {
            return Ok(None);
        }
        let (created, experiment) = self.left.remove(0);
        Ok(Some(Session::of_new(created, experiment, open_to_write(&self.store)?)))
    }
}

fn confirmed_case(flip: &ConfirmedFlip) -> ConfirmedCase {
    ConfirmedCase {
        case: flip.case.clone(),
        direction: flip.direction.as_str().to_owned(),
        a: (flip.baseline.passes, flip.baseline.measured),
        b: (flip.candidate.passes, flip.candidate.measured),
        confirmed: flip.confirmed.as_str().to_owned(),
        p: flip.p,
        q: flip.q,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{Stored, work};

    fn flips(stored: &Stored) -> Flips {
        let sides = ["test-1:good", "test-1:poor"].map(ToOwned::to_owned);
        Flips::find(&stored.path(), &sides, false).unwrap()
    }

    #[test]
    fn flipped_cases_are_asked_again_on_both_sides_and_judged_by_that_alone() {
        let stored = Stored::new();
        let flips = flips(&stored);
        assert!(flips.count() > 0);
        assert!(flips.judge().unwrap_err().to_string().contains("never asked again"));
        let mut fresh = flips.ask_again(Asking { repeats: 6, max_cost: None }).unwrap();
        assert_eq!(fresh.trials, 2 * 6 * flips.count() as u64);
        assert_eq!(fresh.names.each_ref().map(RunId::as_str), ["test-confirm-1", "test-confirm-2"]);
        let mut sessions = 0;
        while let Some(session) = fresh.next_session(RunStatus::Complete).unwrap() {
            assert_eq!(work(session).status, RunStatus::Complete);
            sessions += 1;
        }
        assert_eq!(sessions, 2);
        let confirmed = flips.judge().unwrap();
        assert_eq!(confirmed.flips.len(), flips.count());
        assert!(confirmed.flips.iter().all(|flip| flip.baseline.measured == 6));
    }

    #[test]
    fn a_budget_that_cannot_be_kept_is_refused_before_a_run_is_made() {
        let stored = Stored::new();
        let asking = Asking { repeats: 4, max_cost: "1".parse().ok() };
        let error = flips(&stored).ask_again(asking).unwrap_err().to_string();
        assert!(error.contains("model `m-good` has no price, so the budget"), "{error}");
        assert_eq!(stored.open().list_runs().unwrap().len(), 1);
    }

    #[test]
    fn answers_that_were_paid_for_are_not_replaced_by_others() {
        let stored = Stored::new();
        let flips = flips(&stored);
        let asking = Asking { repeats: 4, max_cost: None };
        flips.ask_again(asking).unwrap();
        let runs = stored.open().list_runs().unwrap().len();
        let error = flips.ask_again(asking).unwrap_err().to_string();
        assert!(error.contains("asked again already, in `test-confirm-1` and `test-confirm-2`"), "{error}");
        assert_eq!(stored.open().list_runs().unwrap().len(), runs);
    }

    #[test]
    fn after_a_side_that_was_stopped_the_other_is_not_asked() {
        let stored = Stored::new();
        let mut fresh = flips(&stored).ask_again(Asking { repeats: 4, max_cost: None }).unwrap();
        assert!(fresh.next_session(RunStatus::Budget).unwrap().is_none());
    }

    #[test]
    fn sides_without_a_flip_have_nothing_to_judge() {
        let stored = Stored::new();
        stored.run();
        let sides = ["test-1:good", "test-2:good"].map(ToOwned::to_owned);
        let flips = Flips::find(&stored.path(), &sides, false).unwrap();
        assert_eq!(flips.count(), 0);
        assert_eq!(flips.judge().unwrap().flips, []);
    }
}
