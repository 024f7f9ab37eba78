//! Kinds of characters around numbers, and steps over them.

use super::{ratio::Ratio, tex::CLOSE};
use crate::grading::phrase::is_written_without_spaces;

/// A letter or a digit that is not ASCII, in a script that sets words apart by spaces.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphanumeric() && !c.is_ascii_digit() && !is_written_without_spaces(c)
}

/// A letter of the scripts of South Asia, which glue their endings to a number: `18টি`, `16కు`.
pub(super) fn is_letter_of_an_ending(c: char) -> bool {
    matches!(u32::from(c), 0x0900..=0x0DFF)
}

pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}' | '\u{85}')
}

pub(super) fn is_minus(c: char) -> bool {
    matches!(c, '-' | '–' | '−')
}

/// What opens brackets, quotation or stress around a number.
pub(super) fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '{' | '"' | '\'' | '*' | '_' | '`' | '“' | '„' | '«')
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
    while at > 0 && (is_minus(chars[at - 1]) || chars[at - 1] == '+') {
        at -= 1;
    }
    at
}

/// Whether an operand of `operator` ends before `end`, spaces aside. A dash also joins clauses, so that
/// before one only a variable, a constant or brackets that compute are operands.
pub(super) fn operand_ends(chars: &[char], end: usize, operator: char) -> bool {
    let end = skip_spaces_back(chars, end);
    let Some(&last) = end.checked_sub(1).and_then(|at| chars.get(at)) else { return false };
    if last == CLOSE || last == 'π' || last.is_ascii_digit() && operator != ':' && is_minus(operator) {
        return true;
    }
    if last == ')' {
        let open = chars[..end].iter().rev().take(60).position(|c| matches!(c, '(' | '\n'));
        let inner = open.map_or(&chars[end..end], |open| &chars[end - open..end - 1]);
        let computes = inner.iter().any(|c| matches!(c, '+' | '*' | '×' | '/' | '÷' | '^') || is_minus(*c));
        return computes || !is_minus(operator);
    }
    if !last.is_alphanumeric() {
        return matches!(last, ']' | '}' | '%') && !is_minus(operator);
    }
    let is_word = end >= 2 && chars[end - 2].is_alphanumeric();
    !is_minus(operator) || (last.is_lowercase() && !is_word && last.is_ascii())
}

/// The value of a fraction that is one character.
pub(super) fn vulgar_fraction(c: char) -> Option<Ratio> {
    let (over, under) = match c {
        '½' => (1, 2),
        '⅓' => (1, 3),
        '⅔' => (2, 3),
        '¼' => (1, 4),
        '¾' => (3, 4),
        '⅕' => (1, 5),
        '⅖' => (2, 5),
        '⅗' => (3, 5),
        '⅘' => (4, 5),
        '⅙' => (1, 6),
        '⅚' => (5, 6),
        '⅐' => (1, 7),
        '⅛' => (1, 8),
        '⅜' => (3, 8),
        '⅝' => (5, 8),
        '⅞' => (7, 8),
        '⅑' => (1, 9),
        '⅒' => (1, 10),
        '↉' => (0, 3),
        _ => return None,
    };
    Ratio::fraction(over, under)
}
