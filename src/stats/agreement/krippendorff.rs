//! Krippendorff's alpha: agreement of any number of raters, with ratings missing.

use std::collections::BTreeMap;

use crate::stats::{
    Estimable, Interval, NotEstimable, StatsError, error,
    resampling::bootstrap::{percentile, resample},
};

/// Nominal agreement of two or more raters.
#[derive(Clone, Debug, PartialEq)]
pub struct Krippendorff {
    /// 1 is perfect agreement, 0 what chance alone would give, below 0 systematic disagreement.
    pub alpha: Estimable<f64>,
    /// Ratings in units that have at least two.
    pub pairable_values: usize,
}

/// Krippendorff's alpha for nominal categories.
///
/// `units[u]` holds the ratings of item u, `None` where a rater gave none; categories are any
/// numbers. Units with fewer than two ratings say nothing and are left out. With m_u ratings in unit
/// u, n_uc of category c, n_c = Σ_u n_uc and n = Σ n_c:
/// D_o = Σ_u (m_u² − Σ_c n_uc²)/(m_u − 1), D_e = n² − Σ_c n_c², alpha = 1 − (n−1) D_o/D_e,
/// which is 1 − (n−1) Σ_{c≠c'} o_cc' / Σ_{c≠c'} n_c n_c' of the coincidence matrix o.
///
/// [`NotEstimable::NoData`] if no unit has two ratings, [`NotEstimable::SingleCategory`] if only one
/// category was used.
///
/// Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
pub fn krippendorff_alpha(units: &[Vec<Option<u32>>]) -> Krippendorff {
    let counted = Counted::of(units);
    let all: Vec<usize> = (0..counted.units.len()).collect();
    Krippendorff {
        alpha: counted.alpha(&all),
        pairable_values: counted.units.iter().map(|unit| unit.ratings).sum(),
    }
}

/// Alpha's percentile interval from a bootstrap over units, and the resamples that had no alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KrippendorffInterval {
    /// The interval.
    pub interval: Interval,
    /// Resamples that drew one category only; they are left out of the interval.
    pub undefined_replicates: usize,
}

/// Bootstrap interval of Krippendorff's alpha: whole units are drawn, as many as have two ratings.
///
/// Type-7 quantiles at α/2 and 1 − α/2 of the alphas of `replicates` resamples; the same for the same
/// `seed` whatever the number of threads. Assumes independent units. Not estimable where alpha itself
/// is not, with a single unit ([`NotEstimable::SingleCase`]), or if no resample has an alpha.
///
/// # Errors
/// No replicates; a `confidence` outside (0, 1).
///
/// Source: Hayes & Krippendorff (2007), Commun. Methods Meas. 1(1), for the idea; drawn units follow
/// [`resample`].
pub fn krippendorff_interval(
    units: &[Vec<Option<u32>>],
    seed: u64,
    replicates: usize,
    confidence: f64,
) -> Result<Estimable<KrippendorffInterval>, StatsError> {
    error::check_positive("replicates", replicates as f64)?;
    error::check_probability("confidence", confidence)?;
    let counted = Counted::of(units);
    let all: Vec<usize> = (0..counted.units.len()).collect();
    if let Err(reason) = counted.alpha(&all) {
        return Ok(Err(reason));
    }
    if all.len() < 2 {
        return Ok(Err(NotEstimable::SingleCase));
    }
    let mut alphas: Vec<f64> = resample(all.len(), seed, replicates, |drawn| counted.alpha(drawn).ok())
        .into_iter()
        .flatten()
        .collect();
    if alphas.is_empty() {
        return Ok(Err(NotEstimable::SingleCategory));
    }
    alphas.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Ok(Ok(KrippendorffInterval {
        interval: percentile(&alphas, tail, 1.0 - tail),
        undefined_replicates: replicates - alphas.len(),
    }))
}

/// The pairable units with their categories numbered from 0.
struct Counted {
    units: Vec<Unit>,
    categories: usize,
}

struct Unit {
    ratings: usize,
    /// (category, ratings of that category).
    counts: Vec<(usize, usize)>,
    /// (m² − Σ n_c²)/(m − 1): this unit's part of the observed disagreement.
    disagreement: f64,
}

impl Counted {
    fn of(units: &[Vec<Option<u32>>]) -> Self {
        let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
        let units = units
            .iter()
            .filter(|ratings| ratings.iter().flatten().count() >= 2)
            .map(|ratings| {
                let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
                for &label in ratings.iter().flatten() {
                    let next = numbers.len();
                    *counts.entry(*numbers.entry(label).or_insert(next)).or_default() += 1;
                }
                let ratings: usize = counts.values().sum();
                let alike: usize = counts.values().map(|count| count * count).sum();
                Unit {
                    ratings,
                    disagreement: (ratings * ratings - alike) as f64 / (ratings - 1) as f64,
                    counts: counts.into_iter().collect(),
                }
            })
            .collect();
        Self { units, categories: numbers.len() }
    }

    fn alpha(&self, drawn: &[usize]) -> Estimable<f64> {
        let mut totals = vec![0_usize; self.categories];
        let mut observed = 0.0;
        for &unit in drawn {
            observed += self.units[unit].disagreement;
            for &(category, count) in &self.units[unit].counts {
                totals[category] += count;
            }
        }
        let ratings: usize = totals.iter().sum();
        if ratings == 0 {
            return Err(NotEstimable::NoData);
        }
        let n = ratings as f64;
        let expected = n * n - totals.iter().map(|&count| (count as f64).powi(2)).sum::<f64>();
        if expected <= 0.0 {
            return Err(NotEstimable::SingleCategory);
        }
        Ok(1.0 - (n - 1.0) * observed / expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(rows: &[[u32; 2]]) -> Vec<Vec<Option<u32>>> {
        rows.iter().map(|row| row.iter().map(|&label| Some(label)).collect()).collect()
    }

    #[test]
    fn perfect_agreement_is_one_and_opposite_labels_are_below_zero() {
        assert_eq!(krippendorff_alpha(&units(&[[0, 0], [1, 1], [1, 1]])).alpha, Ok(1.0));
        assert!(krippendorff_alpha(&units(&[[0, 1], [1, 0]])).alpha.unwrap() < 0.0);
    }

    #[test]
    fn one_category_and_nothing_pairable_have_no_alpha() {
        let same = krippendorff_alpha(&units(&[[1, 1], [1, 1]]));
        assert_eq!(same.alpha, Err(NotEstimable::SingleCategory));
        let alone = krippendorff_alpha(&[vec![Some(1), None], vec![None, Some(0)]]);
        assert_eq!((alone.alpha, alone.pairable_values), (Err(NotEstimable::NoData), 0));
        assert_eq!(krippendorff_alpha(&[]).alpha, Err(NotEstimable::NoData));
    }

    #[test]
    fn the_bootstrap_interval_holds_the_point_and_ignores_the_threads() {
        let rows: Vec<[u32; 2]> =
            (0..40).map(|i| [i % 2, if i % 7 == 0 { 1 - i % 2 } else { i % 2 }]).collect();
        let units = units(&rows);
        let in_pool = |threads: usize| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
                .install(|| krippendorff_interval(&units, 7, 500, 0.95).unwrap().unwrap())
        };
        let result = in_pool(1);
        assert_eq!(result, in_pool(4));
        assert!(result.interval.contains(krippendorff_alpha(&units).alpha.unwrap()));
    }

    #[test]
    fn an_interval_needs_two_units() {
        let one = units(&[[0, 1]]);
        assert_eq!(krippendorff_interval(&one, 1, 9, 0.95), Ok(Err(NotEstimable::SingleCase)));
        assert!(krippendorff_interval(&one, 1, 0, 0.95).is_err());
    }
}
