//! Kinds of characters around numbers, and steps over them.

use crate::grading::phrase::is_written_without_spaces;

/// A letter or a digit that is not ASCII, in a script that sets words apart by spaces.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !c.is_ascii_digit() && !is_written_without_spaces(c)
}

pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}' | '\u{85}')
}

pub(super) fn is_digit(chars: &[char], at: usize) -> bool {
    chars.get(at).is_some_and(char::is_ascii_digit)
}

pub(super) fn skip_spaces(chars: &[char], mut at: usize) -> usize {
    while chars.get(at).is_some_and(|c| is_space(*c)) {
        at += 1;
    }
    at
}

pub(super) fn skip_spaces_back(chars: &[char], mut at: usize) -> usize {
    while at > 0 && is_space(chars[at - 1]) {
        at -= 1;
    }
    at
}

pub(super) fn skip_signs_back(chars: &[char], mut at: usize) -> usize {
    while at > 0 && matches!(chars[at - 1], '-' | '+' | '–') {
        at -= 1;
    }
    at
}

pub(super) fn vulgar_fraction(c: char) -> Option<f64> {
    match c {
        '½' => Some(0.5),
        '¼' => Some(0.25),
        '¾' => Some(0.75),
        _ => None,
    }
}
