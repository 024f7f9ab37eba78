//! A number as it is written: a decimal of any length, or a fraction of two of them. Nothing is rounded.

use bigdecimal::{BigDecimal, One, Signed, ToPrimitive, Zero, num_bigint::BigInt};

/// More digits than anybody counts; reading them takes the square of their number.
const MOST_DIGITS: usize = 4_000;

/// The largest exponent, either way: a little beyond what a float can hold.
const MOST_EXPONENT: i64 = 400;

/// `over / under`; `under` is 1 unless the decimals of the fraction never end, and above 0.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::grading) struct Ratio {
    over: BigDecimal,
    under: BigDecimal,
}

impl Ratio {
    /// A decimal number such as `-1.50e3`; `None` when it is none, or beyond all measure.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        if digits.len() > MOST_DIGITS {
            return None;
        }
        Self::decimal(digits.parse().ok()?).times_ten_to(exponent.parse().ok()?)
    }

    fn decimal(over: BigDecimal) -> Self {
        Self { over, under: BigDecimal::one() }
    }

    pub(super) fn zero() -> Self {
        Self::decimal(BigDecimal::zero())
    }

    /// 1 with `zeros` zeros.
    pub(super) fn power_of_ten(zeros: u32) -> Self {
        Self::decimal(BigDecimal::new(BigInt::one(), -i64::from(zeros)))
    }

    pub(super) fn fraction(over: u32, under: u32) -> Option<Self> {
        Self::decimal(over.into()).divided_by(&Self::decimal(under.into()))
    }

    /// `None` when the exponent is beyond all measure.
    pub(super) fn times_ten_to(&self, exponent: i64) -> Option<Self> {
        let power = BigDecimal::new(BigInt::one(), exponent.checked_neg()?);
        (exponent.abs() <= MOST_EXPONENT)
            .then(|| Self { over: &self.over * power, under: self.under.clone() })
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self::reduced(&self.over * &other.over, &self.under * &other.under)
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let over = &self.over * &other.under + &other.over * &self.under;
        Self::reduced(over, &self.under * &other.under)
    }

    /// `None` for a divisor of 0 or below.
    pub(super) fn divided_by(&self, divisor: &Self) -> Option<Self> {
        divisor
            .over
            .is_positive()
            .then(|| Self::reduced(&self.over * &divisor.under, &self.under * &divisor.over))
    }

    /// The same as a decimal where its digits end.
    fn reduced(over: BigDecimal, under: BigDecimal) -> Self {
        if under.is_one() {
            return Self::decimal(over);
        }
        let quotient = (&over / &under).normalized();
        if &quotient * &under == over { Self::decimal(quotient) } else { Self { over, under } }
    }

    pub(super) fn negated(&self) -> Self {
        Self { over: -&self.over, under: self.under.clone() }
    }

    pub(super) fn abs(&self) -> Self {
        Self { over: self.over.abs(), under: self.under.clone() }
    }

    pub(super) fn is_negative(&self) -> bool {
        self.over.is_negative()
    }

    pub(super) fn is_whole(&self) -> bool {
        self.under.is_one() && self.over.is_integer()
    }

    pub(super) fn is_below(&self, other: &Self) -> bool {
        &self.over * &other.under < &other.over * &self.under
    }

    /// Whether the two are the same number. A fraction whose decimals never end is also the same as
    /// its decimals as far as a float holds them: `1/3` and `0.3333333333333333`.
    pub(in crate::grading) fn is_same(&self, other: &Self) -> bool {
        if self.under.is_one() == other.under.is_one() {
            return &self.over * &other.under == &other.over * &self.under;
        }
        let (a, b) = (self.as_float(), other.as_float());
        (a - b).abs() <= 2.0 * f64::EPSILON * a.abs().max(b.abs())
    }

    /// Whether the two are at most `limit` apart.
    pub(super) fn is_within(&self, limit: &Self, other: &Self) -> bool {
        let apart = (&self.over * &other.under - &other.over * &self.under).abs();
        self.is_same(other) || apart * &limit.under <= &limit.over * &self.under * &other.under
    }

    fn as_float(&self) -> f64 {
        if self.over.is_zero() { 0.0 } else { (&self.over / &self.under).to_f64().unwrap_or(f64::NAN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(text: &str) -> Ratio {
        Ratio::parse(text).unwrap()
    }

    #[test]
    fn every_digit_counts() {
        for (a, b, same) in [
            ("4111111111111111", "4111111111111112", false),
            ("9007199254740993", "9007199254740992", false),
            ("123456789012345678901234567890", "123456789012345678901234567891", false),
            ("123456789012345678901234567890", "123456789012345678901234567890.0", true),
            ("0.1000000000000000001", "0.1", false),
            ("1.50", "1.5", true),
            ("1.5e3", "1500", true),
        ] {
            assert_eq!(ratio(a).is_same(&ratio(b)), same, "{a} {b}");
        }
    }

    #[test]
    fn a_fraction_is_kept_as_one_until_it_ends() {
        let third = Ratio::fraction(1, 3).unwrap();
        assert!(third.times(&ratio("3")).is_same(&ratio("1")));
        assert!(third.is_same(&ratio("0.3333333333333333")) && !third.is_same(&ratio("0.3333")));
        assert!(Ratio::fraction(7, 14).unwrap().is_same(&ratio("0.5")));
        assert!(Ratio::fraction(2, 6).unwrap().is_same(&third));
        assert_eq!(ratio("1").divided_by(&ratio("0")), None);
    }

    #[test]
    fn what_is_beyond_all_measure_is_not_read() {
        for text in ["1e999", "1e-999", "1e99999999999999999999", "x", ""] {
            assert_eq!(Ratio::parse(text), None, "{text}");
        }
        assert_eq!(Ratio::parse(&"9".repeat(5_000)), None);
    }
}
