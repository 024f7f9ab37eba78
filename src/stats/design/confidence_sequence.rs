//! A confidence sequence: an interval that may be looked at after every case.
//!
//! A fixed-n interval looked at repeatedly misses the truth far more often than its level says; this
//! sequence covers the truth at *all* looks at once, with probability 1 − α. It is about twice as
//! wide as the fixed-n interval at n = 1000, and is meant for interim looks at a running batch only.

use crate::stats::{Interval, StatsError, error, means::sums::Sum};

/// How far a single bet may go: λ ≤ 1/2 is the truncation recommended by the source.
pub const DEFAULT_TRUNCATION: f64 = 0.5;

/// What one observation is, and so how it is mapped into [0, 1] and the limits are mapped back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// A case mean in [0, 1]; the cases are not clustered.
    Score,
    /// A paired difference of case means in [−1, 1]; the cases are not clustered.
    Difference,
    /// The total of a cluster's case means, in [0, `largest_cluster`].
    ClusterTotal(ClusterFrame),
    /// The total of a cluster's paired differences, in [−`largest_cluster`, `largest_cluster`].
    ClusterDifferenceTotal(ClusterFrame),
}

/// What must be known of the clusters before the first one is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterFrame {
    /// Cases in the largest cluster.
    pub largest_cluster: usize,
    /// Clusters of the whole batch.
    pub clusters_total: usize,
    /// Cases of the whole batch.
    pub cases_total: usize,
}

/// A predictable plug-in empirical-Bernstein confidence sequence, grown one observation at a time.
///
/// With x_t in [0, 1], L = ln(2/α), μ₀ = 1/2, σ₀² = 1/4:
/// λ_t = min(c, √(2L / (σ²_{t−1} t ln(1+t)))), ψ_t = −ln(1−λ_t) − λ_t,
/// centre_t = Σ λ_i x_i / Σ λ_i, radius_t = (L + Σ (x_i − μ_{i−1})² ψ_i) / Σ λ_i,
/// then μ_t = (1/2 + Σ x)/(t+1), σ_t² = (1/4 + Σ (x_i − μ_i)²)/(t+1).
///
/// Assumes that the observations come in an order fixed by chance *before* the run (never in the
/// order of completion: slow and retried requests differ from fast ones), and that observations are
/// independent: with clusters the unit is the cluster, see [`Observation::ClusterTotal`]. Both limits
/// are the whole possible range before the first observation.
///
/// Source: Waudby-Smith & Ramdas (2023), J. R. Stat. Soc. B 86(1), theorem 2 (arXiv 2010.09686).
#[derive(Clone, Debug)]
pub struct ConfidenceSequence {
    observation: Observation,
    log_two_over_alpha: f64,
    truncation: f64,
    seen: usize,
    sum: Sum,
    sum_squares: Sum,
    mean: f64,
    variance: f64,
    sum_lambda: Sum,
    sum_lambda_x: Sum,
    sum_penalty: Sum,
    current: (f64, f64),
    running: (f64, f64),
}

impl ConfidenceSequence {
    /// A sequence at level `confidence` = 1 − α with bets of at most `truncation` (see [`DEFAULT_TRUNCATION`]).
    ///
    /// # Errors
    /// `confidence` or `truncation` outside the open interval (0, 1), or a cluster frame with a zero or
    /// with more clusters than cases.
    pub fn new(observation: Observation, confidence: f64, truncation: f64) -> Result<Self, StatsError> {
        error::check_probability("confidence", confidence)?;
        error::check_probability("truncation", truncation)?;
        if let Observation::ClusterTotal(frame) | Observation::ClusterDifferenceTotal(frame) = observation {
            frame.check()?;
        }
        Ok(Self {
            observation,
            log_two_over_alpha: (2.0 / (1.0 - confidence)).ln(),
            truncation,
            seen: 0,
            sum: Sum::default(),
            sum_squares: Sum::default(),
            mean: 0.5,
            variance: 0.25,
            sum_lambda: Sum::default(),
            sum_lambda_x: Sum::default(),
            sum_penalty: Sum::default(),
            current: (0.0, 1.0),
            running: (0.0, 1.0),
        })
    }

    /// Takes the next observation, on the scale that the sequence was made for.
    ///
    /// # Errors
    /// A value outside the observation's range; the sequence is then unchanged.
    pub fn push(&mut self, value: f64) -> Result<(), StatsError> {
        let x = self.to_unit(value)?;
        self.seen += 1;
        let t = self.seen as f64;
        let lambda =
            (2.0 * self.log_two_over_alpha / (self.variance * t * t.ln_1p())).sqrt().min(self.truncation);
        let psi = -(-lambda).ln_1p() - lambda;
        self.sum_lambda.add(lambda);
        self.sum_lambda_x.add(lambda * x);
        self.sum_penalty.add((x - self.mean).powi(2) * psi);
        let bets = self.sum_lambda.value();
        let centre = self.sum_lambda_x.value() / bets;
        let radius = (self.log_two_over_alpha + self.sum_penalty.value()) / bets;
        self.current = ((centre - radius).max(0.0), (centre + radius).min(1.0));
        self.running = (self.running.0.max(self.current.0), self.running.1.min(self.current.1));
        self.sum.add(x);
        self.mean = (0.5 + self.sum.value()) / (t + 1.0);
        self.sum_squares.add((x - self.mean).powi(2));
        self.variance = (0.25 + self.sum_squares.value()) / (t + 1.0);
        Ok(())
    }

    /// Observations taken so far.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// The interval of this look alone, clipped to the possible range.
    pub fn current(&self) -> Interval {
        let (low, high) = self.to_scale(self.current);
        Interval { low, high }
    }

    /// The intersection of the intervals of all looks so far: what is printed.
    ///
    /// `None` once it is empty, which cannot happen by more than chance α if the assumptions hold:
    /// stop using the sequence.
    pub fn running(&self) -> Option<Interval> {
        self.look().running()
    }

    /// Everything that the sequence shows now.
    pub fn look(&self) -> Look {
        let running = self.to_scale(self.running);
        Look { current: self.current(), running_low: running.0, running_high: running.1 }
    }

    fn to_unit(&self, value: f64) -> Result<f64, StatsError> {
        let (low, high) = self.observation.range();
        if !(low..=high).contains(&value) {
            return Err(StatsError::OutOfRange { argument: "values", index: self.seen, value, low, high });
        }
        Ok((value - low) / (high - low))
    }

    fn to_scale(&self, (low, high): (f64, f64)) -> (f64, f64) {
        (self.observation.scaled(low), self.observation.scaled(high))
    }
}

/// What the sequence shows after each of `values`; nothing without values.
///
/// # Errors
/// As [`ConfidenceSequence::new`] and [`ConfidenceSequence::push`].
pub fn confidence_sequence(
    values: &[f64],
    observation: Observation,
    confidence: f64,
    truncation: f64,
) -> Result<Vec<Look>, StatsError> {
    let mut sequence = ConfidenceSequence::new(observation, confidence, truncation)?;
    values
        .iter()
        .map(|&value| {
            sequence.push(value)?;
            Ok(sequence.look())
        })
        .collect()
}

/// What one look at a confidence sequence shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The interval of this look alone.
    pub current: Interval,
    /// The largest lower limit of this look and all before it.
    pub running_low: f64,
    /// The smallest upper limit of this look and all before it; below `running_low` if the
    /// assumptions failed.
    pub running_high: f64,
}

impl Look {
    /// The intersection of this look's interval and all before it; `None` if it is empty.
    pub fn running(&self) -> Option<Interval> {
        (self.running_low <= self.running_high)
            .then_some(Interval { low: self.running_low, high: self.running_high })
    }
}

impl Observation {
    /// The smallest and the largest possible observation.
    fn range(self) -> (f64, f64) {
        match self {
            Self::Score => (0.0, 1.0),
            Self::Difference => (-1.0, 1.0),
            Self::ClusterTotal(frame) => (0.0, frame.largest_cluster as f64),
            Self::ClusterDifferenceTotal(frame) => {
                (-(frame.largest_cluster as f64), frame.largest_cluster as f64)
            }
        }
    }

    /// A limit in [0, 1] as a mean over cases, clipped to what such a mean can be.
    ///
    /// A cluster's total is x·m_max; the mean total times the clusters is the cases' total.
    fn scaled(self, limit: f64) -> f64 {
        let (low, high) = self.range();
        let value = low + limit * (high - low);
        match self {
            Self::Score | Self::Difference => value,
            Self::ClusterTotal(frame) => (value * frame.clusters_per_case()).clamp(0.0, 1.0),
            Self::ClusterDifferenceTotal(frame) => (value * frame.clusters_per_case()).clamp(-1.0, 1.0),
        }
    }
}

impl ClusterFrame {
    fn clusters_per_case(self) -> f64 {
        self.clusters_total as f64 / self.cases_total as f64
    }

    fn check(self) -> Result<(), StatsError> {
        error::check_positive("largest_cluster", self.largest_cluster as f64)?;
        error::check_positive("clusters_total", self.clusters_total as f64)?;
        error::check_positive("cases_total", self.cases_total as f64)?;
        if self.clusters_total > self.cases_total {
            return Err(StatsError::CountExceedsTotal {
                argument: "clusters_total",
                index: 0,
                count: self.clusters_total as u64,
                total: self.cases_total as u64,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lower_after(n: usize) -> f64 {
        let looks = confidence_sequence(&vec![1.0; n], Observation::Score, 0.95, DEFAULT_TRUNCATION).unwrap();
        looks[n - 1].running_low
    }

    #[test]
    fn all_passes_raise_the_lower_limit_as_published() {
        assert!((lower_after(10) - 0.247).abs() < 5e-4);
        assert!((lower_after(50) - 0.849).abs() < 5e-4);
        assert!((lower_after(200) - 0.962).abs() < 5e-4);
    }

    #[test]
    fn before_the_first_observation_anything_is_possible() {
        let sequence = ConfidenceSequence::new(Observation::Difference, 0.95, 0.5).unwrap();
        assert_eq!(sequence.running(), Some(Interval { low: -1.0, high: 1.0 }));
        assert_eq!(sequence.seen(), 0);
    }

    #[test]
    fn a_score_outside_its_range_is_refused_and_leaves_no_trace() {
        let mut sequence = ConfidenceSequence::new(Observation::Score, 0.95, 0.5).unwrap();
        sequence.push(1.0).unwrap();
        let before = sequence.look();
        assert!(matches!(sequence.push(1.5), Err(StatsError::OutOfRange { index: 1, .. })));
        assert!(sequence.push(f64::NAN).is_err());
        assert_eq!((sequence.look(), sequence.seen()), (before, 1));
    }

    #[test]
    fn wrong_settings_are_refused() {
        let frame = ClusterFrame { largest_cluster: 2, clusters_total: 5, cases_total: 4 };
        assert!(ConfidenceSequence::new(Observation::ClusterTotal(frame), 0.95, 0.5).is_err());
        let frame = ClusterFrame { largest_cluster: 0, clusters_total: 5, cases_total: 9 };
        assert!(ConfidenceSequence::new(Observation::ClusterTotal(frame), 0.95, 0.5).is_err());
        assert!(ConfidenceSequence::new(Observation::Score, 0.0, 0.5).is_err());
        assert!(ConfidenceSequence::new(Observation::Score, 0.95, 1.0).is_err());
    }

    #[test]
    fn clusters_of_one_case_are_cases() {
        let frame = ClusterFrame { largest_cluster: 1, clusters_total: 9, cases_total: 9 };
        let values = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0];
        let as_cases = confidence_sequence(&values, Observation::Score, 0.95, 0.5).unwrap();
        let as_clusters = confidence_sequence(&values, Observation::ClusterTotal(frame), 0.95, 0.5).unwrap();
        assert_eq!(as_cases, as_clusters);
    }

    #[test]
    fn totals_of_differences_in_single_cases_are_differences() {
        let frame = ClusterFrame { largest_cluster: 1, clusters_total: 9, cases_total: 9 };
        let values = [1.0, 0.0, -1.0, 1.0, 1.0, 0.0];
        let of = |observation| confidence_sequence(&values, observation, 0.95, 0.5).unwrap();
        let as_clusters = of(Observation::ClusterDifferenceTotal(frame));
        assert_eq!(of(Observation::Difference), as_clusters);
        let frame = ClusterFrame { largest_cluster: 2, ..frame };
        let mut sequence =
            ConfidenceSequence::new(Observation::ClusterDifferenceTotal(frame), 0.95, 0.5).unwrap();
        sequence.push(-2.0).unwrap();
        assert!(sequence.push(2.5).is_err());
    }

    /// A stream that changes its nature half way is what the running intersection betrays.
    #[test]
    fn an_empty_intersection_says_that_the_assumptions_failed() {
        let drifting: Vec<f64> = (0..4000).map(|t| f64::from(u8::from(t >= 2000))).collect();
        let looks = confidence_sequence(&drifting, Observation::Score, 0.95, 0.5).unwrap();
        assert!(looks[1999].running().is_some());
        assert_eq!(looks[3999].running(), None);
    }

    proptest! {
        #[test]
        fn the_running_interval_only_narrows(values in prop::collection::vec(0.0..=1.0f64, 1..200)) {
            let looks = confidence_sequence(&values, Observation::Score, 0.95, 0.5).unwrap();
            for pair in looks.windows(2) {
                prop_assert!(pair[1].running_low >= pair[0].running_low);
                prop_assert!(pair[1].running_high <= pair[0].running_high);
            }
        }

        #[test]
        fn a_difference_swapped_mirrors_its_limits(
            values in prop::collection::vec(-1.0..=1.0f64, 1..100)
        ) {
            let swapped: Vec<f64> = values.iter().map(|d| -d).collect();
            let last = |values: &[f64]| {
                *confidence_sequence(values, Observation::Difference, 0.95, 0.5)
                    .unwrap()
                    .last()
                    .unwrap()
            };
            let (one, other) = (last(&values), last(&swapped));
            prop_assert!((one.running_low + other.running_high).abs() < 1e-9);
            prop_assert!((one.running_high + other.running_low).abs() < 1e-9);
        }
    }
}
