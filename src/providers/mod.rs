//! Who answers: one file per dialect, wire format to and from neutral request, reply and failure.

use crate::domain::{Failure, LimitReport, Metered};

/// An attempt that brought no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What went wrong and what follows from it.
    pub failure: Failure,
    /// The provider's id of the request, if one was received.
    pub request_id: Option<String>,
    /// Tokens, as far as the provider told of any.
    pub metered: Metered,
    /// What the response's headers said about the account's limits.
    pub limits: LimitReport,
}
