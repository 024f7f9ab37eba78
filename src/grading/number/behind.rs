//! What stands behind a number: a divisor, the rest of a range or expression, scale, percent.

use super::{
    before::is_currency,
    chars::{is_digit, is_letter, skip_spaces, vulgar_fraction},
    reading::Reading,
    run::read_run,
};
use crate::grading::phrase::is_written_without_spaces;

/// Words that multiply the number before them.
const SCALES: [(&str, f64); 25] = [
    ("hundred", 1e2),
    ("thousand", 1e3),
    ("million", 1e6),
    ("millions", 1e6),
    ("billion", 1e9),
    ("billions", 1e9),
    ("bn", 1e9),
    ("trillion", 1e12),
    ("trillions", 1e12),
    ("tausend", 1e3),
    ("millionen", 1e6),
    ("mio", 1e6),
    ("milliarde", 1e9),
    ("milliarden", 1e9),
    ("mrd", 1e9),
    ("billionen", 1e12),
    ("mille", 1e3),
    ("milliard", 1e9),
    ("milliards", 1e9),
    ("mil", 1e3),
    ("millón", 1e6),
    ("millones", 1e6),
    ("lakh", 1e5),
    ("crore", 1e7),
    ("dozen", 12.0),
];

/// East Asian digits of scale, glued to the number before them.
const GLUED_SCALES: [(char, f64); 8] =
    [('千', 1e3), ('万', 1e4), ('萬', 1e4), ('億', 1e8), ('亿', 1e8), ('천', 1e3), ('만', 1e4), ('억', 1e8)];

const PERCENT_WORDS: [&str; 7] =
    ["percent", "prozent", "pct", "percents", "pourcent", "por ciento", "per cent"];

/// What a plain number becomes by what is glued to its end, and where that ends.
pub(super) fn read_behind(chars: &[char], value: f64, end: usize) -> (Reading, usize) {
    let next = chars.get(end + 1).copied();
    let next_is_digit = is_digit(chars, end + 1);
    match chars.get(end).copied() {
        Some('/') if next_is_digit => {
            let (divisor, divisor_end) = read_run(chars, end + 1);
            let ends = !chars.get(divisor_end).is_some_and(|c| matches!(c, '/' | '^') || is_letter(*c));
            match divisor.value {
                Some(divisor) if ends && divisor != 0.0 => (Reading::Plain(value / divisor), divisor_end),
                _ => compound(chars, value, end),
            }
        }
        Some('-' | '–' | '—' | ':') if next_is_digit => compound(chars, value, end),
        Some('-' | '–' | '—') if next.is_some_and(is_currency) && is_digit(chars, end + 2) => {
            compound(chars, value, end)
        }
        Some('+') if next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '(' | '\\' | '$')) => {
            expression(chars, value, end)
        }
        Some('+') => (Reading::Bound, end + 1),
        Some('*') if next == Some('*') => (Reading::Plain(value), end),
        Some('*') if next.is_some_and(|c| c.is_alphanumeric() || c == '(') => expression(chars, value, end),
        Some('^' | '×' | '÷' | '·' | '±' | '√') => expression(chars, value, end),
        Some('‰') => (Reading::Glued(value, "‰".to_owned()), end + 1),
        // `2½` is put together where tokens are collected.
        Some(c) if vulgar_fraction(c).is_some() => (Reading::Plain(value), end),
        Some(c) if is_letter(c) || (c == '_' && next.is_some_and(char::is_alphanumeric)) => {
            let mut tail = end;
            while chars.get(tail).is_some_and(|c| is_letter(*c) || c.is_ascii_digit() || *c == '_') {
                tail += 1;
            }
            (Reading::Glued(value, chars[end..tail].iter().collect()), tail)
        }
        Some(c) => match GLUED_SCALES.iter().find(|(scale, _)| *scale == c) {
            Some((_, scale)) => read_behind(chars, value * scale, end + 1),
            None => (Reading::Plain(value), end),
        },
        None => (Reading::Plain(value), end),
    }
}

fn compound(chars: &[char], value: f64, end: usize) -> (Reading, usize) {
    let (parts, tail) = glued_parts(chars, value, end);
    (Reading::Compound(parts), tail)
}

fn expression(chars: &[char], value: f64, end: usize) -> (Reading, usize) {
    let (parts, tail) = glued_parts(chars, value, end);
    (Reading::Expression(parts), tail)
}

/// The numbers in what is glued to a number, up to a space, an equals sign or an angle bracket.
fn glued_parts(chars: &[char], value: f64, end: usize) -> (Vec<f64>, usize) {
    let mut parts = vec![value];
    let mut at = end;
    let mut last = end;
    while let Some(&c) = chars.get(at)
        && !c.is_whitespace()
        && !matches!(c, '=' | '<' | '>' | '。' | '、' | '，')
        && !is_written_without_spaces(c)
    {
        if c.is_ascii_digit() {
            let (run, run_end) = read_run(chars, at);
            parts.extend(run.value);
            at = run_end;
        } else {
            at += 1;
        }
        if c.is_alphanumeric() || matches!(c, ')' | '}') {
            last = at;
        }
    }
    (parts, last.max(end + 1).min(at.max(end + 1)))
}

/// A word of scale behind the number, and where it ends.
pub(super) fn scale_behind(chars: &[char], end: usize) -> Option<(f64, usize)> {
    let start = if chars.get(end) == Some(&'-') { end + 1 } else { skip_spaces(chars, end) };
    let (word, word_end) = word_at(chars, start)?;
    let (_, scale) = SCALES.iter().find(|(scale, _)| *scale == word)?;
    Some((*scale, word_end))
}

/// The end of a percent sign or word behind the number.
pub(super) fn percent_behind(chars: &[char], end: usize) -> Option<usize> {
    let start = skip_spaces(chars, end);
    if chars.get(start) == Some(&'%') {
        return Some(start + 1);
    }
    let (mut word, mut word_end) = word_at(chars, start)?;
    if matches!(word.as_str(), "per" | "por" | "pour") {
        let (second, second_end) = word_at(chars, skip_spaces(chars, word_end))?;
        let joined = if word == "pour" { "" } else { " " };
        word = format!("{word}{joined}{second}");
        word_end = second_end;
    }
    PERCENT_WORDS.contains(&word.as_str()).then_some(word_end)
}

/// The word that starts here, in lower case, and where it ends.
fn word_at(chars: &[char], start: usize) -> Option<(String, usize)> {
    let length = chars[start.min(chars.len())..].iter().take_while(|c| is_letter(**c)).count();
    let word = chars[start.min(chars.len())..].iter().take(length).flat_map(|c| c.to_lowercase()).collect();
    (length > 0).then_some((word, start + length))
}
