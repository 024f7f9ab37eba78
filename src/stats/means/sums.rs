//! Sums, means and variances in a fixed order, so that a result is the same to the last bit.

/// A running sum with compensation: what each addition rounds away is summed apart, so that the
/// error stays at one rounding, whatever the length.
///
/// Source: Neumaier (1974), ZAMM 54, 39–51, with Knuth's branch-free TwoSum.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    sum: f64,
    compensation: f64,
}

impl Sum {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        let total = self.sum + value;
        let part = total - self.sum;
        self.compensation += (self.sum - (total - part)) + (value - part);
        self.sum = total;
    }

    /// The sum so far.
    #[inline]
    pub fn value(self) -> f64 {
        self.sum + self.compensation
    }
}

/// The compensated sum of the values, in their order.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut total = Sum::default();
    for value in values {
        total.add(value);
    }
    total.value()
}

/// The arithmetic mean; `None` without values. Equal values give exactly that value.
pub fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    // The mean of n times 0.1 is 0.1, not 0.1 plus a rounding that would later look like spread.
    if values.iter().all(|&value| value == first) {
        return Some(first);
    }
    Some(sum(values.iter().copied()) / values.len() as f64)
}

/// The sum of squared deviations from `centre`: the second pass of a two-pass variance.
pub fn squared_deviations(values: &[f64], centre: f64) -> f64 {
    sum(values.iter().map(|value| (value - centre) * (value - centre)))
}

/// The unbiased two-pass variance Σ(x − mean)²/(n − 1); `None` below two values.
///
/// A spread that rounding alone explains is exactly 0: differences such as 0.3 − 0.2 and 0.2 − 0.1
/// are a constant shift.
pub fn variance(values: &[f64]) -> Option<f64> {
    variance_around(values, mean(values)?)
}

/// As [`variance`], for values whose mean is already there.
pub fn variance_around(values: &[f64], mean: f64) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let variance = squared_deviations(values, mean) / (values.len() - 1) as f64;
    let rounding = rounding_floor(values);
    Some(if variance <= rounding * rounding { 0.0 } else { variance })
}

/// The deviation below which values of this size cannot be told from equal ones.
pub fn rounding_floor(values: &[f64]) -> f64 {
    16.0 * f64::EPSILON * values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_survive_beside_large_ones() {
        assert_eq!(sum([1e16, 1.0, -1e16]), 1.0);
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
    }

    #[test]
    fn equal_values_have_no_variance_at_all() {
        assert_eq!(mean(&[0.1; 3]), Some(0.1));
        assert_eq!(variance(&[0.1; 7]), Some(0.0));
    }

    #[test]
    fn a_large_offset_does_not_eat_the_variance() {
        let offset = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        assert_eq!(variance(&offset), Some(30.0));
    }

    #[test]
    fn one_value_has_a_mean_and_no_variance() {
        assert_eq!(mean(&[0.75]), Some(0.75));
        assert_eq!(variance(&[0.75]), None);
        assert_eq!(mean(&[]), None);
    }
}
