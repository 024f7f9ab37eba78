//! P values of several tests, adjusted for having looked at them all.

use crate::stats::{StatsError, error};

/// Holm's adjustment: adj_(i) = max_{j<=i} min(1, (m − j + 1)·p_(j)), for a few planned tests.
///
/// Controls the chance of a single false rejection under any dependence. A test that was not made
/// (`None`) is not counted in m and stays `None`. Nothing in, nothing out.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a p value outside [0, 1].
///
/// Source: Holm (1979), Scand. J. Statist. 6, 65–70.
pub fn holm(p_values: &[Option<f64>]) -> Result<Vec<Option<f64>>, StatsError> {
    let ascending = ascending(p_values)?;
    let m = ascending.len();
    let mut adjusted = vec![None; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &(index, p)) in ascending.iter().enumerate() {
        largest = largest.max((p * (m - rank) as f64).min(1.0));
        adjusted[index] = Some(largest);
    }
    Ok(adjusted)
}

/// Benjamini and Hochberg's adjustment: adj_(i) = min_{j>=i} min(1, m·p_(j)/j), for screens.
///
/// Controls the expected share of false findings among the findings, for independent or positively
/// dependent tests. A test that was not made (`None`) is not counted and stays `None`.
///
/// # Errors
///
/// [`StatsError::OutOfRange`] for a p value outside [0, 1].
///
/// Source: Benjamini & Hochberg (1995), J. R. Statist. Soc. B 57, 289–300.
pub fn benjamini_hochberg(p_values: &[Option<f64>]) -> Result<Vec<Option<f64>>, StatsError> {
    let ascending = ascending(p_values)?;
    let m = ascending.len() as f64;
    let mut adjusted = vec![None; p_values.len()];
    let mut smallest = 1.0_f64;
    for (rank, &(index, p)) in ascending.iter().enumerate().rev() {
        smallest = smallest.min(m * p / (rank + 1) as f64);
        adjusted[index] = Some(smallest);
    }
    Ok(adjusted)
}

/// Whether a p or q value is at most `limit`; a value that misses it by rounding alone counts.
pub fn at_most(value: f64, limit: f64) -> bool {
    value <= limit + 1e-12
}

/// The tests that were made, with their positions, smallest p value first; ties keep their order.
fn ascending(p_values: &[Option<f64>]) -> Result<Vec<(usize, f64)>, StatsError> {
    let mut made: Vec<(usize, f64)> = vec![];
    for (index, p) in p_values.iter().enumerate() {
        if let Some(p) = *p {
            if !(0.0..=1.0).contains(&p) {
                let (argument, low, high) = ("p_values", 0.0, 1.0);
                error::check_finite(argument, &[p]).map_err(|_| StatsError::NotFinite {
                    argument,
                    index,
                    value: p,
                })?;
                return Err(StatsError::OutOfRange { argument, index, value: p, low, high });
            }
            made.push((index, p));
        }
    }
    made.sort_by(|left, right| left.1.total_cmp(&right.1));
    Ok(made)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some(values: &[f64]) -> Vec<Option<f64>> {
        values.iter().copied().map(Some).collect()
    }

    #[track_caller]
    fn assert_close(adjusted: &[Option<f64>], expected: &[f64]) {
        for (adjusted, expected) in adjusted.iter().zip(expected) {
            assert!((adjusted.unwrap() - expected).abs() < 1e-12, "{adjusted:?}, not {expected}");
        }
    }

    #[test]
    fn holm_never_lets_a_larger_p_overtake() {
        let adjusted = holm(&some(&[0.01, 0.02, 0.03, 0.04])).unwrap();
        assert_close(&adjusted, &[0.04, 0.06, 0.06, 0.06]);
    }

    #[test]
    fn benjamini_hochberg_lets_neighbours_help() {
        let adjusted = benjamini_hochberg(&some(&[0.01, 0.02, 0.03, 0.04])).unwrap();
        assert_close(&adjusted, &[0.04, 0.04, 0.04, 0.04]);
    }

    #[test]
    fn a_test_that_was_not_made_costs_nothing() {
        let adjusted = holm(&[Some(0.01), None, Some(0.04)]).unwrap();
        assert_eq!(adjusted, [Some(0.02), None, Some(0.04)]);
        assert_eq!(benjamini_hochberg(&[None]).unwrap(), [None]);
        assert!(holm(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_value_that_is_no_probability_is_refused_by_position() {
        assert!(matches!(holm(&[None, Some(1.5)]), Err(StatsError::OutOfRange { index: 1, .. })));
        assert!(matches!(benjamini_hochberg(&[Some(f64::NAN)]), Err(StatsError::NotFinite { index: 0, .. })));
    }

    proptest! {
        #[test]
        fn an_adjusted_value_is_a_probability_and_no_smaller(
            values in proptest::collection::vec(0.0..=1.0_f64, 0..30)
        ) {
            let (holm, bh) = (holm(&some(&values)).unwrap(), benjamini_hochberg(&some(&values)).unwrap());
            for ((p, holm), bh) in values.iter().zip(holm).zip(bh) {
                let (holm, bh) = (holm.unwrap(), bh.unwrap());
                prop_assert!(holm >= *p && holm <= 1.0);
                prop_assert!(bh >= p - 1e-15 && bh <= holm + 1e-12);
            }
        }
    }
}
