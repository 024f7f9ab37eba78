//! Why a use case could not be done.

use crate::{compare::CompareError, domain::Faults, runner::RunError, store::StoreError};

/// Why a use case could not be done.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// Files or arguments are wrong.
    #[error("{0}")]
    Faults(#[from] Faults),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run broke off.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Anything else that the user can mend, with the likely fix.
    #[error("{message}{}", hint_line(hint.as_deref()))]
    Usage {
        /// What is wrong.
        message: String,
        /// The likely fix.
        hint: Option<String>,
    },
}

fn hint_line(hint: Option<&str>) -> String {
    hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default()
}

impl AppError {
    /// A fault of usage without a hint.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: None }
    }

    /// A fault of usage with the likely fix.
    pub fn hinted(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), hint: Some(hint.into()) }
    }
}

impl From<CompareError> for AppError {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Store(error) => Self::Store(error),
            CompareError::Faults(faults) => Self::Faults(faults),
            error => Self::usage(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_stands_on_a_line_of_its_own() {
        assert_eq!(
            AppError::hinted("no such run", "look again").to_string(),
            "no such run\n  hint: look again"
        );
        assert_eq!(AppError::usage("no such run").to_string(), "no such run");
    }

    #[test]
    fn a_store_that_cannot_be_read_stays_one_through_a_comparison() {
        let error = AppError::from(CompareError::Store(StoreError::NoRuns));
        assert!(matches!(error, AppError::Store(StoreError::NoRuns)));
        let error = AppError::from(CompareError::SameSide { label: "latest".to_owned() });
        assert!(matches!(error, AppError::Usage { .. }));
    }
}
