//! A prompt as a model sees it, before a dialect puts it into its own words.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Message, shared};

/// A rendered prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Instructions above the conversation. Shared: most cases of a target have the same.
    #[serde(with = "shared::text")]
    pub system: Option<Arc<str>>,
    /// The conversation, oldest first, the last turn by the user.
    pub messages: Vec<Message>,
}
