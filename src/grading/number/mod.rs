//! `number`: the answer gives the expected number, or numbers.
//!
//! Parameters: `numbers` (a number, a text such as `"20%"`, or a list; else `expected.numbers`,
//! `expected.answer` or a bare `expected`), `take` (which number of the answer counts: the `"last"`,
//! `"only"` these, or `"all"` of these somewhere), `tolerance` (absolute, or `"1%"` of the expected
//! number), `unit` (only numbers that carry one of these count), `percent` (`"off"`: a percentage
//! equals only a percentage; `"face"`: `20%` is 20; `"ratio"`: `20%` is 0.2), `boxed` (read the last
//! `\boxed{…}` only).
//!
//! docs/graders.md states the grammar, with rows that the tests read. A text is first written in one
//! way (`normal`, `tex`); then each number of it is read from its digits (`run`) outwards: what
//! stands `before`, and what stands `behind` (`scale`, `unit`). Values are exact (`ratio`).

mod before;
mod behind;
mod chars;
#[cfg(test)]
mod documented;
mod normal;
mod ratio;
mod reading;
mod run;
mod scale;
mod tex;
mod text;
mod unit;

use serde_json::Value;

use self::{
    ratio::Ratio,
    text::{Numbers, Token},
};
pub(super) use self::{reading::Reading, text::single_number};
use super::{
    boxed::{answer_or_box, last_box},
    expected,
    finding::Finding,
    parameters::Parameters,
};
use crate::domain::Case;
use crate::domain::text::{quoted, quoted_list};

/// Raised whenever the same answer may get another verdict.
pub(super) const VERSION: u32 = 2;

#[derive(Debug)]
pub(super) struct Number {
    numbers: Option<Vec<Wanted>>,
    take: Take,
    tolerance: Tolerance,
    units: Vec<String>,
    percent: Percent,
    boxed: bool,
}

/// An expected number.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    value: Ratio,
    percent: bool,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Take {
    Last,
    All,
    Only,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Percent {
    Off,
    Face,
    Ratio,
}

#[derive(Clone, Debug, PartialEq)]
enum Tolerance {
    Absolute(Ratio),
    /// A fraction of the expected number.
    Relative(Ratio),
}

impl Number {
    pub(super) fn compile(mut parameters: Parameters<'_>) -> Result<Self, Vec<String>> {
        let take =
            parameters.choice("take", &[("last", Take::Last), ("all", Take::All), ("only", Take::Only)]);
        let numbers = parameters.value("numbers").and_then(|value| match wanted_of(value) {
            Ok(numbers) if take == Take::Last && numbers.len() != 1 => {
                parameters.fault("numbers", ONE_NUMBER);
                None
            }
            Ok(numbers) => Some(numbers),
            Err(message) => {
                parameters.fault("numbers", message);
                None
            }
        });
        let tolerance = match parameters.value("tolerance") {
            None => Tolerance::Absolute(Ratio::zero()),
            Some(value) => read_tolerance(value).unwrap_or_else(|| {
                parameters.fault(
                    "tolerance",
                    format!("expected a number of at least 0 or a text such as `1%`, found `{value}`"),
                );
                Tolerance::Absolute(Ratio::zero())
            }),
        };
        let percent = parameters
            .choice("percent", &[("off", Percent::Off), ("face", Percent::Face), ("ratio", Percent::Ratio)]);
        let units = parameters.texts("unit").unwrap_or_default();
        let boxed = parameters.flag("boxed");
        parameters.finish(Self { numbers, take, tolerance, units, percent, boxed })
    }

    fn wanted(&self, case: &Case) -> Result<Vec<Wanted>, String> {
        if let Some(numbers) = &self.numbers {
            return Ok(numbers.clone());
        }
        let value = expected::field(case, "numbers")
            .or_else(|| expected::field(case, "answer"))
            .or_else(|| expected::bare(case))
            .ok_or("needs `numbers`, `expected.numbers`, `expected.answer` or a bare `expected`")?;
        let wanted = wanted_of(value).map_err(|message| format!("the expected number: {message}"))?;
        if self.take == Take::Last && wanted.len() != 1 {
            return Err(format!("the expected number: {ONE_NUMBER}"));
        }
        Ok(wanted)
    }

    pub(super) fn lacks(&self, case: &Case) -> Option<String> {
        self.wanted(case).err()
    }

    pub(super) fn grade(&self, answer: &str, case: &Case) -> Finding {
        let wanted = match self.wanted(case) {
            Ok(wanted) => wanted,
            Err(lack) => return Finding::unscored(lack),
        };
        let answer = match answer_or_box(answer, self.boxed) {
            Ok(found) => found,
            Err(fault) => return Finding::fail(fault),
        };
        let numbers = Numbers::of(answer);
        let tokens = self.with_unit(&numbers);
        if tokens.is_empty() {
            let seen = numbers.tokens.last().map(|token| format!("; found {}", quoted(&token.text)));
            let unit = if self.units.is_empty() {
                String::new()
            } else {
                format!(" with the unit {}", quoted_list(self.units.iter().map(String::as_str)))
            };
            return Finding::fail(format!("no number{unit}{}", seen.unwrap_or_default()));
        }
        match self.take {
            Take::Last => self.grade_last(&tokens, &wanted[0]),
            Take::Only => self.grade_only(&tokens, &wanted),
            Take::All => self.grade_all(&tokens, &wanted),
        }
    }

    /// The tokens that count: all, or those that carry the unit. A unit that is glued to its number
    /// makes that a plain one.
    fn with_unit(&self, numbers: &Numbers) -> Vec<Token> {
        if self.units.is_empty() {
            return numbers.tokens.clone();
        }
        numbers
            .tokens
            .iter()
            .filter(|token| self.units.iter().any(|unit| numbers.has_unit(token, unit)))
            .cloned()
            .map(|mut token| {
                if let Reading::Glued(value, _) = token.reading {
                    token.reading = Reading::Plain(value);
                }
                token
            })
            .collect()
    }

    fn grade_last(&self, tokens: &[Token], wanted: &Wanted) -> Finding {
        let last = tokens.last().expect("`grade` has answered when there is no token");
        match self.compare(last, wanted) {
            Ok(()) => Finding::pass_because(self.reading_told(last, wanted)),
            Err(why) => Finding::fail(format!("expected {}, found {}{why}", wanted.text, quoted(&last.text))),
        }
    }

    fn grade_only(&self, tokens: &[Token], wanted: &[Wanted]) -> Finding {
        let same = tokens.len() == wanted.len()
            && tokens.iter().zip(wanted).all(|(token, wanted)| self.compare(token, wanted).is_ok());
        if same {
            return Finding::pass();
        }
        let expected: Vec<&str> = wanted.iter().map(|wanted| wanted.text.as_str()).collect();
        let found = quoted_list(tokens.iter().map(|token| token.text.as_str()));
        Finding::fail(format!("expected only {}, found {found}", expected.join(", ")))
    }

    fn grade_all(&self, tokens: &[Token], wanted: &[Wanted]) -> Finding {
        let missing: Vec<&str> = wanted
            .iter()
            .filter(|wanted| !tokens.iter().any(|token| self.stands_in(token, wanted)))
            .map(|wanted| wanted.text.as_str())
            .collect();
        if missing.is_empty() {
            return Finding::pass();
        }
        let found = quoted_list(tokens.iter().map(|token| token.text.as_str()));
        Finding::fail(format!("missing {}; found {found}", missing.join(", ")))
    }

    /// Whether the token gives the number, alone or as an end of a range.
    fn stands_in(&self, token: &Token, wanted: &Wanted) -> bool {
        token.reading.parts().into_iter().any(|part| self.is_same(&part, token.percent, wanted).is_ok())
    }

    /// `Err` says, after the token, why it is not the number; empty when it is just another one.
    fn compare(&self, token: &Token, wanted: &Wanted) -> Result<(), String> {
        match &token.reading {
            Reading::Plain(value) => self.is_same(value, token.percent, wanted),
            Reading::Bound => Err(", which is a bound or a guess".to_owned()),
            Reading::Glued(_, suffix) => Err(format!(" (unit: {suffix})")),
            Reading::Compound(_) => Err(", which is not one number".to_owned()),
            Reading::Expression(_) => Err(", which is part of an expression, not one number".to_owned()),
        }
    }

    fn is_same(&self, value: &Ratio, percent: bool, wanted: &Wanted) -> Result<(), String> {
        let (found, expected) = match self.percent {
            Percent::Off if percent != wanted.percent => {
                let unit = if percent { "percent" } else { "not percent" };
                return Err(format!(" (unit: {unit}; percent = off)"));
            }
            Percent::Off | Percent::Face => (value.clone(), wanted.value.clone()),
            Percent::Ratio => (as_ratio(value, percent), as_ratio(&wanted.value, wanted.percent)),
        };
        let limit = match &self.tolerance {
            Tolerance::Absolute(limit) => limit.clone(),
            Tolerance::Relative(fraction) => fraction.times(&expected.abs()),
        };
        if found.is_within(&limit, &expected) {
            return Ok(());
        }
        Err(match self.percent {
            _ if percent == wanted.percent => String::new(),
            Percent::Face => " (percent = face)".to_owned(),
            Percent::Ratio => " (percent = ratio)".to_owned(),
            Percent::Off => String::new(),
        })
    }

    /// Which reading of percent made the two equal, where it mattered.
    fn reading_told(&self, token: &Token, wanted: &Wanted) -> String {
        match self.percent {
            Percent::Face if token.percent != wanted.percent => {
                format!("{} (percent = face)", quoted(&token.text))
            }
            Percent::Ratio if token.percent != wanted.percent => {
                format!("{} (percent = ratio)", quoted(&token.text))
            }
            _ => String::new(),
        }
    }
}

const ONE_NUMBER: &str = "`take = \"last\"` compares with exactly one number";

fn as_ratio(value: &Ratio, percent: bool) -> Ratio {
    if percent { value.times_ten_to(-2).expect("two places are within all measure") } else { value.clone() }
}

fn wanted_of(value: &Value) -> Result<Vec<Wanted>, String> {
    let values = match value {
        Value::Array(values) if values.is_empty() => return Err("the list is empty".to_owned()),
        Value::Array(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    values.iter().map(wanted_one).collect()
}

fn wanted_one(value: &Value) -> Result<Wanted, String> {
    let none = || format!("`{value}` is not a number");
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            let value = Ratio::parse(&text).ok_or_else(none)?;
            Ok(Wanted { value, percent: false, text })
        }
        Value::String(text) => {
            let inner = last_box(text).ok().flatten().unwrap_or(text);
            let token = single_number(inner).ok_or_else(none)?;
            let Reading::Plain(value) = token.reading else { return Err(none()) };
            Ok(Wanted { value, percent: token.percent, text: token.text })
        }
        _ => Err(none()),
    }
}

fn read_tolerance(value: &Value) -> Option<Tolerance> {
    let limit = |text: &str| Ratio::parse(text).filter(|limit| !limit.is_negative());
    match value {
        Value::Number(number) => limit(&number.to_string()).map(Tolerance::Absolute),
        Value::String(text) => {
            let percent = limit(text.trim().strip_suffix('%')?.trim())?;
            percent.times_ten_to(-2).map(Tolerance::Relative)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use crate::{
        domain::Verdict::{self, Fail, Pass, Unscored},
        grading::testing::{case, faults, verdict},
    };

    #[track_caller]
    fn check(parameters: Value, answer: &str, expected: Value, wanted: Verdict) {
        let (found, reason) = verdict("number", parameters, answer, &case(expected.clone()));
        assert_eq!(found, wanted, "{answer} against {expected}: {reason}");
    }

    #[test]
    fn punctuation_does_not_change_a_value_but_an_operator_does() {
        for (answer, wanted) in [
            ("The answer is 42!", Pass),
            ("The answer is (42).", Pass),
            ("The answer is [42]", Pass),
            ("42:", Pass),
            ("\"42\"", Pass),
            ("**42**", Pass),
            ("The answer is <42", Fail),
            ("The answer is >=42", Fail),
            ("The answer is ~42", Fail),
            ("about ≈42", Fail),
            ("part no. 42abc", Fail),
            ("42 apples", Pass),
        ] {
            for take in ["last", "all", "only"] {
                check(json!({"take": take}), answer, json!(42), wanted);
            }
        }
    }

    #[test]
    fn percent_is_read_as_the_case_says() {
        let modes = ["off", "face", "ratio"];
        for (answer, expected, wanted) in [
            ("Of 100 people, 20%", json!("20%"), [Pass, Pass, Pass]),
            ("Of 100 people, 20%", json!(100), [Fail, Fail, Fail]),
            ("20 %", json!("20%"), [Pass, Pass, Pass]),
            ("20\u{a0}%", json!("20%"), [Pass, Pass, Pass]),
            ("0.2", json!("20%"), [Fail, Fail, Pass]),
            ("20%", json!(20), [Fail, Pass, Fail]),
            ("20%", json!(0.2), [Fail, Fail, Pass]),
            ("12.3%", json!(0.123), [Fail, Fail, Pass]),
        ] {
            for (mode, wanted) in modes.into_iter().zip(wanted) {
                check(json!({"percent": mode}), answer, expected.clone(), wanted);
            }
        }
        let reason = |parameters, expected| verdict("number", parameters, "20%", &case(expected)).1;
        assert_eq!(reason(json!({}), json!(20)), "expected 20, found `20%` (unit: percent; percent = off)");
        assert_eq!(reason(json!({"percent": "face"}), json!(20)), "`20%` (percent = face)");
    }

    #[test]
    fn a_number_is_compared_by_value_and_sign() {
        for (answer, expected, wanted) in [
            ("711", json!(11), Fail),
            ("50", json!(5), Fail),
            ("25", json!(5), Fail),
            ("-5", json!(5), Fail),
            ("33.14", json!("3.14"), Fail),
            ("1,000", json!(1000), Pass),
            ("$20", json!(20), Pass),
            ("A: -1.8 billion", json!(2), Fail),
            ("-1.8 billion", json!(-1_800_000_000), Pass),
            ("A: 1/5", json!(5), Fail),
            ("A: 7/14", json!(0.5), Pass),
            ("A: 10+John's age", json!(10), Fail),
            ("The total is 1 234.", json!(1234), Pass),
            (r"\boxed{5}. No, that is wrong: \boxed{7}.", json!(7), Pass),
            (r"so \boxed{1{,}234}", json!(1234), Pass),
            (r"so \boxed{1,\!234}", json!("1,234"), Pass),
            ("no number at all", json!(1), Fail),
            ("1", json!({"facts": []}), Unscored),
            ("1", json!("one"), Unscored),
            ("1", json!([1, 2]), Unscored),
        ] {
            check(json!({}), answer, expected, wanted);
        }
    }

    #[test]
    fn all_and_only_take_several_numbers() {
        let numbers = json!({"numbers": [3, 7, 12]});
        for (take, answer, wanted) in [
            ("all", "After 3, 7 and 12 days.", Pass),
            ("all", "three retries: 3–7 days, then 12", Pass),
            ("all", "After 3, 7 and 14 days.", Fail),
            ("only", "3, 7, 12", Pass),
            ("only", "3, 12, 7", Fail),
            ("only", "3, 7, 12 and 14", Fail),
        ] {
            check(json!({"take": take}), answer, numbers.clone(), wanted);
        }
        check(json!({"take": "last"}), "3–5", json!(5), Fail);
    }

    #[test]
    fn tolerance_is_absolute_or_relative() {
        for (tolerance, answer, wanted) in [
            (json!(0.5), "10.5", Pass),
            (json!(0.5), "10.6", Fail),
            (json!(0.1), "10.1", Pass),
            (json!("1%"), "10.1", Pass),
            (json!("1%"), "9.89", Fail),
        ] {
            check(json!({"tolerance": tolerance}), answer, json!(10), wanted);
        }
    }

    #[test]
    fn with_a_unit_only_numbers_that_carry_it_count() {
        check(json!({"unit": "kg"}), "42kg for 3 people", json!(42), Pass);
        check(json!({"unit": ["€", "EUR"]}), "EUR 57", json!(57), Pass);
        check(json!({"unit": "kg"}), "42 lb", json!(42), Fail);
        let (_, reason) = verdict("number", json!({"unit": "kg"}), "42 lb", &case(json!(42)));
        assert_eq!(reason, "no number with the unit `kg`; found `42 lb`");
    }

    #[test]
    fn faults_of_parameters_are_told_together() {
        assert_eq!(
            faults("number", json!({"take": "first", "tolerance": "much", "numbers": ["x"], "units": "kg"})),
            [
                "parameter `take`: expected one of `last`, `all`, `only`, found `\"first\"`",
                "parameter `numbers`: `\"x\"` is not a number",
                "parameter `tolerance`: expected a number of at least 0 or a text such as `1%`, found `\"much\"`",
                "unknown parameter `units`; did you mean `unit`?",
            ]
        );
    }

    /// `number` with a comma before each group of three digits.
    fn with_commas(number: u64) -> String {
        let digits = number.to_string();
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        grouped
    }

    proptest! {
        #[test]
        fn a_number_is_found_however_its_thousands_are_separated(number in 0_u64..1_000_000_000_000, separator in "[, \u{a0}\u{202f}'’]") {
            let text = with_commas(number).replace(',', &separator);
            for answer in [text.clone(), format!("It is {text}."), format!("(${text})"), format!("\\boxed{{{text}}}")] {
                check(json!({}), &answer, json!(number), Pass);
                check(json!({}), &format!("-{answer}"), json!(number + 1), Fail);
            }
        }
    }
}
