//! The numbers of a text, each with what stands glued to it.
//!
//! A token that looks like a number is always reported, also when its value is not plain (`<42`,
//! `42abc`, `3-5`, `10+x`): it must never be skipped so that another number is taken for the answer.
//! Codes such as `E32` or `COVID-19` are words, not numbers.
//!
//! A comma before groups of three digits separates thousands (`1,234`), any other single comma is a
//! decimal one (`6,50`); a single point is always decimal.

use std::ops::Range;

use super::{
    before::{BeforeKind, look_before},
    behind::{Behind, glued_parts, read_behind},
    chars::{
        is_digit, is_letter, is_minus, is_space, skip_signs_back, skip_spaces, skip_spaces_back,
        vulgar_fraction,
    },
    normal::normalised,
    ratio::Ratio,
    reading::Reading,
    run::{Run, read_run},
    tex::{CLOSE, OPEN},
};

/// One token that looks like a number.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::grading) struct Token {
    pub(in crate::grading) reading: Reading,
    /// A percent sign or word follows.
    pub(in crate::grading) percent: bool,
    /// The token as it stands, for a reason.
    pub(in crate::grading) text: String,
    /// Where its digits stand, scale included, in characters of [`Numbers::chars`].
    digits: Range<usize>,
    /// Where the whole of it stands.
    span: Range<usize>,
}

/// The tokens of a text.
pub(super) struct Numbers {
    chars: Vec<char>,
    pub(super) tokens: Vec<Token>,
}

/// Currencies by their codes, which may stand right before a number.
const CURRENCY_CODES: [&str; 12] =
    ["EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "US", "R", "kr"];

impl Numbers {
    /// The numbers of `text`, in order.
    pub(in crate::grading) fn of(text: &str) -> Self {
        let chars = normalised(text);
        let mut tokens: Vec<Token> = vec![];
        let mut at = 0;
        while at < chars.len() {
            if starts_number(&chars, at) {
                let token = read_token(&chars, at, tokens.last());
                at = token.span.end.max(at + 1);
                if let Some(whole) = mixed(&chars, tokens.last(), &token) {
                    tokens.pop();
                    tokens.push(whole);
                } else {
                    tokens.push(token);
                }
            } else if is_letter(chars[at]) {
                at = end_of_word(&chars, at);
            } else {
                at += 1;
            }
        }
        Self { chars, tokens }
    }

    /// Whether `token` carries `unit`: right before it, or after it with at most spaces between.
    pub(super) fn has_unit(&self, token: &Token, unit: &str) -> bool {
        let unit: Vec<char> = normalised(unit);
        let same = |a: char, b: char| {
            // `kg` and `KG` are told apart, as `mW` and `MW` must be; words are not.
            a == b || (unit.len() > 2 && a.to_lowercase().eq(b.to_lowercase()))
        };
        let is_unit =
            |found: &[char]| found.len() == unit.len() && found.iter().zip(&unit).all(|(a, b)| same(*a, *b));
        let is_part_of_word = |at: Option<&char>| at.is_some_and(|c| is_letter(*c) || c.is_numeric());
        let stands_behind = |digits_end: usize| {
            let after = skip_spaces(&self.chars, digits_end);
            let end = after + unit.len();
            end <= self.chars.len()
                && is_unit(&self.chars[after..end])
                && !is_part_of_word(self.chars.get(end))
        };
        // Behind the digits, or behind their word of scale: `3 million kg`.
        if stands_behind(token.digits.end) || stands_behind(token.span.end) {
            return true;
        }
        let before = skip_spaces_back(&self.chars, skip_signs_back(&self.chars, token.digits.start));
        let starts = [before, token.digits.start];
        starts.into_iter().any(|before| {
            before >= unit.len() && {
                let start = before - unit.len();
                is_unit(&self.chars[start..before])
                    && !(is_letter(unit[0]) && start > 0 && is_part_of_word(self.chars.get(start - 1)))
            }
        })
    }
}

/// The one number that is all of `text`, apart from spaces, quotation marks, math signs and a period.
pub(in crate::grading) fn single_number(text: &str) -> Option<Token> {
    let mut numbers = Numbers::of(text);
    let token = numbers.tokens.pop().filter(|_| numbers.tokens.is_empty())?;
    let around = numbers.chars[..token.span.start].iter().chain(&numbers.chars[token.span.end..]);
    let is_dressing = |c: &char| c.is_whitespace() || matches!(c, '$' | '.' | '"' | '\'' | '*');
    around.clone().all(is_dressing).then_some(token)
}

/// A digit, or the point of `.5` where nothing stands before it.
fn starts_number(chars: &[char], at: usize) -> bool {
    let closes_something = |c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '.' | ',');
    is_digit(chars, at)
        || chars[at] == OPEN
        || (chars[at] == '.' && is_digit(chars, at + 1) && !(at > 0 && closes_something(chars[at - 1])))
        || vulgar_fraction(chars[at]).is_some()
}

/// Where the word at `start` ends: letters, digits within it, and what joins them in a code
/// (`COVID-19`, `v1.2`, `x_1`). A currency's code ends before its amount.
fn end_of_word(chars: &[char], start: usize) -> usize {
    let mut at = start;
    while let Some(&c) = chars.get(at) {
        let last = if at > start { chars[at - 1] } else { c };
        let joins = match c {
            '_' => chars.get(at + 1).is_some_and(|next| next.is_alphanumeric()),
            '-' => is_digit(chars, at + 1),
            '.' | ',' | '/' | ':' => last.is_ascii_digit() && is_digit(chars, at + 1),
            _ => false,
        };
        if c.is_ascii_digit() && last.is_alphabetic() {
            let word: String = chars[start..at].iter().collect();
            if CURRENCY_CODES.contains(&word.as_str()) {
                return at;
            }
        }
        if !(joins || is_letter(c) || c.is_ascii_digit()) {
            break;
        }
        at += 1;
    }
    at
}

fn read_token(chars: &[char], at: usize, previous: Option<&Token>) -> Token {
    let before = look_before(chars, at, previous.map(|token| &token.span));
    if chars[at] == OPEN {
        let (_, end) = glued_parts(chars, vec![], at);
        return Token::new(chars, Reading::Expression(vec![]), false, at..end, before.start..end);
    }
    let (run, run_end) = match vulgar_fraction(chars[at]) {
        Some(value) => (Run { value: Some(value), groups: vec![], decimal_comma: false }, at + 1),
        None => read_run(chars, at),
    };
    // `(2,5)` is a pair or an interval; outside brackets the comma is a decimal one.
    let is_pair = run.decimal_comma
        && at.checked_sub(1).is_some_and(|before| matches!(chars[before], '(' | '['))
        && matches!(chars.get(run_end), Some(')' | ']'));
    let value = run.value.filter(|_| !is_pair);
    let behind = match value {
        Some(value) => {
            let value = if before.negative { value.negated() } else { value };
            read_behind(chars, value, run_end, before.priced)
        }
        None => {
            let reading = Reading::Compound(run.groups);
            Behind { reading, percent: false, amount_end: run_end, end: run_end }
        }
    };
    let reading = match (before.kind, behind.reading) {
        (BeforeKind::Bound, _) => Reading::Bound,
        (BeforeKind::Operator, reading) => Reading::Expression(reading.parts()),
        (BeforeKind::Nothing, reading) => reading,
    };
    Token::new(chars, reading, behind.percent, at..behind.amount_end, before.start..behind.end)
}

/// `1 1/2`: a whole number and a proper fraction behind it.
fn mixed(chars: &[char], whole: Option<&Token>, fraction: &Token) -> Option<Token> {
    let whole = whole?;
    let (Reading::Plain(value), Reading::Plain(part)) = (&whole.reading, &fraction.reading) else {
        return None;
    };
    let is_fraction =
        fraction.text.contains('/') || fraction.text.chars().any(|c| vulgar_fraction(c).is_some());
    let gap = fraction.span.start.checked_sub(whole.digits.end)?;
    let spaced = gap <= 1 && chars[whole.digits.end..fraction.span.start].iter().all(|c| is_space(*c));
    let is_proper = !part.is_negative() && part.is_below(&Ratio::power_of_ten(0));
    if !spaced || !is_fraction || whole.percent || !value.is_whole() || !is_proper {
        return None;
    }
    let is_negative = chars[whole.span.start..whole.digits.start].iter().any(|c| is_minus(*c));
    let value = value.abs().plus(part);
    let reading = Reading::Plain(if is_negative { value.negated() } else { value });
    let digits = whole.digits.start..fraction.digits.end;
    Some(Token::new(chars, reading, fraction.percent, digits, whole.span.start..fraction.span.end))
}

impl Token {
    fn new(
        chars: &[char],
        reading: Reading,
        percent: bool,
        digits: Range<usize>,
        span: Range<usize>,
    ) -> Self {
        let text = chars[span.clone()].iter().filter(|c| !matches!(**c, OPEN | CLOSE)).collect();
        Self { reading, percent, text, digits, span }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain(text: &str) -> Vec<Ratio> {
        let tokens = Numbers::of(text).tokens;
        tokens
            .into_iter()
            .filter_map(|token| match token.reading {
                Reading::Plain(value) => Some(value),
                _ => None,
            })
            .collect()
    }

    fn ratios(values: &[f64]) -> Vec<Ratio> {
        values.iter().map(|value| Ratio::parse(&value.to_string()).unwrap()).collect()
    }

    /// Every token that is not plain, as it stands.
    fn others(text: &str) -> Vec<String> {
        let tokens = Numbers::of(text).tokens;
        tokens
            .into_iter()
            .filter(|token| !matches!(token.reading, Reading::Plain(_)))
            .map(|token| token.text)
            .collect()
    }

    #[test]
    fn numbers_are_read_in_the_ways_people_write_them() {
        for (text, value) in [
            ("1,234.5", 1234.5),
            ("1 234", 1234.0),
            ("1\u{202f}234\u{202f}567", 1_234_567.0),
            ("1{,}234", 1234.0),
            (r"1,\!234", 1234.0),
            ("1'234", 1234.0),
            ("1.234,56", 1234.56),
            ("1.450.000", 1_450_000.0),
            ("6,50 €", 6.5),
            ("0,125", 0.125),
            ("\u{2212}5", -5.0),
            ("-$1,000", -1000.0),
            ("$-5", -5.0),
            ("€ 57", 57.0),
            ("EUR42", 42.0),
            (".5", 0.5),
            ("1e6", 1e6),
            ("1.5E-3", 1.5e-3),
            ("-1.8 billion", -1.8e9),
            ("3 Mio. Euro", 3e6),
            ("1.8-million", 1.8e6),
            ("5万", 5e4),
            ("1/5", 0.2),
            (r"\frac{1}{2}", 0.5),
            ("1 1/2 cups", 1.5),
            ("2½", 2.5),
            (r"2\frac{1}{2}", 2.5),
            ("**42**", 42.0),
            (r"\[ \boxed{42} \]", 42.0),
            (r"\text{42}", 42.0),
            ("<b>42</b>", 42.0),
            ("x=42", 42.0),
            ("=> 42", 42.0),
            ("-> 42", 42.0),
            ("答えは42です", 42.0),
            ("４２", 42.0),
            ("৪২", 42.0),
            ("a 10-day trial", 10.0),
            ("€6.50/month", 6.5),
            ("(6,50 €)", 6.5),
            ("20°C", 20.0),
        ] {
            assert_eq!(plain(text), ratios(&[value]), "{text}");
            assert_eq!(others(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_looks_like_a_number_and_is_none_is_still_reported() {
        for text in [
            "<42",
            ">=42",
            "≥ 42",
            "~42",
            "≈42",
            "~$42",
            "42+",
            "<=42",
            "!=42",
            "42abc",
            "3rd",
            "3-5",
            "3–5",
            "2026-07-30",
            "10:30",
            "1.2.3",
            "10+x",
            "5*x",
            "2^10",
            "1,2,3",
            "5²",
            "7/14/2026",
            "[2,5)",
            "(2,5)",
        ] {
            assert_eq!(plain(text), [], "{text}");
            assert_eq!(others(text).len(), 1, "{text}");
        }
        for (text, rest) in
            [("7 / 14", "14"), ("2 + 2", "2"), ("16 - 3", "3"), ("20%-30%", "-30%"), ("√2", "2")]
        {
            assert_eq!(
                others(text).last().map(|last| last.trim_start_matches(['-', '√'])),
                Some(rest.trim_start_matches('-')),
                "{text}"
            );
        }
        assert_eq!(others(r"\sqrt{2}").len(), 1);
    }

    #[test]
    fn codes_are_words_and_results_stand_behind_an_equals_sign() {
        assert_eq!(plain("Error E32 on COVID-19 with GPT-4.1 and v1.2, x_1"), []);
        assert_eq!(plain("13 * 2 = $<<13*2=26>>26"), ratios(&[26.0, 26.0]));
        assert_eq!(plain("€39 + 2 × €9 = €57"), ratios(&[57.0]));
        assert_eq!(plain("12 → 25"), ratios(&[12.0, 25.0]));
        assert_eq!(plain("after 3, 7 and 12 days"), ratios(&[3.0, 7.0, 12.0]));
        assert_eq!(plain("in 2019 100 people"), ratios(&[2019.0, 100.0]));
        assert_eq!(plain("1. It is 42 (see room B12)."), ratios(&[1.0, 42.0]));
        assert_eq!(plain("| 42 | **7** | <td>8</td> | `9` |"), ratios(&[42.0, 7.0, 8.0, 9.0]));
    }

    #[test]
    fn percent_is_seen_in_all_its_forms() {
        for text in ["20%", "20 %", "20\u{a0}%", "20 percent", "20 per cent", "20 Prozent", r"20\%"] {
            let tokens = Numbers::of(text).tokens;
            assert!(tokens.len() == 1 && tokens[0].percent, "{text}");
        }
    }

    #[test]
    fn a_unit_stands_behind_or_before() {
        for (text, unit, has) in [
            ("120 kg.", "kg", true),
            ("120kg", "kg", true),
            ("3 million kg", "kg", true),
            ("120 kgs", "kg", false),
            ("€57", "€", true),
            ("57 €", "€", true),
            ("-€57", "€", true),
            ("EUR 57", "EUR", true),
            ("57 Days", "days", true),
            ("57 MW", "mW", false),
            ("57", "kg", false),
        ] {
            let numbers = Numbers::of(text);
            assert_eq!(numbers.has_unit(&numbers.tokens[0], unit), has, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in r"[-+0-9a-z.,/*^{}\\%$€<>=~ ½万\n]{0,40}") {
            let numbers = Numbers::of(&text);
            for token in &numbers.tokens {
                numbers.has_unit(token, "kg");
            }
            single_number(&text);
        }
    }
}
