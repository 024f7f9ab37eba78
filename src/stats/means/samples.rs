//! The scores of all cases in one flat slice: repeats of a case stand side by side.

use super::sums;
use crate::stats::{StatsError, error};

/// Scores of every sample, grouped by case: case `i` owns `scores[offsets[i]..offsets[i + 1]]`.
///
/// A million samples are one allocation. A case may own no sample; whether that is allowed is
/// decided by each procedure (a pairing allows it, a mean does not).
#[derive(Clone, Copy, Debug)]
pub struct Samples<'a> {
    scores: &'a [f64],
    layout: Layout<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Layout<'a> {
    OnePerCase,
    Offsets(&'a [usize]),
}

impl<'a> Samples<'a> {
    /// Views `scores` through `offsets` (one more than there are cases, from 0 to the last score).
    ///
    /// # Errors
    ///
    /// [`StatsError::NotFinite`] for NaN or infinity, [`StatsError::Offsets`] for offsets that do
    /// not start at 0, go down, or end elsewhere than at the last score.
    pub fn new(scores: &'a [f64], offsets: &'a [usize]) -> Result<Self, StatsError> {
        error::check_finite("scores", scores)?;
        let wrong = |index: usize, value: usize| StatsError::Offsets { index, value, len: scores.len() };
        if offsets.first() != Some(&0) {
            return Err(wrong(0, offsets.first().copied().unwrap_or(0)));
        }
        if let Some(at) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(wrong(at + 1, offsets[at + 1]));
        }
        let last = offsets.len() - 1;
        if offsets[last] != scores.len() {
            return Err(wrong(last, offsets[last]));
        }
        Ok(Self { scores, layout: Layout::Offsets(offsets) })
    }

    /// One sample per case.
    ///
    /// # Errors
    ///
    /// [`StatsError::NotFinite`] for NaN or infinity.
    pub fn one_per_case(scores: &'a [f64]) -> Result<Self, StatsError> {
        error::check_finite("scores", scores)?;
        Ok(Self { scores, layout: Layout::OnePerCase })
    }

    /// Number of cases.
    pub fn n_cases(&self) -> usize {
        match self.layout {
            Layout::OnePerCase => self.scores.len(),
            Layout::Offsets(offsets) => offsets.len() - 1,
        }
    }

    /// Number of samples over all cases, N.
    pub fn n_samples(&self) -> usize {
        self.scores.len()
    }

    /// The scores of all samples, case after case.
    pub fn scores(&self) -> &'a [f64] {
        self.scores
    }

    /// The scores of case `case`.
    pub fn of_case(&self, case: usize) -> &'a [f64] {
        match self.layout {
            Layout::OnePerCase => &self.scores[case..=case],
            Layout::Offsets(offsets) => &self.scores[offsets[case]..offsets[case + 1]],
        }
    }

    /// The scores of each case, in order.
    pub fn cases(&self) -> impl ExactSizeIterator<Item = &'a [f64]> + '_ {
        (0..self.n_cases()).map(|case| self.of_case(case))
    }

    /// Smallest and largest number of samples of a case; `None` without cases.
    pub fn k_range(&self) -> Option<(usize, usize)> {
        let smallest = self.cases().map(<[f64]>::len).min()?;
        let largest = self.cases().map(<[f64]>::len).max()?;
        Some((smallest, largest))
    }

    /// Whether every score is exactly 0 or 1.
    pub fn are_binary(&self) -> bool {
        self.scores.iter().all(|&score| score == 0.0 || score == 1.0)
    }

    /// The mean score of each case: the unit of every statistic of this floor.
    ///
    /// # Errors
    ///
    /// [`StatsError::NoSamples`] for a case without samples.
    pub fn case_means(&self) -> Result<Vec<f64>, StatsError> {
        if matches!(self.layout, Layout::OnePerCase) {
            return Ok(self.scores.to_vec());
        }
        self.cases()
            .enumerate()
            .map(|(case, scores)| {
                sums::mean(scores).ok_or(StatsError::NoSamples { argument: "samples", case })
            })
            .collect()
    }
}

/// Samples that own their scores, filled case by case.
#[derive(Clone, Debug)]
pub struct SampleTable {
    scores: Vec<f64>,
    offsets: Vec<usize>,
}

impl Default for SampleTable {
    fn default() -> Self {
        Self { scores: vec![], offsets: vec![0] }
    }
}

impl SampleTable {
    /// Adds a case with these scores.
    pub fn push_case(&mut self, scores: impl IntoIterator<Item = f64>) {
        self.scores.extend(scores);
        self.offsets.push(self.scores.len());
    }

    /// The table as a view.
    ///
    /// # Errors
    ///
    /// [`StatsError::NotFinite`] for NaN or infinity.
    pub fn as_samples(&self) -> Result<Samples<'_>, StatsError> {
        Samples::new(&self.scores, &self.offsets)
    }
}

impl<Row: IntoIterator<Item = f64>> FromIterator<Row> for SampleTable {
    fn from_iter<Rows: IntoIterator<Item = Row>>(rows: Rows) -> Self {
        let mut table = Self::default();
        for row in rows {
            table.push_case(row);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_owns_its_scores() {
        let samples = Samples::new(&[1.0, 0.0, 1.0], &[0, 2, 3]).unwrap();
        assert_eq!(samples.of_case(0), [1.0, 0.0]);
        assert_eq!(samples.case_means().unwrap(), [0.5, 1.0]);
        assert_eq!(samples.k_range(), Some((1, 2)));
        assert!(samples.are_binary());
    }

    #[test]
    fn wrong_offsets_are_refused_with_their_position() {
        let at = |offsets: &[usize]| match Samples::new(&[1.0, 0.0], offsets) {
            Err(StatsError::Offsets { index, .. }) => index,
            other => panic!("offsets {offsets:?} gave {other:?}"),
        };
        assert_eq!(at(&[]), 0);
        assert_eq!(at(&[1, 2]), 0);
        assert_eq!(at(&[0, 2, 1, 2]), 2);
        assert_eq!(at(&[0, 1]), 1);
    }

    #[test]
    fn a_case_without_samples_is_an_error_of_the_mean_only() {
        let table: SampleTable = [vec![1.0], vec![]].into_iter().collect();
        let samples = table.as_samples().unwrap();
        assert_eq!(samples.n_cases(), 2);
        let missing = StatsError::NoSamples { argument: "samples", case: 1 };
        assert_eq!(samples.case_means(), Err(missing));
    }

    #[test]
    fn nan_is_refused() {
        assert!(Samples::one_per_case(&[0.0, f64::NAN]).is_err());
    }
}
