//! The budget: what flies is reserved at its worst, so that spending never passes the limit.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::domain::{Attempt, AttemptEnd, Cost};

/// What a run may spend, has spent, and has reserved for what is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: Option<Cost>,
    spent: Cost,
    reserved: Cost,
}

/// Whether a trial may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may; its worst case is reserved.
    Granted,
    /// Not before something in flight has ended for less than its worst case.
    Later,
    /// Never: nothing is in flight and it could still pass the limit.
    Never,
}

impl Budget {
    /// A budget of `limit` (`None`: without end) of which `spent` is gone.
    pub fn new(limit: Option<Cost>, spent: Cost) -> Self {
        Self { limit, spent, reserved: Cost::ZERO }
    }

    /// What was spent so far.
    pub fn spent(&self) -> Cost {
        self.spent
    }

    /// The limit, if there is one.
    pub fn limit(&self) -> Option<Cost> {
        self.limit
    }

    /// Asks for a trial that costs at most `worst`.
    pub fn admit(&mut self, worst: Cost) -> Admission {
        let Some(limit) = self.limit else { return Admission::Granted };
        if self.spent + self.reserved + worst <= limit {
            self.reserved += worst;
            return Admission::Granted;
        }
        if self.reserved == Cost::ZERO { Admission::Never } else { Admission::Later }
    }

    /// A trial that was admitted at `worst` ended and cost `spent` (attempts whose cost is not known
    /// count at their worst).
    pub fn settle(&mut self, worst: Cost, spent: Cost) {
        if self.limit.is_some() {
            self.reserved = self.reserved.saturating_sub(worst);
        }
        self.spent += spent;
    }
}

/// A budget that trials in flight ask too.
#[derive(Clone, Debug)]
pub(super) struct SharedBudget(Arc<Mutex<Budget>>);

impl SharedBudget {
    pub(super) fn new(budget: Budget) -> Self {
        Self(Arc::new(Mutex::new(budget)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Budget> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a trial whose attempts cost at most `worst` each.
    pub(super) fn admit(&self, worst: Cost) -> Result<Reservation, Admission> {
        match self.lock().admit(worst) {
            Admission::Granted => Ok(Reservation {
                budget: self.clone(),
                worst,
                attempts: AtomicU64::new(1),
                is_refused: AtomicBool::new(false),
            }),
            refused => Err(refused),
        }
    }
}

/// What is reserved for one trial in flight: the worst case of each attempt that may be billed.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: SharedBudget,
    worst: Cost,
    /// Attempts whose worst case is reserved.
    attempts: AtomicU64,
    is_refused: AtomicBool,
}

impl Reservation {
    /// Whether the trial may be asked again after `attempt`. Where that may have been billed, another
    /// worst case is reserved for the next one.
    pub(super) fn allows_repeat(&self, attempt: &Attempt) -> bool {
        let may_cost = match &attempt.end {
            AttemptEnd::Answered => true,
            AttemptEnd::Failed(failure) => failure.may_be_billed || attempt.metered.usage.is_some(),
        };
        if !may_cost {
            return true;
        }
        let granted = self.budget.lock().admit(self.worst) == Admission::Granted;
        if granted {
            self.attempts.fetch_add(1, Ordering::Relaxed);
        } else {
            self.is_refused.store(true, Ordering::Relaxed);
        }
        granted
    }

    /// Whether a repeated attempt was refused: the trial waits for room in the budget.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed)
    }

    /// The most that one attempt costs.
    pub(super) fn worst(&self) -> Cost {
        self.worst
    }

    /// The trial ended, or went back, and cost `spent`.
    pub(super) fn settle(&self, spent: Cost) {
        // Only without a limit, where it counts for nothing, could the sum be too large.
        let reserved = self.worst.times(self.attempts.load(Ordering::Relaxed)).unwrap_or(self.worst);
        self.budget.lock().settle(reserved, spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars(text: &str) -> Cost {
        text.parse().unwrap()
    }

    #[test]
    fn spending_never_passes_the_limit_at_any_moment() {
        let (limit, worst, real) = (dollars("1.00"), dollars("0.05"), dollars("0.03"));
        let mut budget = Budget::new(Some(limit), Cost::ZERO);
        let mut in_flight = 0;
        loop {
            match budget.admit(worst) {
                Admission::Granted if in_flight < 8 => in_flight += 1,
                Admission::Granted => {
                    budget.settle(worst, Cost::ZERO);
                    budget.settle(worst, real);
                    in_flight -= 1;
                }
                Admission::Later => {
                    budget.settle(worst, real);
                    in_flight -= 1;
                }
                Admission::Never => break,
            }
            assert!(budget.spent + budget.reserved <= limit);
        }
        assert_eq!(in_flight, 0);
        assert_eq!(budget.spent(), dollars("0.96"));
    }

    #[test]
    fn an_attempt_that_may_be_billed_and_its_repetition_are_both_reserved() {
        use crate::domain::{ErrorClass, Failure, FailureKind, Metered, UnixMillis};
        let attempt = |may_be_billed| Attempt {
            number: 1,
            started_at: UnixMillis(0),
            duration_ms: 1.0,
            backoff_ms: 0.0,
            end: AttemptEnd::Failed(Failure {
                may_be_billed,
                ..Failure::new(ErrorClass::Retry, FailureKind::Timeout, "late")
            }),
            status: None,
            request_id: None,
            metered: Metered::default(),
            cost: None,
            stderr: None,
        };
        let budget = SharedBudget::new(Budget::new(Some(dollars("0.10")), Cost::ZERO));
        let reservation = budget.admit(dollars("0.04")).unwrap();
        assert!(reservation.allows_repeat(&attempt(false)), "a refusal costs nothing");
        assert!(reservation.allows_repeat(&attempt(true)));
        assert!(!reservation.allows_repeat(&attempt(true)), "three worst cases are above the limit");
        assert!(reservation.is_refused());
        reservation.settle(dollars("0.08"));
        assert_eq!(budget.lock().spent(), dollars("0.08"));
        assert_eq!(budget.admit(dollars("0.02")).unwrap().worst(), dollars("0.02"));
    }

    #[test]
    fn without_a_limit_everything_is_granted_and_still_counted() {
        let mut budget = Budget::new(None, Cost::ZERO);
        assert_eq!(budget.admit(dollars("1000")), Admission::Granted);
        budget.settle(dollars("1000"), dollars("2"));
        assert_eq!(budget.spent(), dollars("2"));
    }
}
