//! pass@k, pass^k, majority@k and plurality@k from n samples of a case, all unbiased.

use crate::stats::{Estimable, NotEstimable, SplitMix64, StatsError, error, special};

/// Most k-subsets that are enumerated; beyond, subsets are drawn.
const MAX_ENUMERATED: f64 = 1e5;

/// The chance that at least one of `k` samples is correct: 1 − C(n−c, k)/C(n, k).
///
/// From `correct` of `n` samples. Fewer samples than k: not estimable (1 − (1−p)^k is biased).
///
/// # Errors
///
/// [`StatsError::CountExceedsTotal`], [`StatsError::NotPositive`] for `k`.
///
/// Source: Chen et al. (2021), arXiv 2107.03374.
pub fn pass_at_k(n: u64, correct: u64, k: u64) -> Result<Estimable<f64>, StatsError> {
    check(n, correct, k)?;
    Ok(enough(n, k).map(|()| 1.0 - all_from(n - correct, n, k)))
}

/// The chance that all of `k` samples are correct: C(c, k)/C(n, k).
///
/// # Errors
///
/// As [`pass_at_k`].
///
/// Source: Yao et al. (2024), arXiv 2406.12045.
pub fn pass_hat_k(n: u64, correct: u64, k: u64) -> Result<Estimable<f64>, StatsError> {
    check(n, correct, k)?;
    Ok(enough(n, k).map(|()| all_from(correct, n, k)))
}

/// The chance that more than half of `k` samples are correct; exactly half counts for one half.
///
/// # Errors
///
/// As [`pass_at_k`].
pub fn majority_at_k(n: u64, correct: u64, k: u64) -> Result<Estimable<f64>, StatsError> {
    check(n, correct, k)?;
    Ok(enough(n, k).map(|()| {
        let weight = |j: u64| special::hypergeometric_pmf(j, correct, n - correct, k);
        let more: f64 = (k / 2 + 1..=k.min(correct)).map(weight).sum();
        let half = if k.is_multiple_of(2) { 0.5 * weight(k / 2) } else { 0.0 };
        (more + half).min(1.0)
    }))
}

/// The chance that the most frequent answer among `k` samples is the correct one; a tie for the
/// top counts by the correct answer's share of it.
///
/// `answers` holds the class of each sample. The mean over all k-subsets, enumerated up to 100,000
/// of them, else over `draws` subsets drawn with `seed`. Fewer samples than k: not estimable.
///
/// # Errors
///
/// [`StatsError::NotPositive`] for `k` or `draws`.
pub fn plurality_at_k(
    answers: &[u32],
    correct: u32,
    k: usize,
    draws: u32,
    seed: u64,
) -> Result<Estimable<f64>, StatsError> {
    error::check_positive("k", k as f64)?;
    error::check_positive("draws", f64::from(draws))?;
    let n = answers.len();
    if k > n {
        return Ok(Err(NotEstimable::FewerSamplesThanK));
    }
    let mut vote = Vote::new(answers, correct);
    let subsets = -special::ln_beta((n - k + 1) as f64, (k + 1) as f64) - ((n + 1) as f64).ln();
    let mut total = 0.0;
    let mut count = 0_u32;
    if subsets.exp() <= MAX_ENUMERATED + 0.5 {
        let mut chosen: Vec<usize> = (0..k).collect();
        loop {
            total += vote.share_of_top(&chosen);
            count += 1;
            if !next_subset(&mut chosen, n) {
                break;
            }
        }
    } else {
        for draw in 0..draws {
            let mut rng = SplitMix64::stream(seed, u64::from(draw));
            total += vote.share_of_top(&draw_subset(&mut rng, n, k));
            count += 1;
        }
    }
    Ok(Ok(total / f64::from(count)))
}

/// C(from, k)/C(n, k) as a product, 0 when `from` is too small.
fn all_from(from: u64, n: u64, k: u64) -> f64 {
    if k > from {
        return 0.0;
    }
    (0..k).map(|i| (from - i) as f64 / (n - i) as f64).product()
}

/// Counts the answers of a subset, over classes numbered from 0.
struct Vote {
    classes: Vec<usize>,
    correct: Option<usize>,
    counts: Vec<u32>,
}

impl Vote {
    fn new(answers: &[u32], correct: u32) -> Self {
        let mut distinct = answers.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let number = |answer: u32| distinct.binary_search(&answer).ok();
        Self {
            classes: answers.iter().filter_map(|&answer| number(answer)).collect(),
            correct: number(correct),
            counts: vec![0; distinct.len()],
        }
    }

    /// 1/(number of answers at the top) if the correct one is among them, else 0.
    fn share_of_top(&mut self, chosen: &[usize]) -> f64 {
        let Some(correct) = self.correct else {
            return 0.0;
        };
        self.counts.fill(0);
        for &sample in chosen {
            self.counts[self.classes[sample]] += 1;
        }
        let top = self.counts.iter().copied().max().unwrap_or(0);
        if self.counts[correct] < top {
            return 0.0;
        }
        let tied = self.counts.iter().filter(|&&count| count == top).count();
        1.0 / tied as f64
    }
}

/// Moves to the next k-subset of 0..n in lexicographic order; `false` after the last.
fn next_subset(chosen: &mut [usize], n: usize) -> bool {
    let k = chosen.len();
    for position in (0..k).rev() {
        if chosen[position] < n - k + position {
            chosen[position] += 1;
            for later in position + 1..k {
                chosen[later] = chosen[later - 1] + 1;
            }
            return true;
        }
    }
    false
}

/// k distinct numbers below n, by the first k swaps of a Fisher-Yates shuffle.
fn draw_subset(rng: &mut SplitMix64, n: usize, k: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..n).collect();
    for position in 0..k {
        numbers.swap(position, position + rng.below(n - position));
    }
    numbers.truncate(k);
    numbers
}

fn enough(n: u64, k: u64) -> Estimable<()> {
    if k > n { Err(NotEstimable::FewerSamplesThanK) } else { Ok(()) }
}

fn check(n: u64, correct: u64, k: u64) -> Result<(), StatsError> {
    error::check_positive("k", k as f64)?;
    if correct > n {
        let (argument, index) = ("correct", 0);
        return Err(StatsError::CountExceedsTotal { argument, index, count: correct, total: n });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_of_five_pass_one_of_two_in_seven_of_ten() {
        assert!((pass_at_k(5, 2, 2).unwrap().unwrap() - 0.7).abs() < 1e-15);
        assert!((pass_hat_k(5, 2, 2).unwrap().unwrap() - 0.1).abs() < 1e-15);
    }

    #[test]
    fn k_beyond_the_samples_is_not_estimable() {
        let few = Ok(Err(NotEstimable::FewerSamplesThanK));
        assert_eq!(pass_at_k(3, 1, 4), few);
        assert_eq!(pass_hat_k(3, 1, 4), few);
        assert_eq!(majority_at_k(3, 1, 4), few);
        assert_eq!(plurality_at_k(&[1, 2, 3], 1, 4, 99, 0), few);
    }

    #[test]
    fn a_tie_for_the_top_is_shared() {
        assert_eq!(plurality_at_k(&[1, 2], 1, 2, 99, 0), Ok(Ok(0.5)));
        assert_eq!(plurality_at_k(&[1, 1, 1], 7, 2, 99, 0), Ok(Ok(0.0)));
        assert_eq!(plurality_at_k(&[1, 1, 1], 1, 2, 99, 0), Ok(Ok(1.0)));
    }

    /// C(30, 15) is far beyond enumeration; with two classes the truth is the majority.
    #[test]
    fn drawn_subsets_come_near_the_truth_and_repeat_by_seed() {
        let answers: Vec<u32> = (0..30).map(|sample| u32::from(sample < 16)).collect();
        let drawn = plurality_at_k(&answers, 1, 15, 9999, 7).unwrap().unwrap();
        let exact = majority_at_k(30, 16, 15).unwrap().unwrap();
        assert!((drawn - exact).abs() < 0.02, "{drawn} against {exact}");
        assert_eq!(plurality_at_k(&answers, 1, 15, 9999, 7), Ok(Ok(drawn)));
    }

    #[test]
    fn bad_counts_are_refused() {
        assert!(pass_at_k(3, 4, 1).is_err());
        assert!(pass_hat_k(3, 1, 0).is_err());
        assert!(plurality_at_k(&[1], 1, 0, 9, 0).is_err());
    }

    proptest! {
        #[test]
        fn one_sample_is_the_pass_rate_and_more_only_help(
            (n, correct) in (1_u64..60).prop_flat_map(|n| (Just(n), 0..=n))
        ) {
            let rate = correct as f64 / n as f64;
            prop_assert!((pass_at_k(n, correct, 1).unwrap().unwrap() - rate).abs() < 1e-12);
            prop_assert!((majority_at_k(n, correct, 1).unwrap().unwrap() - rate).abs() < 1e-12);
            for k in 1..n {
                let (now, next) = (pass_at_k(n, correct, k), pass_at_k(n, correct, k + 1));
                prop_assert!(next.unwrap().unwrap() >= now.unwrap().unwrap() - 1e-12);
                let (now, next) = (pass_hat_k(n, correct, k), pass_hat_k(n, correct, k + 1));
                prop_assert!(next.unwrap().unwrap() <= now.unwrap().unwrap() + 1e-12);
            }
        }
    }
}
