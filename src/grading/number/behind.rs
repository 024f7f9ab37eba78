//! What stands behind a number: an exponent, a divisor, a scale, a unit, a percent sign; or the rest of a
//! range or an expression, which makes it not one number.

use super::{
    before::is_currency,
    chars::{is_digit, is_letter, is_letter_of_an_ending, is_minus, skip_spaces, vulgar_fraction},
    ratio::Ratio,
    reading::Reading,
    run::read_run,
    scale::{scaled, word_at},
    tex::{CLOSE, OPEN},
    unit::{unit_behind, unit_end},
};
use crate::grading::phrase::is_written_without_spaces;

const PERCENT_WORDS: [&str; 10] = [
    "percent",
    "prozent",
    "pct",
    "percents",
    "pourcent",
    "por ciento",
    "per cent",
    "procent",
    "процентов",
    "asilimia",
];

/// A number with what follows it.
pub(super) struct Behind {
    pub(super) reading: Reading,
    pub(super) percent: bool,
    /// Where the number ends, scale included: a unit may stand here.
    pub(super) amount_end: usize,
    /// Where all of it ends.
    pub(super) end: usize,
}

/// What a number becomes by what stands behind it.
pub(super) fn read_behind(chars: &[char], value: Ratio, end: usize, is_money: bool) -> Behind {
    let (mut value, mut end) = powered(chars, value, end);
    if chars.get(end) == Some(&'/') && is_digit(chars, end + 1) {
        match divided(chars, &value, end) {
            Some(fraction) => (value, end) = fraction,
            None => return not_one(chars, value, end, Reading::Compound),
        }
    }
    (value, end) = scaled(chars, &value, end, is_money).unwrap_or((value, end));
    let amount_end = end;
    if let Some(percent_end) = percent_behind(chars, end) {
        return Behind { reading: Reading::Plain(value), percent: true, amount_end, end: percent_end };
    }
    if let Some(unit_end) = unit_behind(chars, end).filter(|unit_end| !goes_on(chars, *unit_end)) {
        return plain_or_term(chars, value, amount_end, unit_end);
    }
    read_glued(chars, value, end)
}

fn read_glued(chars: &[char], value: Ratio, end: usize) -> Behind {
    let next = chars.get(end + 1).copied();
    let is_ranged = is_digit(chars, end + 1) || (next.is_some_and(is_currency) && is_digit(chars, end + 2));
    match chars.get(end).copied() {
        Some('/') if is_ranged => not_one(chars, value, end, Reading::Compound),
        Some('-' | '–' | '—' | '−' | ':' | '…') if is_ranged => {
            not_one(chars, value, end, Reading::Compound)
        }
        Some('.') if next == Some('.') && is_digit(chars, end + 2 + dots(chars, end + 2)) => {
            not_one(chars, value, end, Reading::Compound)
        }
        Some('.') if next == Some(OPEN) => not_one(chars, value, end, Reading::Expression),
        Some('+') if next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '(' | '\\' | '$' | OPEN)) => {
            not_one(chars, value, end, Reading::Expression)
        }
        Some('+') => Behind { reading: Reading::Bound, percent: false, amount_end: end, end: end + 1 },
        Some('*') if next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '(' | OPEN)) => {
            not_one(chars, value, end, Reading::Expression)
        }
        Some('*') if next == Some('*') && is_digit(chars, end + 2) => {
            not_one(chars, value, end, Reading::Expression)
        }
        Some('^' | '×' | '÷' | '·' | '±' | '√' | 'π' | OPEN) => {
            not_one(chars, value, end, Reading::Expression)
        }
        Some('\\') if next.is_some_and(|c| c.is_ascii_alphabetic()) => {
            not_one(chars, value, end, Reading::Expression)
        }
        Some('‰') => glued(value, "‰".to_owned(), end, end + 1),
        // `2½` is put together where tokens are collected.
        Some(c) if vulgar_fraction(c).is_some() || is_letter_of_an_ending(c) => {
            plain_or_term(chars, value, end, end)
        }
        Some(c) if is_letter(c) || (c == '_' && next.is_some_and(char::is_alphanumeric)) => {
            let mut tail = end;
            while chars.get(tail).is_some_and(|c| is_letter(*c) || c.is_ascii_digit() || *c == '_') {
                tail += 1;
            }
            glued(value, chars[end..tail].iter().collect(), end, tail)
        }
        _ => plain_or_term(chars, value, end, end),
    }
}

fn dots(chars: &[char], at: usize) -> usize {
    chars[at.min(chars.len())..].iter().take_while(|c| **c == '.').count()
}

fn glued(value: Ratio, suffix: String, amount_end: usize, end: usize) -> Behind {
    Behind { reading: Reading::Glued(value, suffix), percent: false, amount_end, end }
}

fn not_one(chars: &[char], value: Ratio, end: usize, reading: fn(Vec<Ratio>) -> Reading) -> Behind {
    let (parts, tail) = glued_parts(chars, vec![value], end);
    Behind { reading: reading(parts), percent: false, amount_end: end, end: tail }
}

/// A number, unless an operator and an operand follow it: then it is the first term of an expression.
fn plain_or_term(chars: &[char], value: Ratio, amount_end: usize, end: usize) -> Behind {
    let reading =
        if term_follows(chars, end) { Reading::Expression(vec![value]) } else { Reading::Plain(value) };
    Behind { reading, percent: false, amount_end, end }
}

/// Whether ` + x`, ` · 5` or ` π` follows: what is worked out is not the number that it begins with.
fn term_follows(chars: &[char], end: usize) -> bool {
    let at = skip_spaces(chars, end);
    let Some(&operator) = chars.get(at) else { return false };
    if at > end && (matches!(operator, 'π' | '√') || (operator == OPEN && !is_word_of_units(chars, at))) {
        return true;
    }
    let operand = skip_spaces(chars, at + 1);
    if at == end || operand == at + 1 {
        return false;
    }
    let Some(&first) = chars.get(operand) else { return false };
    let begins_number = |at: usize| {
        is_digit(chars, at) || (chars.get(at).is_some_and(|c| is_currency(*c)) && is_digit(chars, at + 1))
    };
    let is_variable =
        first.is_ascii_lowercase() && !chars.get(operand + 1).is_some_and(|c| c.is_alphanumeric());
    let is_computed = matches!(first, OPEN | 'π' | '√') || (first == '(' && begins_number(operand + 1));
    match operator {
        '+' | '×' | '÷' | '^' | '·' => is_computed || first.is_alphanumeric() || begins_number(operand),
        '*' | '/' => is_computed || is_variable || begins_number(operand),
        c if is_minus(c) => is_computed || is_variable && first != 'a' || begins_number(operand),
        _ => false,
    }
}

/// Whether what is kept whole at `at` is a command without a number in it.
fn is_word_of_units(chars: &[char], at: usize) -> bool {
    chars[at..].iter().take_while(|c| **c != CLOSE).all(|c| !c.is_numeric() && *c != '\\')
}

/// Whether a unit is not all of a word: `5m_1`.
fn goes_on(chars: &[char], end: usize) -> bool {
    chars.get(end).is_some_and(|c| is_letter(*c) || c.is_ascii_digit() || matches!(c, '_' | '^'))
}

/// `1/5`, where nothing further is glued to the divisor but its unit.
fn divided(chars: &[char], value: &Ratio, end: usize) -> Option<(Ratio, usize)> {
    let (divisor, divisor_end) = read_run(chars, end + 1);
    let goes_on = |c: &char| {
        matches!(*c, '/' | '^' | 'π' | '\\' | OPEN) || (is_letter(*c) && !is_letter_of_an_ending(*c))
    };
    let ends = !chars.get(divisor_end).is_some_and(goes_on) || unit_end(chars, divisor_end).is_some();
    divisor
        .value
        .and_then(|divisor| value.divided_by(&divisor))
        .filter(|_| ends)
        .map(|value| (value, divisor_end))
}

/// `1.5 × 10^3`, `1.5*10**-3`, `1.5 x 10³`: the number times that power of ten.
fn powered(chars: &[char], value: Ratio, end: usize) -> (Ratio, usize) {
    let found = power_of_ten(chars, end).and_then(|(power, end)| Some((value.times_ten_to(power)?, end)));
    found.unwrap_or((value, end))
}

fn power_of_ten(chars: &[char], end: usize) -> Option<(i64, usize)> {
    let sign = skip_spaces(chars, end);
    if !matches!(chars.get(sign)?, '×' | 'x' | 'X' | '*' | '·') {
        return None;
    }
    let ten = skip_spaces(chars, sign + 1);
    if chars.get(ten..ten + 2)? != ['1', '0'] {
        return None;
    }
    let raised = match chars.get(ten + 2)? {
        '^' => ten + 3,
        '*' if chars.get(ten + 3) == Some(&'*') => ten + 4,
        _ => ten + 2,
    };
    let is_marked = raised > ten + 2;
    let plain = |c: char| if is_marked { plain_of_power(c) } else { raised_digit(c) };
    let bracket = usize::from(is_marked && matches!(chars.get(raised), Some('(' | '{')));
    let power: String = chars[raised + bracket..].iter().map_while(|c| plain(*c)).take(6).collect();
    let power_end = raised + bracket + power.chars().count();
    let closed = power_end + bracket;
    (!chars.get(closed).is_some_and(|c| is_letter(*c) || is_digit(chars, closed) || *c == '^'))
        .then(|| power.parse().ok().map(|power| (power, closed)))?
}

fn plain_of_power(c: char) -> Option<char> {
    match c {
        '−' => Some('-'),
        c if c.is_ascii_digit() || matches!(c, '-' | '+') => Some(c),
        _ => None,
    }
}

fn raised_digit(c: char) -> Option<char> {
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺".chars().position(|raised| raised == c).and_then(|at| "0123456789-+".chars().nth(at))
}

/// The numbers in what is glued to a number, up to a space, an equals sign or an angle bracket.
pub(super) fn glued_parts(chars: &[char], mut parts: Vec<Ratio>, end: usize) -> (Vec<Ratio>, usize) {
    let mut at = end;
    let mut last = end;
    let mut is_kept_whole = false;
    while let Some(&c) = chars.get(at)
        && (is_kept_whole
            || !c.is_whitespace()
                && !matches!(c, '=' | '<' | '>' | '。' | '、' | '，')
                && !is_written_without_spaces(c))
    {
        if c.is_ascii_digit() {
            let (run, run_end) = read_run(chars, at);
            parts.extend(run.value);
            at = run_end;
        } else {
            at += 1;
        }
        match c {
            OPEN => is_kept_whole = true,
            CLOSE => is_kept_whole = false,
            _ => {}
        }
        if c.is_alphanumeric() || matches!(c, ')' | '}' | CLOSE) {
            last = at;
        }
    }
    (parts, last.max(end + 1).min(at.max(end + 1)))
}

/// The end of a percent sign or word behind the number.
fn percent_behind(chars: &[char], end: usize) -> Option<usize> {
    let start = skip_spaces(chars, end);
    if chars.get(start) == Some(&'%') {
        return Some(start + 1);
    }
    let (word, mut word_end) = word_at(chars, start)?;
    let mut word = word.to_lowercase();
    if matches!(word.as_str(), "per" | "por" | "pour") {
        let (second, second_end) = word_at(chars, skip_spaces(chars, word_end))?;
        let joined = if word == "pour" { "" } else { " " };
        word = format!("{word}{joined}{}", second.to_lowercase());
        word_end = second_end;
    }
    PERCENT_WORDS.contains(&word.as_str()).then_some(word_end)
}
