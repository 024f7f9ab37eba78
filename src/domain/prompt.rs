//! A prompt as a model sees it, before a dialect puts it into its own words.

use std::sync::Arc;

use super::Message;

/// A rendered prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Instructions above the conversation. Shared: most cases of a target have the same.
    pub system: Option<Arc<str>>,
    /// The conversation, oldest first, the last turn by the user.
    pub messages: Vec<Message>,
}
