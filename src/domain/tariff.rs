//! At what a request was served.

use serde::{Deserialize, Serialize};

/// At what a request was served: each has prices of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tariff {
    /// One by one, as requests come.
    #[default]
    Standard,
    /// By the provider's batch interface.
    Batch,
    /// Cheaper, when there is capacity.
    Flex,
    /// Dearer, ahead of others.
    Priority,
}

impl Tariff {
    /// The name as the store writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Batch => "batch",
            Self::Flex => "flex",
            Self::Priority => "priority",
        }
    }

    /// Whether it is the one that is meant where nothing is said.
    pub fn is_standard(&self) -> bool {
        *self == Self::Standard
    }
}
