//! Who answers: one file per dialect between a neutral request and the wire.

pub mod simulator;

use crate::domain::{Failure, LimitReport, Metered};

/// An attempt that brought no answer, and what came with it all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What went wrong.
    pub failure: Failure,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Tokens, where the provider told of them in spite of the failure.
    pub metered: Metered,
    /// What the response's headers said about the account's limits.
    pub limits: LimitReport,
}
