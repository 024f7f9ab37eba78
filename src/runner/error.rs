//! Why a session of a run could not go on.

use crate::store::StoreError;

/// Why a session of a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store failed: the store is the product, so the run ends.
    #[error("the store failed while the run went on")]
    Store(#[from] StoreError),
    /// A trial's task panicked.
    #[error("a trial's task failed: {0}")]
    Task(String),
}
