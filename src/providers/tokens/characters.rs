//! How many tokens a prompt will have, before anyone has counted them.
//!
//! A guess by the kind of text: about four characters a token in English prose, three in code, two
//! and a half in JSON, and far fewer in scripts that tokenizers know less well. Good enough to
//! debit a limiter, which is settled by the real usage, and to show a plan's size.

use crate::domain::{Prompt, Role};

/// What a message costs beside its text: its role and its separators.
const TOKENS_PER_MESSAGE: u64 = 4;

/// About how many input tokens `prompt` has; never 0.
pub fn estimate_input_tokens(prompt: &Prompt) -> u64 {
    let system = prompt.system.as_deref().map(|text| (Role::System, text));
    let turns = prompt.messages.iter().map(|message| (message.role, message.content.text()));
    let messages: u64 =
        system.into_iter().chain(turns).map(|(_, text)| TOKENS_PER_MESSAGE + tokens_of(text)).sum();
    messages.max(1)
}

/// About how many tokens `text` has.
pub fn tokens_of(text: &str) -> u64 {
    // Thousandths of a token, so that the sum is exact and the same on every machine.
    let ascii = Ascii::of(text);
    let other: u64 = if ascii.all == text.len() as u64 {
        0
    } else {
        text.chars().filter(|character| !character.is_ascii()).map(other_millitokens).sum()
    };
    (ascii.all * ascii.millitokens() + other).div_ceil(1_000)
}

/// The ASCII characters of a text.
struct Ascii {
    all: u64,
    code: u64,
    json: u64,
}

/// What a byte adds to the three counts, each in bits of its own; a text has fewer than 2^21 characters, or
/// is counted in pieces.
const COUNTS: [u64; 256] = {
    let mut counts = [0; 256];
    let mut byte = 0_usize;
    while byte < 128 {
        counts[byte] = 1;
        byte += 1;
    }
    let code = b"(){}[];=<>_/\\*&|#0123456789";
    let mut at = 0;
    while at < code.len() {
        counts[code[at] as usize] += 1 << 21;
        at += 1;
    }
    counts[b'"' as usize] += 1 << 42;
    counts[b':' as usize] += 1 << 42;
    counts
};

impl Ascii {
    fn of(text: &str) -> Self {
        let mut ascii = Self { all: 0, code: 0, json: 0 };
        for piece in text.as_bytes().chunks((1 << 21) - 1) {
            let sum: u64 = piece.iter().map(|byte| COUNTS[usize::from(*byte)]).sum();
            let part = |shift: u32| (sum >> shift) & ((1 << 21) - 1);
            ascii.all += part(0);
            ascii.code += part(21);
            ascii.json += part(42);
        }
        ascii
    }

    /// An ASCII character of this text: the more punctuation, the shorter its tokens.
    fn millitokens(&self) -> u64 {
        // Prose has a few in a hundred of either; markup and tables have more.
        if self.json * 100 > self.all * 12 {
            400
        } else if (self.json + self.code) * 100 > self.all * 8 {
            333
        } else {
            250
        }
    }
}

fn other_millitokens(character: char) -> u64 {
    match character {
        // Accented Latin: a part of a word that splits around it.
        '\u{00a0}'..='\u{024f}' | '\u{1e00}'..='\u{1eff}' => 600,
        // Greek, Cyrillic, Armenian, Hebrew, Arabic.
        '\u{0370}'..='\u{06ff}' => 450,
        // Dashes, quotation marks and other common punctuation.
        '\u{2000}'..='\u{206f}' => 700,
        // Kana, Hangul and Han.
        '\u{3000}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{ff00}'..='\u{ffef}' => 770,
        // Scripts of South and South-East Asia.
        '\u{0900}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => 700,
        // Emoji, rare scripts and rare Han: more than one token each.
        _ => 2_000,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Message;

    fn prompt(system: Option<&str>, turns: &[&str]) -> Prompt {
        let turn = |content: &&str| Message { role: Role::User, content: (*content).into() };
        Prompt { system: system.map(Into::into), messages: turns.iter().map(turn).collect() }
    }

    #[test]
    fn each_kind_of_text_has_its_own_length_of_token() {
        for (text, tokens) in [
            ("The quick brown fox jumps over the lazy dog again.", 13),
            ("fn main() { let x = a[0] + b[1]; print(x); }", 15),
            (r#"{"id": "a1", "value": [1, 2, 3]}"#, 13),
            ("東京は日本の首都です。", 9),
            ("Москва столица России", 10),
            ("", 0),
        ] {
            assert_eq!(tokens_of(text), tokens, "{text}");
        }
    }

    #[test]
    fn messages_add_up_and_an_empty_prompt_is_not_nothing() {
        assert_eq!(estimate_input_tokens(&Prompt::default()), 1);
        assert_eq!(estimate_input_tokens(&prompt(None, &["abcd"])), 5);
        assert_eq!(estimate_input_tokens(&prompt(Some("abcd"), &["abcd", "abcd"])), 15);
    }

    proptest! {
        #[test]
        fn more_text_is_never_fewer_tokens_than_a_tenth(text in any::<String>()) {
            let characters = text.chars().count() as u64;
            prop_assert!(tokens_of(&text) * 10 >= characters);
            prop_assert!(tokens_of(&text) <= characters * 2);
            prop_assert!(estimate_input_tokens(&prompt(None, &[&text])) > 0);
        }
    }
}
