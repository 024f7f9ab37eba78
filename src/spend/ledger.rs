//! The ledger: what flies is reserved at its worst, so that spending never passes the limit.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use crate::domain::{Attempt, AttemptEnd, Cost};

/// What a run may spend, has spent, and has reserved for what is in flight. Its clones are the same
/// ledger: calls in flight ask it, too.
#[derive(Clone, Debug)]
pub struct Ledger(Arc<Mutex<Books>>);

#[derive(Debug)]
struct Books {
    limit: Option<Cost>,
    spent: Cost,
    reserved: Cost,
}

/// Why a call may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not before something in flight has ended for less than its worst case.
    Later,
    /// Never: nothing is in flight and it could still pass the limit.
    Never {
        /// What was spent.
        spent: Cost,
        /// What may be spent.
        limit: Cost,
    },
    /// Never: there is a limit, and nobody can say what the call may cost.
    Unbounded,
}

impl Ledger {
    /// A budget of `limit` (`None`: without end) of which `spent` is gone.
    pub fn new(limit: Option<Cost>, spent: Cost) -> Self {
        Self(Arc::new(Mutex::new(Books { limit, spent, reserved: Cost::ZERO })))
    }

    /// What may be spent; `None`: without end.
    pub fn limit(&self) -> Option<Cost> {
        self.books().limit
    }

    /// What was spent so far.
    pub fn spent(&self) -> Cost {
        self.books().spent
    }

    /// What is reserved for calls in flight.
    pub fn reserved(&self) -> Cost {
        self.books().reserved
    }

    /// Asks for a call whose attempts cost at most `worst` each; `None`: nobody can say.
    ///
    /// # Errors
    /// The [`Refusal`] says whether asking again later may help.
    pub fn reserve(&self, worst: Option<Cost>) -> Result<Reservation, Refusal> {
        self.books().reserve(worst)?;
        Ok(Reservation { ledger: self.clone(), worst, attempts: AtomicU64::new(1) })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn reserve(&mut self, worst: Option<Cost>) -> Result<(), Refusal> {
        let Some(limit) = self.limit else { return Ok(()) };
        let worst = worst.ok_or(Refusal::Unbounded)?;
        if self.spent + self.reserved + worst <= limit {
            self.reserved += worst;
            return Ok(());
        }
        Err(match self.reserved {
            Cost::ZERO => Refusal::Never { spent: self.spent, limit },
            _ => Refusal::Later,
        })
    }

    fn close(&mut self, reserved: Cost, spent: Cost) {
        if self.limit.is_some() {
            self.reserved = self.reserved.saturating_sub(reserved);
        }
        self.spent += spent;
    }
}

/// What is reserved for one call in flight: the worst case of each attempt that may be billed.
///
/// Dropped without being settled (a panic, a lane that was lost), all of it counts as spent: never too
/// little.
#[derive(Debug)]
pub struct Reservation {
    ledger: Ledger,
    worst: Option<Cost>,
    /// Attempts whose worst case is reserved; none once it is settled.
    attempts: AtomicU64,
}

impl Reservation {
    /// Whether the call may be repeated after `attempt`. Where that may have been billed, another worst
    /// case is reserved for the next one.
    pub fn allows_repeat(&self, attempt: &Attempt) -> bool {
        let may_cost = match &attempt.end {
            AttemptEnd::Answered => true,
            AttemptEnd::Failed(failure) => failure.may_be_billed || attempt.metered.usage.is_some(),
        };
        if !may_cost {
            return true;
        }
        let is_granted = self.ledger.books().reserve(self.worst).is_ok();
        if is_granted {
            self.attempts.fetch_add(1, Ordering::Relaxed);
        }
        is_granted
    }

    /// The call ended, or went back, after these attempts, priced. One whose cost is not known counts at
    /// its worst.
    pub fn settle(mut self, attempts: &[Attempt]) {
        let worst = self.worst.unwrap_or_default();
        self.close(attempts.iter().map(|attempt| attempt.cost.unwrap_or(worst)).sum());
    }

    fn close(&mut self, spent: Cost) {
        let reserved = self.held();
        *self.attempts.get_mut() = 0;
        self.ledger.books().close(reserved, spent);
    }

    fn held(&self) -> Cost {
        let worst = self.worst.unwrap_or_default();
        // Only without a limit, where nothing is held, could the product be too large.
        worst.times(self.attempts.load(Ordering::Relaxed)).unwrap_or(worst)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if *self.attempts.get_mut() > 0 {
            self.close(self.held());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{ErrorClass, Failure, FailureKind, Metered, Tariff, UnixMillis};

    fn dollars(text: &str) -> Cost {
        text.parse().unwrap()
    }

    fn attempt(may_be_billed: bool, cost: Option<Cost>) -> Attempt {
        Attempt {
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
            cost,
            price: None,
            tariff: Tariff::Standard,
            stderr: None,
        }
    }

    #[test]
    fn spending_never_passes_the_limit_at_any_moment() {
        let (limit, worst, real) = (dollars("1.00"), dollars("0.05"), dollars("0.03"));
        let ledger = Ledger::new(Some(limit), Cost::ZERO);
        let mut in_flight = vec![];
        loop {
            match ledger.reserve(Some(worst)) {
                Ok(reservation) if in_flight.len() < 8 => in_flight.push(reservation),
                Ok(reservation) => {
                    reservation.settle(&[]);
                    in_flight.remove(0).settle(&[attempt(true, Some(real))]);
                }
                Err(Refusal::Later) => in_flight.remove(0).settle(&[attempt(true, Some(real))]),
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::Never { spent: dollars("0.96"), limit });
                    break;
                }
            }
            assert!(ledger.spent() + ledger.reserved() <= limit);
        }
        assert!(in_flight.is_empty());
        assert_eq!(ledger.spent(), dollars("0.96"));
    }

    #[test]
    fn an_attempt_that_may_be_billed_and_its_repetition_are_both_reserved() {
        let ledger = Ledger::new(Some(dollars("0.10")), Cost::ZERO);
        let reservation = ledger.reserve(Some(dollars("0.04"))).unwrap();
        assert!(reservation.allows_repeat(&attempt(false, None)), "a refusal costs nothing");
        assert!(reservation.allows_repeat(&attempt(true, None)));
        assert!(!reservation.allows_repeat(&attempt(true, None)), "three worst cases are above the limit");
        reservation.settle(&[attempt(true, None), attempt(true, None)]);
        assert_eq!((ledger.spent(), ledger.reserved()), (dollars("0.08"), Cost::ZERO));
        assert!(ledger.reserve(Some(dollars("0.02"))).is_ok());
    }

    #[test]
    fn without_a_limit_everything_is_granted_and_still_counted() {
        let ledger = Ledger::new(None, Cost::ZERO);
        ledger.reserve(Some(dollars("1000"))).unwrap().settle(&[attempt(true, Some(dollars("2")))]);
        ledger.reserve(None).unwrap().settle(&[attempt(true, None)]);
        assert_eq!((ledger.spent(), ledger.reserved()), (dollars("2"), Cost::ZERO));
    }

    #[test]
    fn what_nobody_can_bound_is_refused_where_there_is_a_limit() {
        let ledger = Ledger::new(Some(dollars("1")), Cost::ZERO);
        assert_eq!(ledger.reserve(None).unwrap_err(), Refusal::Unbounded);
    }

    #[test]
    fn what_was_lost_unsettled_counts_at_its_worst() {
        let ledger = Ledger::new(Some(dollars("1")), Cost::ZERO);
        let reservation = ledger.reserve(Some(dollars("0.10"))).unwrap();
        assert!(reservation.allows_repeat(&attempt(true, None)));
        drop(reservation);
        assert_eq!((ledger.spent(), ledger.reserved()), (dollars("0.20"), Cost::ZERO));
    }

    proptest! {
        /// Whatever is drawn, spending stays within the limit and nothing stays reserved.
        #[test]
        fn nothing_stays_reserved(
            limit in 0_i64..200,
            drawn in prop::collection::vec((0_u8..5, any::<usize>(), 0_i64..20), 0..200),
        ) {
            let limit = Cost::from_picodollars(limit);
            let ledger = Ledger::new(Some(limit), Cost::ZERO);
            let mut in_flight: Vec<(Reservation, Vec<Attempt>)> = vec![];
            for (action, which, amount) in drawn {
                let amount = Cost::from_picodollars(amount);
                let at = which.checked_rem(in_flight.len());
                match (action, at) {
                    (0 | 1, _) => in_flight.extend(ledger.reserve(Some(amount)).ok().map(|own| (own, vec![]))),
                    (2, Some(at)) => {
                        let made = attempt(amount > Cost::ZERO, None);
                        let (reservation, attempts) = &mut in_flight[at];
                        if reservation.allows_repeat(&made) {
                            let cost = if amount > Cost::ZERO { None } else { Some(Cost::ZERO) };
                            attempts.push(Attempt { cost, ..made });
                        }
                    }
                    (3, Some(at)) => {
                        let (reservation, mut attempts) = in_flight.swap_remove(at);
                        let worst = reservation.worst.unwrap();
                        attempts.push(attempt(true, Some(amount.min(worst))));
                        reservation.settle(&attempts);
                    }
                    (4, Some(at)) => drop(in_flight.swap_remove(at)),
                    _ => {}
                }
                prop_assert!(ledger.spent() + ledger.reserved() <= limit);
            }
            drop(in_flight);
            prop_assert_eq!(ledger.reserved(), Cost::ZERO);
            prop_assert!(ledger.spent() <= limit);
        }
    }
}
