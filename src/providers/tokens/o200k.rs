//! OpenAI's own tokenizer, which is public.

use std::sync::OnceLock;

use tiktoken_rs::CoreBPE;

use super::tokens_of;
use crate::domain::Prompt;

/// What OpenAI's chat format puts around each message, and around all of them.
const CHAT_PER_MESSAGE: u64 = 3;

/// The tokens of a prompt in the chat format.
pub(super) fn of_prompt(prompt: &Prompt) -> u64 {
    prompt.system.as_deref().map_or(0, of_system) + of_turns(prompt)
}

/// The tokens of the instructions, with what stands around them.
pub(super) fn of_system(text: &str) -> u64 {
    of_text(text) + CHAT_PER_MESSAGE
}

/// The tokens of all messages after the instructions, with what stands around them.
pub(super) fn of_turns(prompt: &Prompt) -> u64 {
    let turns: u64 =
        prompt.messages.iter().map(|message| of_text(message.content.text()) + CHAT_PER_MESSAGE).sum();
    turns + CHAT_PER_MESSAGE
}

/// The tokens of a text, by OpenAI's `o200k_base`; its table is loaded when it is first asked.
fn of_text(text: &str) -> u64 {
    static TABLE: OnceLock<Option<CoreBPE>> = OnceLock::new();
    match TABLE.get_or_init(|| tiktoken_rs::o200k_base().ok()) {
        Some(table) => table.encode_ordinary(text).len() as u64,
        None => tokens_of(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Message, Role};

    #[test]
    fn openai_prompts_are_counted_by_their_own_tokenizer() {
        assert_eq!(of_text("hello world"), 2);
        let message = Message { role: Role::User, content: "hello world".into() };
        let prompt = Prompt { system: Some("hello world".into()), messages: vec![message] };
        assert_eq!(of_prompt(&prompt), 2 + 3 + 2 + 3 + 3);
    }
}
