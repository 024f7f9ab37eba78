//! How a program fails.

use crate::{
    domain::{ErrorClass, Failure, FailureKind},
    providers::Rejection,
};

/// A failure of the program's own. It may have spent money before it failed.
pub(super) fn failed(
    class: ErrorClass,
    kind: FailureKind,
    message: impl Into<String>,
    stderr: Option<String>,
) -> Rejection {
    let failure = Failure { may_be_billed: true, ..Failure::new(class, kind, message) };
    Rejection { stderr, ..Rejection::from(failure) }
}
