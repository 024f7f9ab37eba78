//! Exact money: integer picodollars.

use std::{fmt, iter::Sum, ops::Add, ops::AddAssign, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Picodollars in a dollar.
const PER_DOLLAR: i64 = 1_000_000_000_000;

/// An amount of money in picodollars (10⁻¹² dollars); a token at $0.075 per million costs 75,000
/// of them. Never negative. Up to about nine million dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cost(i64);

/// Why a text is not an amount of money.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not a plain decimal number of dollars.
    #[error("`{0}` is not an amount in dollars such as `0.25`")]
    NotDecimal(String),
    /// More digits than a picodollar has.
    #[error("`{0}` has more than twelve decimal places")]
    TooFine(String),
    /// More than nine million dollars.
    #[error("`{0}` is more than can be counted")]
    TooLarge(String),
}

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// That many picodollars; negative amounts do not exist and become zero.
    pub fn from_picodollars(picodollars: i64) -> Self {
        Self(picodollars.max(0))
    }

    /// The amount in picodollars, as the store keeps it.
    pub fn picodollars(self) -> i64 {
        self.0
    }

    /// The amount in dollars, rounded to a float: for statistics and the screen, never for sums.
    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a float is what is asked for")]
        let picodollars = self.0 as f64;
        picodollars / 1e12
    }

    /// Dollars as others count them, with as many digits as they like, to the nearest picodollar; `None`
    /// where that is no amount: below 0, no number, more than can be counted.
    pub fn rounded(dollars: &str) -> Option<Self> {
        if let Ok(exact) = dollars.parse() {
            return Some(exact);
        }
        let dollars: f64 = dollars.parse().ok()?;
        let picodollars = (dollars * 1e12).round();
        #[expect(clippy::cast_precision_loss, reason = "the end itself does not matter")]
        let is_amount = dollars >= 0.0 && picodollars < i64::MAX as f64;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and within the ends")]
        is_amount.then_some(Self(picodollars as i64))
    }

    /// `tokens` at this price a token; `None` when that is more than can be counted.
    pub fn times(self, tokens: u64) -> Option<Self> {
        i64::try_from(tokens).ok().and_then(|tokens| self.0.checked_mul(tokens)).map(Self)
    }

    /// The sum, capped at the largest amount.
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left after `other` is taken away, at least nothing.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self((self.0 - other.0).max(0))
    }

    /// Half of it, as batch prices are; rounded down to a picodollar.
    pub fn halved(self) -> Self {
        Self(self.0 / 2)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::saturating_add)
    }
}

/// Exact dollars without trailing zeros, at least two decimal places: `0.003735`, `12.00`.
impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:012}", self.0 % PER_DOLLAR);
        let shown = fraction.trim_end_matches('0');
        out.pad(&format!("{}.{shown:0<2}", self.0 / PER_DOLLAR))
    }
}

impl FromStr for Cost {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let not_decimal = || MoneyError::NotDecimal(text.to_owned());
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return Err(not_decimal());
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 12 {
            return Err(MoneyError::TooFine(text.to_owned()));
        }
        format!("{whole}{fraction:0<12}").parse().map(Self).map_err(|_| MoneyError::TooLarge(text.to_owned()))
    }
}

/// A string, so that no reader turns it into a float.
impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_and_printed_exactly() {
        for (text, picodollars, printed) in [
            ("0.003735", 3_735_000_000, "0.003735"),
            ("12", 12 * PER_DOLLAR, "12.00"),
            ("0.5", PER_DOLLAR / 2, "0.50"),
            (".000000000001", 1, "0.000000000001"),
            ("3.750", 3_750_000_000_000, "3.75"),
        ] {
            let cost: Cost = text.parse().unwrap();
            assert_eq!(cost.picodollars(), picodollars);
            assert_eq!(cost.to_string(), printed);
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "-1", "1e3", "1,000", "0.0000000000001", "99999999999"] {
            assert!(text.parse::<Cost>().is_err(), "{text}");
        }
    }
}
