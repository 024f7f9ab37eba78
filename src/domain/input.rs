//! What a case asks: a string, a message with its history, or a whole conversation.

use serde::{Deserialize, Serialize};

use super::Content;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions that stand above the conversation.
    System,
    /// The person who asks.
    User,
    /// The model.
    Assistant,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
}

/// The input of a case, in the form in which its line gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Input {
    /// A single user message.
    Text(String),
    /// A whole conversation, sent as it is.
    Conversation {
        /// All turns, the last one by the user.
        messages: Vec<Message>,
    },
    /// A user message and the turns before it.
    Turn {
        /// The last user message.
        message: String,
        /// The turns before it, oldest first.
        #[serde(default)]
        history: Vec<Message>,
    },
}

impl Input {
    /// The last user message, in every form of input; empty when a conversation has none.
    pub fn last_user_message(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Turn { message, .. } => message,
            Self::Conversation { messages } => messages
                .iter()
                .rev()
                .find(|message| message.role == Role::User)
                .map_or("", |message| message.content.text()),
        }
    }

    /// The turns that go before the rendered user message; none for a bare string or a
    /// conversation, which is sent whole.
    pub fn history(&self) -> &[Message] {
        match self {
            Self::Turn { history, .. } => history,
            Self::Text(_) | Self::Conversation { .. } => &[],
        }
    }

    /// Everything that is said, one turn a line: what a quotation may be taken from.
    pub fn full_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Turn { message, history } => {
                let mut turns: Vec<&str> = history.iter().map(|turn| turn.content.text()).collect();
                turns.push(message);
                turns.join("\n")
            }
            Self::Conversation { messages } => {
                let turns: Vec<&str> = messages.iter().map(|turn| turn.content.text()).collect();
                turns.join("\n")
            }
        }
    }
}
