//! What may be spent and what was: the one arithmetic of money for runs, estimates and whatever else asks.
//!
//! [`Prices`] turns tokens into money, [`Ledger`] keeps a run within its budget. Neither sends, stores or
//! waits.

mod ledger;
mod pricing;

pub use self::{
    ledger::{Ledger, Refusal, Reservation},
    pricing::Prices,
};
