//! The budget: what flies is reserved at its worst, so that spending never passes the limit.

use crate::domain::Cost;

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
    fn without_a_limit_everything_is_granted_and_still_counted() {
        let mut budget = Budget::new(None, Cost::ZERO);
        assert_eq!(budget.admit(dollars("1000")), Admission::Granted);
        budget.settle(dollars("1000"), dollars("2"));
        assert_eq!(budget.spent(), dollars("2"));
    }
}
