//! What stands before a number: its sign and currency, and what makes it no plain number.

use super::chars::{is_space, skip_spaces_back};

/// TeX commands that show their argument as it is.
const SHOWING_COMMANDS: [&str; 12] = [
    "boxed",
    "fbox",
    "text",
    "textbf",
    "textit",
    "textrm",
    "emph",
    "underline",
    "mathbf",
    "mathrm",
    "mathit",
    "mbox",
];

/// What stands before a number and changes it.
pub(super) struct Before {
    pub(in crate::grading) start: usize,
    pub(super) negative: bool,
    pub(in crate::grading) kind: BeforeKind,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum BeforeKind {
    Nothing,
    Bound,
    Operator,
}

pub(super) fn look_before(chars: &[char], digits: usize, previous_end: Option<usize>) -> Before {
    let mut start = digits;
    let mut negative = false;
    let mut kind = BeforeKind::Nothing;
    let (mut signed, mut priced) = (false, false);
    while start > 0 {
        let c = chars[start - 1];
        let earlier = start.checked_sub(2).map(|at| chars[at]);
        if matches!(c, '-' | '–' | '+') && !signed {
            if earlier.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '%' | '°')) {
                kind = BeforeKind::Operator;
                break;
            }
            if earlier == Some(c) {
                break; // a dash of two hyphens
            }
            negative = matches!(c, '-' | '–');
            signed = true;
        } else if is_currency(c) && !priced {
            priced = true;
        } else if is_space(c) && !priced && earlier.is_some_and(is_currency) {
            start -= 1;
            priced = true;
        } else {
            break;
        }
        start -= 1;
    }
    if kind == BeforeKind::Nothing {
        kind = kind_before(chars, start, previous_end);
    }
    Before { start, negative, kind }
}

fn kind_before(chars: &[char], start: usize, previous_end: Option<usize>) -> BeforeKind {
    let at = |index: usize| index.checked_sub(1).map(|index| chars[index]);
    let closes_operand =
        |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '}' | '%'));
    match at(start) {
        Some('{') if is_hiding_brace(chars, start - 1) => return BeforeKind::Operator,
        Some('√' | '^' | '±') => return BeforeKind::Operator,
        Some('_' | '*' | '/' | '×' | '÷' | '·' | '(') if closes_operand(at(start - 1)) => {
            // `f(3)` and `2(3)` are calls and products; after a word, `(` only opens an aside.
            let is_product =
                chars[start - 1] != '(' || at(start - 1).is_some_and(|c| c.is_ascii_digit() || c == ')');
            if is_product {
                return BeforeKind::Operator;
            }
        }
        _ => {}
    }
    // An operator with spaces around it, after another number on the same line.
    let operator = skip_spaces_back(chars, start);
    if let Some('+' | '*' | '/' | '×' | '÷' | '·' | '^' | '-' | '–' | ':') = at(operator) {
        let left = skip_spaces_back(chars, operator - 1);
        let spaced = left < operator - 1 && operator < start;
        if spaced && previous_end == Some(left) {
            return BeforeKind::Operator;
        }
    }
    let mut behind = start;
    while let Some(c) = at(behind)
        && (is_space(c)
            || matches!(c, '(' | '[' | '{' | '"' | '\'' | '*' | '_' | '`' | '“' | '„' | '«' | '$'))
    {
        behind -= 1;
    }
    let earlier = at(behind.saturating_sub(1));
    match at(behind) {
        Some('<' | '≤' | '≥' | '~' | '≈' | '≠' | '±' | '≲' | '≳' | '≅' | '∼' | '≪' | '≫') => {
            BeforeKind::Bound
        }
        Some('=') if matches!(earlier, Some('<' | '>' | '~' | '≈' | '!' | '≠')) => BeforeKind::Bound,
        Some('>') if matches!(earlier, Some('-' | '=' | '>' | '–' | '—')) => BeforeKind::Nothing,
        Some('>') if closes_tag(chars, behind - 1) => BeforeKind::Nothing,
        Some('>') => BeforeKind::Bound,
        _ => BeforeKind::Nothing,
    }
}

/// Whether the brace at `brace` belongs to an exponent, an index or a TeX command that computes.
fn is_hiding_brace(chars: &[char], brace: usize) -> bool {
    let mut name = brace;
    while name > 0 && chars[name - 1].is_ascii_alphabetic() {
        name -= 1;
    }
    if name == brace {
        return brace > 0 && matches!(chars[brace - 1], '^' | '_');
    }
    let command: String = chars[name..brace].iter().collect();
    name > 0 && chars[name - 1] == '\\' && !SHOWING_COMMANDS.contains(&command.as_str())
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
