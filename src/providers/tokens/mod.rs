//! How many tokens a prompt has, before anyone has counted them.
//!
//! OpenAI's tokenizer is public and is used as it is; for the others a length of token by kind of
//! text stands in.

mod characters;
mod o200k;

pub use self::characters::{estimate_input_tokens, tokens_of};

use crate::domain::Prompt;

/// Claude's tokens against the common tokenizers': these count 15 to 20 % too few of prose.
///
/// Source: Anthropic's documentation, "Token counting".
const CLAUDE_FACTOR: f64 = 1.2;

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
    /// How it is told on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k tokenizer",
            Self::ClaudeCharacters => "characters a token, Claude",
            Self::Characters => "characters a token",
        }
    }

    /// How far off it may be when no earlier run corrects it: factors of the count.
    pub fn bounds(self) -> (f64, f64) {
        match self {
            Self::O200k => (0.97, 1.05),
            Self::ClaudeCharacters => (0.70, 1.50),
            Self::Characters => (0.70, 1.40),
        }
    }

    /// The tokens of a prompt.
    pub fn count(self, prompt: &Prompt) -> u64 {
        match self {
            Self::O200k => o200k::of_prompt(prompt),
            Self::ClaudeCharacters => claude(estimate_input_tokens(prompt)),
            Self::Characters => estimate_input_tokens(prompt),
        }
    }

    /// The tokens of instructions that all prompts of a target begin with.
    pub fn count_system(self, text: &str) -> u64 {
        match self {
            Self::O200k => o200k::of_system(text),
            Self::ClaudeCharacters => claude(tokens_of(text)),
            Self::Characters => tokens_of(text),
        }
    }

    /// The tokens of a prompt whose instructions have `system` of them: where every piece is counted
    /// by itself, they need not be counted again.
    pub fn count_after(self, system: u64, prompt: &Prompt) -> u64 {
        match self {
            Self::O200k => system + o200k::of_turns(prompt),
            _ => self.count(prompt),
        }
    }

    /// Whether counting takes so long that of very many prompts a sample is counted.
    pub fn is_slow(self) -> bool {
        self == Self::O200k
    }
}

fn claude(tokens: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as meant")]
    let tokens = (tokens as f64 * CLAUDE_FACTOR).round() as u64;
    tokens
}
