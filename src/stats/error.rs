//! Input that no formula of this floor accepts.
//!
//! This is about arguments that contradict themselves. Good data from which a quantity cannot be
//! estimated (one case, one cluster, no spread) is not an error: see [`NotEstimable`].
//!
//! [`NotEstimable`]: super::NotEstimable

/// Why the arguments of a statistic were refused: the argument's name and the offending index.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// A value is NaN or infinite.
    #[error("`{argument}[{index}]` is `{value}`, not a finite number")]
    NotFinite {
        /// The argument that holds the value.
        argument: &'static str,
        /// Its position, from 0.
        index: usize,
        /// The value itself.
        value: f64,
    },

    /// A value lies outside what the argument means (a score outside 0..=1, a negative weight).
    #[error("`{argument}[{index}]` is `{value}`, which is outside [{low}, {high}]")]
    OutOfRange {
        /// The argument that holds the value.
        argument: &'static str,
        /// Its position, from 0; 0 for a single number.
        index: usize,
        /// The value itself.
        value: f64,
        /// Smallest value accepted.
        low: f64,
        /// Largest value accepted.
        high: f64,
    },

    /// Two slices that are read in step have different lengths.
    #[error("`{left}` has length {left_len} but `{right}` has length {right_len}")]
    LengthsDiffer {
        /// The first argument.
        left: &'static str,
        /// Its length.
        left_len: usize,
        /// The second argument.
        right: &'static str,
        /// Its length.
        right_len: usize,
    },

    /// An index (of a cluster, a stratum, a category) points past the end of what it indexes.
    #[error("`{argument}[{index}]` is {value}, but there are only {len}")]
    UnknownIndex {
        /// The argument that holds the index.
        argument: &'static str,
        /// Its position, from 0.
        index: usize,
        /// The index found there.
        value: usize,
        /// How many there are to point at.
        len: usize,
    },

    /// The offsets of a [`Samples`](super::Samples) do not start at 0, go down, or miss the end.
    #[error("`offsets[{index}]` is {value}: offsets start at 0, never go down and end at {len}")]
    Offsets {
        /// Position of the first wrong offset.
        index: usize,
        /// The offset found there.
        value: usize,
        /// How many scores there are.
        len: usize,
    },

    /// A case has no sample at all (K = 0): it is missing, not failed, and has to be left out.
    #[error("case {case} of `{argument}` has no sample")]
    NoSamples {
        /// The argument that holds the case.
        argument: &'static str,
        /// The case's position, from 0.
        case: usize,
    },

    /// A count exceeds the total it is a part of.
    #[error("`{argument}[{index}]` counts {count} of only {total}")]
    CountExceedsTotal {
        /// The argument that holds the count.
        argument: &'static str,
        /// Its position, from 0; 0 for a single number.
        index: usize,
        /// The count.
        count: u64,
        /// The total.
        total: u64,
    },

    /// All weights are 0, or the shares do not sum to 1.
    #[error("`{argument}` sums to {sum}, expected {expected}")]
    Sum {
        /// The argument.
        argument: &'static str,
        /// Its sum.
        sum: f64,
        /// What it has to be, in words.
        expected: &'static str,
    },

    /// A confidence level, or another probability, outside (0, 1).
    #[error("`{argument}` is {value}, which is not strictly between 0 and 1")]
    Probability {
        /// The argument.
        argument: &'static str,
        /// Its value.
        value: f64,
    },

    /// A number that has to be positive (a margin, a number of repeats or resamples) is not.
    #[error("`{argument}` is {value}, which is not a positive number")]
    NotPositive {
        /// The argument.
        argument: &'static str,
        /// Its value.
        value: f64,
    },
}

/// Refuses NaN and infinity.
pub(crate) fn check_finite(argument: &'static str, values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(StatsError::NotFinite { argument, index, value: values[index] }),
    }
}

/// Refuses values outside `low..=high`, NaN among them.
pub(crate) fn check_range(
    argument: &'static str,
    values: &[f64],
    low: f64,
    high: f64,
) -> Result<(), StatsError> {
    check_finite(argument, values)?;
    match values.iter().position(|value| !(low..=high).contains(value)) {
        None => Ok(()),
        Some(index) => Err(StatsError::OutOfRange { argument, index, value: values[index], low, high }),
    }
}

/// Refuses two slices of different lengths.
pub(crate) fn check_same_length(
    left: &'static str,
    left_len: usize,
    right: &'static str,
    right_len: usize,
) -> Result<(), StatsError> {
    if left_len == right_len {
        Ok(())
    } else {
        Err(StatsError::LengthsDiffer { left, left_len, right, right_len })
    }
}

/// Refuses a probability outside the open interval (0, 1).
pub(crate) fn check_probability(argument: &'static str, value: f64) -> Result<(), StatsError> {
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(StatsError::Probability { argument, value }) }
}

/// Refuses zero, negative numbers, NaN and infinity.
pub(crate) fn check_positive(argument: &'static str, value: f64) -> Result<(), StatsError> {
    if value.is_finite() && value > 0.0 { Ok(()) } else { Err(StatsError::NotPositive { argument, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_argument_index_and_value() {
        let error = check_finite("scores", &[1.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "`scores[1]` is `NaN`, not a finite number");
        let error = check_range("scores", &[1.0, 0.5, 2.0], 0.0, 1.0).unwrap_err();
        assert_eq!(error.to_string(), "`scores[2]` is `2`, which is outside [0, 1]");
        let error = check_same_length("scores", 2, "clusters", 3).unwrap_err();
        assert_eq!(error.to_string(), "`scores` has length 2 but `clusters` has length 3");
    }

    #[test]
    fn a_confidence_of_95_is_refused_as_a_probability() {
        assert!(check_probability("confidence", 95.0).is_err());
        assert!(check_probability("confidence", 0.0).is_err());
        assert!(check_probability("confidence", 1.0).is_err());
        assert!(check_probability("confidence", f64::NAN).is_err());
        assert!(check_probability("confidence", 0.95).is_ok());
    }
}
