//! What stands before a number: its sign and currency, and what makes it a bound or part of an expression.

use std::ops::Range;

use super::{
    chars::{is_minus, is_opening, is_space, operand_ends, skip_spaces_back},
    tex::{CLOSE, OPEN},
};

/// Functions whose argument may stand in brackets right behind them.
const FUNCTIONS: [&str; 22] = [
    "ln", "log", "lg", "exp", "sqrt", "cbrt", "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos",
    "arctan", "sinh", "cosh", "tanh", "abs", "gcd", "lcm", "pow",
];

/// Those that may also stand before a space; `sin` is an everyday word of Spanish.
const SPACED_FUNCTIONS: [&str; 5] = ["ln", "log", "lg", "sqrt", "cbrt"];

/// What stands before a number and changes it.
pub(super) struct Before {
    pub(super) start: usize,
    pub(super) negative: bool,
    pub(super) priced: bool,
    pub(super) kind: BeforeKind,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum BeforeKind {
    Nothing,
    Bound,
    Operator,
}

pub(super) fn look_before(chars: &[char], digits: usize, previous: Option<&Range<usize>>) -> Before {
    let mut before = Before { start: digits, negative: false, priced: false, kind: BeforeKind::Nothing };
    let mut signed = false;
    while before.start > 0 {
        let start = before.start;
        let c = chars[start - 1];
        let earlier = start.checked_sub(2).map(|at| chars[at]);
        if (is_minus(c) || c == '+') && !signed {
            if earlier
                .is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '}' | '%' | '°' | CLOSE))
            {
                before.kind = BeforeKind::Operator;
                break;
            }
            if earlier == Some(c) {
                break; // a dash of two hyphens
            }
            before.negative = is_minus(c);
            signed = true;
        } else if is_currency(c) && !before.priced {
            before.priced = true;
        } else if is_space(c) && !before.priced && earlier.is_some_and(is_currency) {
            before.start -= 1;
            before.priced = true;
        } else {
            match sign_before_dressing(chars, start).filter(|_| !signed) {
                Some(sign) => {
                    before.negative = is_minus(chars[sign]);
                    signed = true;
                    before.start = sign + 1;
                }
                None => break,
            }
        }
        before.start -= 1;
    }
    if before.kind == BeforeKind::Nothing {
        before.kind = kind_before(chars, before.start, previous);
    }
    before
}

/// The sign before the brackets, braces or marks of stress in which the number at `start` stands
/// (`-\boxed{5}`, `-**5**`, `-(5)`), or before a space that only a sign can have: any behind a true
/// minus, a narrow one behind a hyphen. A hyphen before an ordinary space begins an item of a list.
fn sign_before_dressing(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    let mut is_narrow = true;
    while let Some(&c) = at.checked_sub(1).and_then(|at| chars.get(at))
        && (is_opening(c) || is_space(c))
    {
        is_narrow &= c != ' ';
        at -= 1;
    }
    let sign = at.checked_sub(1).filter(|_| at < start)?;
    let is_sign = chars[sign] == '−' || (is_narrow && matches!(chars[sign], '-' | '–' | '+'));
    let is_doubled = sign > 0 && chars[sign - 1] == chars[sign];
    (is_sign && !is_doubled && !operand_ends(chars, sign, '-')).then_some(sign)
}

fn kind_before(chars: &[char], start: usize, previous: Option<&Range<usize>>) -> BeforeKind {
    if is_operand_of_what_stands_before(chars, start, previous) {
        return BeforeKind::Operator;
    }
    let at = |index: usize| index.checked_sub(1).map(|index| chars[index]);
    let mut behind = start;
    while let Some(c) = at(behind)
        && (is_space(c) || is_opening(c) || c == '$')
    {
        behind -= 1;
    }
    let earlier = at(behind.saturating_sub(1));
    match at(behind) {
        Some('<' | '≤' | '≥' | '~' | '≈' | '≠' | '±') => BeforeKind::Bound,
        Some('=') if matches!(earlier, Some('<' | '>' | '~' | '≈' | '!' | '≠')) => BeforeKind::Bound,
        Some('>') if matches!(earlier, Some('-' | '=' | '>' | '–' | '—')) => BeforeKind::Nothing,
        Some('>') if closes_tag(chars, behind - 1) || quotes_a_block(chars, behind - 1) => {
            BeforeKind::Nothing
        }
        Some('>') => BeforeKind::Bound,
        _ => BeforeKind::Nothing,
    }
}

fn is_operand_of_what_stands_before(chars: &[char], start: usize, previous: Option<&Range<usize>>) -> bool {
    let at = |index: usize| index.checked_sub(1).map(|index| chars[index]);
    let closes_operand = |c: Option<char>| {
        c.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '}' | '%' | CLOSE))
    };
    match at(start) {
        Some('√' | '^' | '±' | CLOSE) => return true,
        Some('{') if matches!(at(start - 1), Some('^' | '_')) => return true,
        Some('_' | '*' | '/' | '×' | '÷' | '·') if closes_operand(at(start - 1)) => return true,
        // `f(3)` and `2(3)` are calls and products; after a word, `(` only opens an aside.
        Some('(') if at(start - 1).is_some_and(|c| c.is_ascii_digit() || c == ')') => return true,
        Some('(') if is_call(chars, start - 1) => return true,
        _ => {}
    }
    let left = skip_spaces_back(chars, start);
    let is_kept_whole = previous.is_some_and(|span| span.end == left && chars[span.clone()].contains(&OPEN));
    if left < start && (is_kept_whole || SPACED_FUNCTIONS.contains(&word_before(chars, left).as_str())) {
        return true;
    }
    // An operator with spaces around it and an operand before them.
    let Some(operator @ ('+' | '*' | '/' | '×' | '÷' | '·' | '^' | '-' | '–' | '−' | ':')) = at(left)
    else {
        return false;
    };
    let operand = skip_spaces_back(chars, left - 1);
    operand < left - 1
        && left < start
        && (previous.is_some_and(|previous| previous.end == operand)
            || (operator != ':' && operand_ends(chars, operand, operator)))
}

/// Whether the bracket at `bracket` opens the argument of a function: `sin(30)`, `f(3)`.
fn is_call(chars: &[char], bracket: usize) -> bool {
    let word = word_before(chars, bracket);
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_lowercase);
    is_letter || FUNCTIONS.contains(&word.as_str())
}

/// The word that ends at `end`, without what is lowered behind it (`log` of `log_2`).
fn word_before(chars: &[char], end: usize) -> String {
    let length = chars[..end].iter().rev().take(12).take_while(|c| c.is_alphanumeric() || **c == '_').count();
    let word: String = chars[end - length..end].iter().collect();
    word.split('_').next().unwrap_or_default().to_owned()
}

/// Whether the `>` at `mark` begins its line and is followed by a space, as in a quoted block.
fn quotes_a_block(chars: &[char], mark: usize) -> bool {
    let line = chars[..mark].iter().rev().take_while(|c| **c != '\n');
    line.clone().all(|c| is_space(*c) || *c == '>') && chars.get(mark + 1) == Some(&' ')
}

/// Whether the `>` at `close` ends an HTML tag on the same line.
fn closes_tag(chars: &[char], close: usize) -> bool {
    let open = chars[..close].iter().rposition(|c| matches!(c, '<' | '>' | '\n'));
    open.is_some_and(|open| {
        chars[open] == '<'
            && chars[open + 1..close]
                .first()
                .is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '|' | '!'))
    })
}

pub(super) fn is_currency(c: char) -> bool {
    matches!(c, '$' | '€' | '£' | '¥' | '¢' | '¤' | '\u{20a0}'..='\u{20c0}' | '฿' | '৳' | '﷼' | '￥' | '￡')
}
