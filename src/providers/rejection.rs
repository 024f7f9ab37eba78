//! A request that brought no answer, with all that the response still told.

use std::fmt;

use crate::domain::{ErrorClass, Failure, FailureKind, LimitReport, Metered};

/// One request that brought no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// What went wrong and what follows from it.
    pub failure: Failure,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Tokens, where the provider counted some all the same.
    pub metered: Metered,
    /// What the response's headers said about the account's limits.
    pub limits: LimitReport,
    /// What a program wrote to its standard error meanwhile, cut.
    pub stderr: Option<String>,
    /// The text of an answer that broke off. Who sends puts its beginning into the failure's message,
    /// without the account's secrets.
    pub text: String,
}

impl Rejection {
    /// An answer of status 200 that is not what the protocol promises. It was probably billed.
    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::from(Failure {
            status: Some(200),
            may_be_billed: true,
            ..Failure::new(ErrorClass::Retry, FailureKind::Malformed, message)
        })
    }
}

impl From<Failure> for Rejection {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            request_id: None,
            metered: Metered::default(),
            limits: LimitReport::default(),
            stderr: None,
            text: String::new(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(out)
    }
}

impl std::error::Error for Rejection {}
