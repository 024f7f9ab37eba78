//! Text of an answer within a one-line reason.

use std::fmt::Write;

/// The longest piece of an answer that a reason quotes, in characters.
const QUOTED: usize = 80;

/// The longest reason, in characters.
const REASON: usize = 200;

/// `text` in backticks, shortened, with control and invisible characters written out.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", shortened(text, QUOTED))
}

/// The texts in backticks, with commas between.
pub(super) fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(quoted).collect::<Vec<_>>().join(", ")
}

/// A whole reason, at most 200 characters and one line.
pub(super) fn reason(text: &str) -> String {
    shortened(text, REASON)
}

fn shortened(text: &str, limit: usize) -> String {
    let is_cut = text.chars().nth(limit).is_some();
    let mut shown = String::new();
    for c in text.chars().take(if is_cut { limit - 1 } else { limit }) {
        if is_invisible(c) {
            write!(shown, "{}", c.escape_default()).expect("a string takes every character");
        } else {
            shown.push(c);
        }
    }
    if is_cut {
        shown.push('…');
    }
    shown
}

/// Control characters, and those that move or hide what stands around them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out_and_long_text_is_cut() {
        assert_eq!(quoted("a\u{1b}[31m\n\u{202e}b"), "`a\\u{1b}[31m\\n\\u{202e}b`");
        assert_eq!(reason(&"é".repeat(300)).chars().count(), 200);
        assert_eq!(reason(&"é".repeat(200)), "é".repeat(200));
    }
}
