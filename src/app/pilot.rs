//! A small, stratified part of a run, asked first.

use std::path::Path;

use super::{AppError, Ready, Session, early_stop, estimate, new_run::create_run};
use crate::{
    config::{self, Overrides},
    domain::{CasePos, Cost, Repeat, TargetPos},
    estimate::sample::stratified_sample,
    runner::RunSummary,
    spend::Ledger,
    store::Store,
};

/// A pilot that is ready to be asked.
#[derive(Debug)]
pub struct Pilot {
    /// Its session.
    pub session: Session,
    /// Trials that are left for later on purpose.
    pub later: u64,
    /// What the whole run may spend at most, once they are asked.
    pub later_budget: Option<Cost>,
}

/// Makes a run of the whole experiment, of which only a seeded, stratified sample of `cases` is asked
/// now. The repeats and the budget of `overrides` are the pilot's alone.
///
/// # Errors
/// Every fault of the files, a key is missing, or the store cannot be written.
pub fn begin(file: &Path, overrides: &Overrides, cases: usize) -> Result<Pilot, AppError> {
    let mut ready = Ready::read(file, &Overrides { repeats: None, max_cost: None, ..overrides.clone() })?;
    if overrides.max_cost.is_some() {
        // Read again with the pilot's budget, so that a budget that cannot be kept is told.
        Ready::read(file, overrides)?;
    }
    config::missing_keys(&ready.experiment.settings.providers).none_or(())?;
    let planned = &mut ready.experiment.cases;
    let sample = stratified_sample(planned, cases, ready.experiment.settings.seed);
    if let Some(repeats) = overrides.repeats {
        // Chosen before any outcome: more repeats of the sample bias nothing.
        sample.iter().for_each(|&at| planned[at].repeats = planned[at].repeats.max(repeats));
    }
    early_stop::check(&ready.store, &ready.experiment)?;
    let mut store = Store::open(&ready.store)?;
    let created = create_run(&mut store, &ready)?;
    let estimated = estimate::at_start(&store, &ready.experiment, created.id, true)?;
    store.add_estimate(created.id, &estimated)?;
    let mut session = Session::of_new(created, ready.experiment, store);
    leave_for_later(&mut session, &sample, overrides.repeats);
    let later_budget = session.experiment.settings.max_cost;
    if let Some(limit) = overrides.max_cost {
        session.experiment.settings.max_cost = Some(later_budget.map_or(limit, |whole| whole.min(limit)));
        session.ledger = Ledger::new(session.experiment.settings.max_cost, session.ledger.spent());
    }
    let later = session.plan.left_for_later();
    Ok(Pilot { session, later, later_budget })
}

/// Leaves all but the first repeats of the cases at the positions of `sample` to a resume.
fn leave_for_later(session: &mut Session, sample: &[usize], repeats: Option<u32>) {
    let targets = session.experiment.targets.len();
    let mut in_sample = sample.iter().copied().peekable();
    for (at, planned) in session.experiment.cases.iter().enumerate() {
        let is_asked = in_sample.next_if_eq(&at).is_some();
        let first_later = if is_asked { repeats.unwrap_or(planned.repeats) + 1 } else { 1 };
        let case = CasePos::at(at);
        for target in (0..targets).map(TargetPos::at) {
            for repeat in (first_later..=planned.repeats).map(Repeat) {
                session.plan.leave_for_later(target, case, repeat);
            }
        }
    }
}

/// Whether a pilot that ended so did all it was to do: what is left `later` on purpose is not missing.
pub fn is_done(summary: &RunSummary, later: u64) -> bool {
    summary.stops.is_empty() && summary.failed == 0 && summary.pending == later
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{
        resume::{self, Resumed},
        testing::{Stored, work},
    };

    #[test]
    fn a_pilot_asks_a_sample_and_a_resume_the_rest() {
        let stored = Stored::empty("");
        let Pilot { session, later, .. } = begin(&stored.experiment(), &stored.overrides(), 3).unwrap();
        assert_eq!(later, 5 * 2 * 2);
        let summary = work(session);
        assert_eq!((summary.ended, summary.pending), (3 * 2 * 2, later));
        assert!(is_done(&summary, later) && !is_done(&summary, 0));
        let Resumed::Session(rest) =
            resume::begin(&stored.path(), "latest", resume::GoOn::default()).unwrap()
        else {
            panic!("the rest is to do")
        };
        assert_eq!(work(*rest).ended, later);
    }

    #[test]
    fn its_repeats_are_its_own() {
        let stored = Stored::empty("");
        let overrides = Overrides { repeats: Some(1), ..stored.overrides() };
        let Pilot { session, later, .. } = begin(&stored.experiment(), &overrides, 3).unwrap();
        assert_eq!((work(session).ended, later), (3 * 2, 32 - 6));
    }
}
