//! Who counts the tokens of a prompt.
//!
//! OpenAI's tokenizer is public and is used as it is; for the others a length of token by kind of
//! text stands in.

use std::sync::OnceLock;

use tiktoken_rs::CoreBPE;

use super::range::whole;
use crate::{
    config::{Experiment, ProviderKind, Target},
    domain::Prompt,
    providers::{estimate_input_tokens, tokens_of},
};

/// What OpenAI's chat format puts around each message, and around all of them.
pub(super) const CHAT_PER_MESSAGE: u64 = 3;

/// Claude's tokens against the common tokenizers': these count 15 to 20 % too few of prose.
///
/// Source: Anthropic's documentation, "Token counting".
pub(super) const CLAUDE_FACTOR: f64 = 1.2;

/// Who counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// OpenAI's `o200k_base`.
    O200k,
    /// Characters a token by kind of text, for Claude.
    ClaudeCharacters,
    /// Characters a token by kind of text.
    Characters,
}

impl Tokenizer {
    /// The one for a target.
    pub fn of(experiment: &Experiment, target: &Target) -> Self {
        let model = target.settings.model.as_str();
        let openai = ["gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "o1", "o3", "o4", "chatgpt-4o"];
        let bare = model.rsplit('/').next().unwrap_or(model);
        match experiment.settings.providers[target.provider].kind {
            ProviderKind::Openai if openai.iter().any(|prefix| bare.starts_with(prefix)) => Self::O200k,
            ProviderKind::Anthropic => Self::ClaudeCharacters,
            _ => Self::Characters,
        }
    }

    /// How it is told on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k tokenizer",
            Self::ClaudeCharacters => "characters a token, Claude",
            Self::Characters => "characters a token",
        }
    }

    /// How far off it may be when no earlier run corrects it: factors of the count.
    pub(super) fn bounds(self) -> (f64, f64) {
        match self {
            Self::O200k => (0.97, 1.05),
            Self::ClaudeCharacters => (0.70, 1.50),
            Self::Characters => (0.70, 1.40),
        }
    }
}

/// The tokens of a prompt as `tokenizer` counts them.
pub fn count(tokenizer: Tokenizer, prompt: &Prompt) -> u64 {
    match tokenizer {
        Tokenizer::O200k => {
            let system = prompt.system.as_deref().map_or(0, |text| o200k(text) + CHAT_PER_MESSAGE);
            system + turns(prompt)
        }
        Tokenizer::ClaudeCharacters => scaled(estimate_input_tokens(prompt), CLAUDE_FACTOR),
        Tokenizer::Characters => estimate_input_tokens(prompt),
    }
}

pub(super) fn turns(prompt: &Prompt) -> u64 {
    let turns: u64 = prompt.messages.iter().map(|message| o200k(&message.content) + CHAT_PER_MESSAGE).sum();
    turns + CHAT_PER_MESSAGE
}

/// The tokens of a text, by OpenAI's `o200k_base`; its table is loaded when it is first asked.
pub(super) fn o200k(text: &str) -> u64 {
    static TABLE: OnceLock<Option<CoreBPE>> = OnceLock::new();
    match TABLE.get_or_init(|| tiktoken_rs::o200k_base().ok()) {
        Some(table) => table.encode_ordinary(text).len() as u64,
        None => tokens_of(text),
    }
}

/// A rounded product.
pub(super) fn scaled(tokens: u64, factor: f64) -> u64 {
    whole(tokens as f64 * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Message, Role};

    #[test]
    fn openai_prompts_are_counted_by_their_own_tokenizer() {
        assert_eq!(o200k("hello world"), 2);
        let message = Message { role: Role::User, content: "hello world".to_owned() };
        let prompt = Prompt { system: Some("hello world".into()), messages: vec![message] };
        assert_eq!(count(Tokenizer::O200k, &prompt), 2 + 3 + 2 + 3 + 3);
    }
}
