//! The list of the protocols that the mock server speaks.

use super::{anthropic, exchange::Dialect, openai};

/// The protocols that the mock server speaks.
pub(super) static DIALECTS: &[&Dialect] = &[
    &anthropic::DIALECT,
    &openai::DIALECT,
    #[cfg(test)]
    &super::toy::DIALECT,
];
