//! A number that is not known yet: low, mid and high.

use serde::{Deserialize, Serialize};

/// A prediction: `low` and `high` hold what will be in 95 of 100 cases, `mid` is the expectation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Expectation.
    pub mid: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// A number that is known.
    pub fn exact(value: f64) -> Self {
        Self { low: value, mid: value, high: value }
    }

    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, mid: self.mid * factor, high: self.high * factor }
    }

    /// The sum of two independent numbers: distances from the expectation add in squares.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let mid = self.mid + other.mid;
        let below = (self.mid - self.low).hypot(other.mid - other.low);
        let above = (self.high - self.mid).hypot(other.high - other.mid);
        Self { low: (mid - below).max(0.0), mid, high: mid + above }
    }

    /// The same with an upper end of at most `ceiling`.
    #[must_use]
    pub fn at_most(self, ceiling: f64) -> Self {
        Self { low: self.low.min(ceiling), mid: self.mid.min(ceiling), high: self.high.min(ceiling) }
    }

    /// Whether `value` lies within.
    pub fn contains(self, value: f64) -> bool {
        // A float that was money once may miss an end by its last digit.
        let slack = 1e-9 * value.abs();
        self.low - slack <= value && value <= self.high + slack
    }
}

/// A count from a float; nothing below 0.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as meant")]
    let number = number.round() as u64;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_independent_numbers_add_in_squares() {
        let one = Range { low: 7.0, mid: 10.0, high: 14.0 };
        let other = Range { low: 16.0, mid: 20.0, high: 23.0 };
        assert_eq!(one.plus(other), Range { low: 25.0, mid: 30.0, high: 35.0 });
        assert_eq!(one.plus(Range::exact(5.0)), Range { low: 12.0, mid: 15.0, high: 19.0 });
        assert!(one.contains(7.0) && !one.contains(14.1));
    }
}
