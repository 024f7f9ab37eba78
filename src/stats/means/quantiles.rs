//! Percentiles of latencies, with intervals that assume no shape of the distribution.
//!
//! Failed or timed-out requests must not be left out of the values: give them the timeout, or the
//! tail is a lie. A percentile that falls on such a value means "at least the timeout".

use super::clustered;
use crate::stats::{
    Clusters, Estimable, Interval, Method, NotEstimable, StatsError, error,
    special::{binomial_cdf, student_quantile},
};

/// A percentile as a fraction of integers, so that its rank is exact: 0.07·100 is not 7 in floating
/// point, 7·100/100 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    numerator: u32,
    denominator: u32,
}

impl Level {
    /// The median.
    pub const P50: Self = Self { numerator: 50, denominator: 100 };
    /// The ninetieth percentile.
    pub const P90: Self = Self { numerator: 90, denominator: 100 };
    /// The ninety-fifth percentile.
    pub const P95: Self = Self { numerator: 95, denominator: 100 };
    /// The ninety-ninth percentile.
    pub const P99: Self = Self { numerator: 99, denominator: 100 };

    /// The level `numerator`/`denominator`.
    ///
    /// # Errors
    /// A fraction that is not strictly between 0 and 1.
    pub fn new(numerator: u32, denominator: u32) -> Result<Self, StatsError> {
        if 0 < numerator && numerator < denominator {
            return Ok(Self { numerator, denominator });
        }
        let value = f64::from(numerator) / f64::from(denominator);
        Err(StatsError::Probability { argument: "level", value })
    }

    /// The level as a share, 0.95 for the ninety-fifth percentile.
    pub fn share(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }

    /// The nearest rank ⌈numerator·n/denominator⌉, from 1, in integers. 0 without values.
    pub fn nearest_rank(self, n: usize) -> usize {
        let product = n as u128 * u128::from(self.numerator);
        let rank = product.div_ceil(u128::from(self.denominator));
        usize::try_from(rank).expect("the level is below 1, so the rank is at most n")
    }
}

/// A percentile with its intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// The nearest-rank percentile, an observed value: what is printed.
    pub nearest_rank: f64,
    /// Interpolated between neighbours (type 7 of Hyndman and Fan).
    pub type_7: f64,
    /// Interval from order statistics, for independent values.
    pub order: OrderInterval,
    /// Woodruff's interval, for clustered values: what is printed if there are clusters.
    pub woodruff: Estimable<Woodruff>,
}

/// Two order statistics that enclose a percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderInterval {
    /// Rank of the lower limit, from 1; `None` if the sample is too small to bound it.
    pub rank_low: Option<usize>,
    /// Rank of the upper limit, from 1; `None` if the sample is too small to bound it.
    pub rank_high: Option<usize>,
    /// The value at `rank_low`.
    pub low: Option<f64>,
    /// The value at `rank_high`.
    pub high: Option<f64>,
    /// The exact probability that the interval holds the percentile, for a continuous distribution.
    pub coverage: f64,
}

/// Woodruff's interval of a clustered percentile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Woodruff {
    /// Clustered standard error of the share of values at or below the percentile.
    pub se_share: f64,
    /// Its Imbens-Kolesár degrees of freedom.
    pub df: f64,
    /// The lower level, p − t·se; may be below 0.
    pub level_low: f64,
    /// The upper level, p + t·se; may be above 1.
    pub level_high: f64,
    /// The nearest-rank value at `level_low`; `None` if the level is outside (0, 1).
    pub low: Option<f64>,
    /// The nearest-rank value at `level_high`; `None` if the level is outside (0, 1).
    pub high: Option<f64>,
}

/// The percentiles of `values` at each of `levels`, in the order of the levels.
///
/// Nearest rank: x₍⌈pn⌉₎. Type 7: linear between the neighbours of (n−1)p. Order statistics: with
/// X ~ Bin(n, p), rank_low is the largest l with P(X ≤ l−1) ≤ α/2, rank_high the smallest u with
/// P(X ≤ u−1) ≥ 1 − α/2; a finite upper limit of the 95th percentile needs 72 values, of the 99th 368.
/// Woodruff: with F = \[x ≤ ξ\] per value, p ± t·SE_CR2(F) and the nearest-rank values there.
///
/// Order statistics assume independent values; Woodruff's only independent clusters, and is
/// [`NotEstimable::OneCluster`] (or [`NotEstimable::SingleCase`]) without two of them. Without values
/// all is [`NotEstimable::NoData`]. O(n log n).
///
/// # Errors
/// A value that is not finite, lengths that differ, a `confidence` outside (0, 1).
///
/// Source: Hyndman & Fan (1996), Am. Stat. 50(4); Woodruff (1952), JASA 47(260), 635–646.
pub fn quantiles(
    values: &[f64],
    clusters: &Clusters,
    levels: &[Level],
    confidence: f64,
) -> Result<Estimable<Vec<Quantile>>, StatsError> {
    error::check_finite("values", values)?;
    clusters.check_covers("values", values.len())?;
    error::check_probability("confidence", confidence)?;
    if values.is_empty() {
        return Ok(Err(NotEstimable::NoData));
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quantile = |level: &Level| {
        let nearest_rank = sorted[level.nearest_rank(sorted.len()) - 1];
        Ok(Quantile {
            nearest_rank,
            type_7: type_7_sorted(&sorted, level.share()),
            order: order_interval_sorted(&sorted, level.share(), confidence),
            woodruff: woodruff(values, &sorted, clusters, *level, confidence)?,
        })
    };
    Ok(Ok(levels.iter().map(quantile).collect::<Result<_, StatsError>>()?))
}

/// The type-7 quantile of sorted values: linear between the neighbours of (n−1)·level. Not empty.
pub(crate) fn type_7_sorted(sorted: &[f64], level: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * level;
    let below = place.floor();
    let index = as_index(below).min(sorted.len() - 1);
    let next = sorted[(index + 1).min(sorted.len() - 1)];
    sorted[index] + (next - sorted[index]) * (place - below)
}

/// The order-statistic interval of the quantile at `level`; see [`quantiles`].
pub(crate) fn order_interval_sorted(sorted: &[f64], level: f64, confidence: f64) -> OrderInterval {
    let n = sorted.len();
    let tail = (1.0 - confidence) / 2.0;
    // P(X < rank), the binomial distribution function one step to the left.
    let below = |rank: usize| match rank {
        0 => 0.0,
        _ => binomial_cdf(rank as u64 - 1, n as u64, level),
    };
    // Both conditions are monotone in the rank, so the ranks are found by halving.
    let slack = 1e-12;
    let low = partition(n + 1, |rank| below(rank) <= tail + slack) - 1;
    let high = partition(n + 1, |rank| below(rank) < 1.0 - tail - slack);
    let rank_low = (low > 0).then_some(low);
    let rank_high = (high <= n).then_some(high);
    OrderInterval {
        rank_low,
        rank_high,
        low: rank_low.map(|rank| sorted[rank - 1]),
        high: rank_high.map(|rank| sorted[rank - 1]),
        coverage: rank_high.map_or(1.0, below) - below(low),
    }
}

/// The first number in `0..end` that does not satisfy `holds`, which holds up to some point only.
fn partition(end: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn woodruff(
    values: &[f64],
    sorted: &[f64],
    clusters: &Clusters,
    level: Level,
    confidence: f64,
) -> Result<Estimable<Woodruff>, StatsError> {
    let quantile = sorted[level.nearest_rank(sorted.len()) - 1];
    let at_or_below: Vec<f64> = values.iter().map(|&value| f64::from(u8::from(value <= quantile))).collect();
    let share = clustered::clustered_mean(&at_or_below, clusters)?;
    let spread = share.se_cr2.and_then(|se| Ok((se, share.df_ik?)));
    Ok(spread.map(|(se_share, df)| {
        let half = student_quantile(0.5 + 0.5 * confidence, Some(df)) * se_share;
        let at = |level: f64| {
            // A rank that is whole but for rounding stays this rank.
            let rank = (level * sorted.len() as f64 - 1e-9).ceil().max(1.0);
            (level > 0.0 && level < 1.0).then(|| sorted[as_index(rank - 1.0).min(sorted.len() - 1)])
        };
        let (level_low, level_high) = (level.share() - half, level.share() + half);
        Woodruff { se_share, df, level_low, level_high, low: at(level_low), high: at(level_high) }
    }))
}

/// A place in a sorted slice: a whole number that is not negative and at most its length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is whole, not negative and no larger than a slice's length"
)]
fn as_index(place: f64) -> usize {
    place as usize
}

impl Quantile {
    /// The limits to print, either of which may be unbounded, and how they were made: Woodruff's
    /// where `clustered` values have them, else order statistics.
    pub fn limits(&self, clustered: bool) -> (Option<f64>, Option<f64>, Method) {
        match self.woodruff {
            Ok(woodruff) if clustered => (woodruff.low, woodruff.high, Method::Woodruff),
            Err(_) if clustered => (None, None, Method::Woodruff),
            _ => (self.order.low, self.order.high, Method::OrderStatistics),
        }
    }
}

impl OrderInterval {
    /// The interval if both of its limits are bounded.
    pub fn interval(&self) -> Estimable<Interval> {
        let (Some(low), Some(high)) = (self.low, self.high) else {
            return Err(NotEstimable::Unbounded);
        };
        Ok(Interval { low, high })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64], level: Level) -> Quantile {
        let clusters = Clusters::singletons(values.len());
        quantiles(values, &clusters, &[level], 0.95).unwrap().unwrap()[0]
    }

    fn up_to(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    #[test]
    fn ranks_are_counted_in_integers() {
        assert_eq!(Level::new(7, 100).unwrap().nearest_rank(100), 7);
        assert_eq!(Level::P95.nearest_rank(1), 1);
        assert_eq!(Level::P95.nearest_rank(20), 19);
        assert_eq!(Level::P95.nearest_rank(21), 20);
        assert!(Level::new(1, 1).is_err());
        assert!(Level::new(0, 100).is_err());
    }

    #[test]
    fn p95_has_a_finite_upper_limit_from_72_values_and_p99_from_368() {
        let high = |n: u32, level: Level| of(&up_to(n), level).order.high;
        assert_eq!(high(71, Level::P95), None);
        assert_eq!(high(72, Level::P95), Some(72.0));
        assert_eq!(high(367, Level::P99), None);
        assert_eq!(high(368, Level::P99), Some(368.0));
    }

    #[test]
    fn one_value_is_every_percentile_with_no_bound() {
        let quantile = of(&[120.0], Level::P50);
        assert_eq!((quantile.nearest_rank, quantile.type_7), (120.0, 120.0));
        assert_eq!(quantile.order.interval(), Err(NotEstimable::Unbounded));
        assert_eq!(quantile.order.coverage, 1.0);
        assert!(quantile.woodruff.is_err());
        assert_eq!(quantile.limits(true), (None, None, Method::Woodruff));
        assert_eq!(quantile.limits(false), (None, None, Method::OrderStatistics));
    }

    #[test]
    fn type_7_interpolates_and_nearest_rank_does_not() {
        let quantile = of(&[4.0, 1.0, 3.0, 2.0], Level::P50);
        assert_eq!((quantile.nearest_rank, quantile.type_7), (2.0, 2.5));
    }

    #[test]
    fn no_data_and_wrong_input_are_told_apart() {
        let none = Clusters::singletons(0);
        assert_eq!(quantiles(&[], &none, &[Level::P50], 0.95), Ok(Err(NotEstimable::NoData)));
        assert!(quantiles(&[1.0], &none, &[Level::P50], 0.95).is_err());
        let one = Clusters::singletons(1);
        assert!(quantiles(&[f64::NAN], &one, &[Level::P50], 0.95).is_err());
        assert!(quantiles(&[1.0], &one, &[Level::P50], 0.0).is_err());
    }

    /// At n = 2 and 50 % confidence, P(X = 0) is α/2 exactly: the limit counts as reached.
    #[test]
    fn a_tail_that_is_met_exactly_is_a_bound() {
        let order = order_interval_sorted(&[1.0, 2.0], 0.5, 0.5);
        assert_eq!((order.rank_low, order.rank_high), (Some(1), Some(2)));
    }

    proptest! {
        #[test]
        fn the_order_of_the_values_does_not_matter(
            mut values in prop::collection::vec(0.0..1e4f64, 1..200)
        ) {
            let before = of(&values, Level::P90);
            values.reverse();
            let after = of(&values, Level::P90);
            prop_assert_eq!(before.nearest_rank, after.nearest_rank);
            prop_assert_eq!(before.order, after.order);
        }

        #[test]
        fn the_interval_holds_the_percentile(
            values in prop::collection::vec(0.0..1e4f64, 1..200),
            numerator in 1..100u32,
        ) {
            let quantile = of(&values, Level::new(numerator, 100).unwrap());
            prop_assert!(quantile.order.low.is_none_or(|low| low <= quantile.nearest_rank));
            prop_assert!(quantile.order.high.is_none_or(|high| quantile.nearest_rank <= high));
            prop_assert!(quantile.order.coverage >= 0.95 - 1e-9);
        }
    }
}
