//! How many tokens a text has, before anyone has counted them.

mod characters;

pub use self::characters::{estimate_input_tokens, tokens_of};
