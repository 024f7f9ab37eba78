//! A run of digits with its separators, as a value.

use super::ratio::Ratio;

/// A run as it is read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    /// Its value; `None` when its separators make no single number, as in `1.2.3`.
    pub(super) value: Option<Ratio>,
    /// Its groups of digits, each as a number.
    pub(super) groups: Vec<Ratio>,
    /// A single comma is read as a decimal one.
    pub(super) decimal_comma: bool,
}

/// Reads the digits and single separators that start at `start`, and spaces between groups of three
/// digits; returns where they end.
pub(super) fn read_run(chars: &[char], start: usize) -> (Run, usize) {
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut groups: Vec<String> = vec![];
    let mut separators: Vec<char> = vec![];
    let mut at = start;
    if chars[at] == '.' {
        groups.push("0".to_owned());
        separators.push('.');
        at += 1;
    }
    loop {
        let digits: String = chars[at..].iter().take_while(|c| c.is_ascii_digit()).collect();
        at += digits.len();
        groups.push(digits);
        match chars.get(at) {
            Some(&c @ ('.' | ',' | '\'' | '_')) if is_digit(at + 1) => separators.push(c),
            Some(&c) if is_group_space(c) && spaced_group_follows(chars, at, &groups, &separators) => {
                separators.push(' ');
            }
            _ => break,
        }
        at += 1;
    }
    let mut text = decimal_text(&groups, &separators);
    if let Some(text) = &mut text
        && let Some((exponent, end)) = exponent_at(chars, at)
    {
        text.push_str(&exponent);
        at = end;
    }
    let decimal_comma = separators == [','] && text.as_ref().is_some_and(|text| text.contains('.'));
    let value = text.and_then(|text| Ratio::parse(&text));
    let groups = groups.iter().filter_map(|group| Ratio::parse(group)).collect();
    (Run { value, groups, decimal_comma }, at)
}

/// Spaces that separate thousands; the ordinary one is among them.
fn is_group_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Whether exactly three digits follow the space at `at`, as a further group of the same number.
fn spaced_group_follows(chars: &[char], at: usize, groups: &[String], separators: &[char]) -> bool {
    let all_spaced = separators.iter().all(|separator| *separator == ' ');
    let first_is_short = (1..=3).contains(&groups[0].len()) && groups[0] != "0";
    let digits = chars[at + 1..].iter().take_while(|c| c.is_ascii_digit()).count();
    // `5 200,000` are two numbers: the comma groups the second one.
    let behind = chars.get(at + 4..).unwrap_or_default();
    let is_grouped_itself =
        behind.first() == Some(&',') && behind.iter().skip(1).take_while(|c| c.is_ascii_digit()).count() == 3;
    let is_other_token = behind.first().is_some_and(|c| matches!(c, '/' | ':'));
    all_spaced && first_is_short && digits == 3 && !is_grouped_itself && !is_other_token
}

/// The run with a point before its decimals and nothing between its thousands, or `None` when its separators contradict each other.
fn decimal_text(groups: &[String], separators: &[char]) -> Option<String> {
    let last = separators.last().copied();
    let is_grouped = |count: usize| {
        let (first, rest) = (&groups[0], &groups[1..count]);
        let by_three = (1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3);
        first != "0" && (by_three || separators[0] == ',' && is_grouped_as_in_india(first, rest))
    };
    let uniform = separators.windows(2).all(|pair| pair[0] == pair[1]);
    match last {
        None => Some(groups[0].clone()),
        Some(',' | '\'' | ' ' | '_') if uniform && is_grouped(groups.len()) => Some(groups.concat()),
        Some('.') if uniform && separators.len() > 1 && is_grouped(groups.len()) => Some(groups.concat()),
        Some('.' | ',') if separators.len() == 1 => Some(groups.join(".")),
        Some(decimal @ ('.' | ',')) => {
            // Thousands by one separator, the decimals by another.
            let (fraction, whole) = groups.split_last()?;
            let thousands = &separators[..separators.len() - 1];
            let distinct = thousands.iter().all(|c| *c == thousands[0] && *c != decimal);
            (distinct && is_grouped(whole.len())).then(|| format!("{}.{fraction}", whole.concat()))
        }
        Some(_) => None,
    }
}

/// `1,00,000`: three digits at the end, two in each group before.
fn is_grouped_as_in_india(first: &str, rest: &[String]) -> bool {
    let Some((last, middle)) = rest.split_last().filter(|(_, middle)| !middle.is_empty()) else {
        return false;
    };
    (1..=2).contains(&first.len()) && last.len() == 3 && middle.iter().all(|group| group.len() == 2)
}

/// An exponent such as `e-3` at `at`, with nothing glued behind it, and where it ends.
fn exponent_at(chars: &[char], at: usize) -> Option<(String, usize)> {
    if !matches!(chars.get(at), Some('e' | 'E')) {
        return None;
    }
    let signed = usize::from(matches!(chars.get(at + 1), Some('+' | '-')));
    let digits = chars.get(at + 1 + signed..)?.iter().take_while(|c| c.is_ascii_digit()).count();
    let end = at + 1 + signed + digits;
    let glued = chars.get(end).is_some_and(|c| c.is_alphanumeric());
    (digits > 0 && !glued).then(|| (chars[at..end].iter().collect(), end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<Ratio>, usize) {
        let chars: Vec<char> = text.chars().collect();
        let (run, end) = read_run(&chars, 0);
        (run.value, end)
    }

    #[test]
    fn separators_are_told_from_decimals() {
        for (text, value, end) in [
            ("1,234,567.89", Some("1234567.89"), 12),
            ("1.234.567,89", Some("1234567.89"), 12),
            ("1 234,5", Some("1234.5"), 7),
            ("12,34", Some("12.34"), 5),
            ("1234,567", Some("1234.567"), 8),
            ("1.234", Some("1.234"), 5),
            ("5 200,000", Some("5.0"), 1),
            ("1 2345", Some("1.0"), 1),
            ("42. Next", Some("42.0"), 2),
            ("192.168.0.1", None, 11),
            ("1,2,3", None, 5),
            ("1,00,000", Some("100000"), 8),
            ("12,34,567.5", Some("1234567.5"), 11),
            ("1,00,00", None, 7),
            ("1_000_000", Some("1000000"), 9),
            ("1_00", None, 4),
            ("2e3x", Some("2.0"), 1),
            ("1e999", None, 5),
        ] {
            assert_eq!(read(text), (value.and_then(Ratio::parse), end), "{text}");
        }
    }
}
