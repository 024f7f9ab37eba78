//! How well two raters agree: a human and a judge, or two humans.
//!
//! Two coefficients that correct for chance stand side by side, because each misleads alone: kappa
//! collapses when nearly everything passes, AC1 does not. The sensitivity and specificity of a judge
//! say more than either, see [`judge_quality`](crate::stats::judge_quality()).

use crate::stats::{
    Estimable, Interval, NotEstimable, StatsError, error, means::sums::Sum, proportions::proportion,
    special::student_quantile,
};

/// Variances below this are the rounding of an exact 0.
const VARIANCE_FLOOR: f64 = 1e-14;

/// Agreement of two raters over `n` items.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Items rated by both.
    pub n: u64,
    /// Share of items on which they agree.
    pub agreement: Estimable<f64>,
    /// Wilson interval of that share.
    pub agreement_interval: Estimable<Interval>,
    /// Cohen's kappa.
    pub kappa: Estimable<Kappa>,
    /// Gwet's AC1.
    pub ac1: Estimable<Ac1>,
}

/// Cohen's kappa: 1 is perfect agreement, 0 what chance alone would give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kappa {
    /// The coefficient.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
    /// The standard error if the true kappa were 0, for a test of "no better than chance".
    pub se_if_zero: f64,
    /// Normal interval, its upper limit clipped at 1.
    pub interval: Interval,
}

/// Gwet's AC1: like kappa, and steady when nearly all items are in one category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ac1 {
    /// The coefficient.
    pub value: f64,
    /// Its standard error; [`NotEstimable::SingleCase`] for one item.
    pub se: Estimable<f64>,
    /// Interval by Student's t with n − 1 degrees of freedom, its upper limit clipped at 1.
    pub interval: Estimable<Interval>,
}

/// Agreement, Cohen's kappa and Gwet's AC1 of a square table of counts.
///
/// `table[i][j]` counts the items to which the first rater (the human) gave category i and the second
/// (the judge) category j, the categories in the same order on both sides.
///
/// Kappa: with p_o the share on the diagonal, margins r and c, and p_e = Σ r_i c_i,
/// κ = (p_o − p_e)/(1 − p_e) and
/// SE² = [Σ p_ii (1 − (r_i+c_i)(1−κ))² + (1−κ)² Σ_{i≠j} p_ij (c_i+r_j)² − (κ − p_e(1−κ))²] / ((1−p_e)² n);
/// if κ were 0: SE₀² = [p_e + p_e² − Σ r_i c_i (r_i+c_i)] / ((1−p_e)² n).
///
/// AC1: with π_k = (r_k+c_k)/2 over q categories and p_g = Σ π_k(1−π_k)/(q−1),
/// γ = (p_o − p_g)/(1 − p_g). Per item labelled (i, j): e = ((1−π_i)+(1−π_j))/(2(q−1)),
/// u = ([i=j]−p_g)/(1−p_g) − 2(1−γ)(e−p_g)/(1−p_g), SE² = Σ (u−γ)²/(n(n−1)).
///
/// Assumes independent items that are a random sample of those judged. Without items everything is
/// [`NotEstimable::NoData`]; if both raters used one and the same category only, kappa is
/// [`NotEstimable::SingleCategory`] (and AC1 too if the table has one category).
///
/// # Errors
/// A table without categories or not square; a `confidence` outside (0, 1).
///
/// Source: Cohen (1960), Educ. Psychol. Meas. 20(1); Fleiss, Cohen & Everitt (1969), Psychol. Bull.
/// 72(5), for both standard errors; Gwet (2008), Br. J. Math. Stat. Psychol. 61(1).
pub fn agreement(table: &[Vec<u64>], confidence: f64) -> Result<Agreement, StatsError> {
    let z = proportion::two_sided_z(confidence)?;
    error::check_positive("table", table.len() as f64)?;
    for row in table {
        error::check_same_length("table", table.len(), "row of table", row.len())?;
    }
    let n = table.iter().flatten().sum();
    let agreed = table.iter().enumerate().map(|(category, row)| row[category]).sum();
    let shares = Shares::of(table, n);
    Ok(Agreement {
        n,
        agreement: shares.as_ref().map(Shares::agreement).map_err(|&reason| reason),
        agreement_interval: proportion::wilson(agreed, n, z)?,
        kappa: shares.as_ref().map_err(|&reason| reason).and_then(|shares| shares.kappa(z)),
        ac1: shares.as_ref().map_err(|&reason| reason).and_then(|shares| shares.ac1(confidence)),
    })
}

/// Counts the labels of two raters into the table that [`agreement`] reads.
///
/// `first[i]` and `second[i]` are the categories of item i, below `categories`. O(n).
///
/// # Errors
/// Lengths that differ, a category that is not below `categories`.
pub fn agreement_table(
    first: &[usize],
    second: &[usize],
    categories: usize,
) -> Result<Vec<Vec<u64>>, StatsError> {
    error::check_same_length("first", first.len(), "second", second.len())?;
    for (argument, labels) in [("first", first), ("second", second)] {
        if let Some(index) = labels.iter().position(|&label| label >= categories) {
            return Err(StatsError::UnknownIndex { argument, index, value: labels[index], len: categories });
        }
    }
    let mut table = vec![vec![0; categories]; categories];
    for (&row, &column) in first.iter().zip(second) {
        table[row][column] += 1;
    }
    Ok(table)
}

/// The table as shares of all items, with its margins.
struct Shares {
    n: f64,
    cells: Vec<Vec<f64>>,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Shares {
    fn of(table: &[Vec<u64>], n: u64) -> Estimable<Self> {
        if n == 0 {
            return Err(NotEstimable::NoData);
        }
        let share = |count: u64| count as f64 / n as f64;
        Ok(Self {
            n: n as f64,
            cells: table.iter().map(|row| row.iter().map(|&count| share(count)).collect()).collect(),
            rows: table.iter().map(|row| share(row.iter().sum())).collect(),
            columns: (0..table.len())
                .map(|column| share(table.iter().map(|row| row[column]).sum()))
                .collect(),
        })
    }

    fn agreement(&self) -> f64 {
        (0..self.rows.len()).map(|category| self.cells[category][category]).sum()
    }

    /// Every cell: (row, column, share).
    fn each_cell(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        self.cells
            .iter()
            .enumerate()
            .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, &share)| (i, j, share)))
    }

    fn kappa(&self, z: f64) -> Estimable<Kappa> {
        let margins = || self.rows.iter().zip(&self.columns);
        // The product of two margins is 1 only if both raters used this one category.
        if margins().any(|(row, column)| row * column == 1.0) {
            return Err(NotEstimable::SingleCategory);
        }
        let by_chance: f64 = margins().map(|(row, column)| row * column).sum();
        let value = (self.agreement() - by_chance) / (1.0 - by_chance);
        let mut spread = Sum::default();
        for (i, j, share) in self.each_cell() {
            spread.add(if i == j {
                share * (1.0 - (self.rows[i] + self.columns[i]) * (1.0 - value)).powi(2)
            } else {
                (1.0 - value).powi(2) * share * (self.columns[i] + self.rows[j]).powi(2)
            });
        }
        spread.add(-(value - by_chance * (1.0 - value)).powi(2));
        let by_chance_cubed: f64 = margins().map(|(row, column)| row * column * (row + column)).sum();
        let scale = (1.0 - by_chance).powi(2) * self.n;
        let se = root(spread.value() / scale);
        Ok(Kappa {
            value,
            se,
            se_if_zero: root((by_chance + by_chance.powi(2) - by_chance_cubed) / scale),
            interval: below_one(value, z * se),
        })
    }

    fn ac1(&self, confidence: f64) -> Estimable<Ac1> {
        let quantile = |df| student_quantile(0.5 + 0.5 * confidence, Some(df));
        let categories = self.rows.len() as f64;
        if self.rows.len() < 2 {
            return Err(NotEstimable::SingleCategory);
        }
        let used: Vec<f64> =
            self.rows.iter().zip(&self.columns).map(|(row, column)| (row + column) / 2.0).collect();
        let by_chance = used.iter().map(|share| share * (1.0 - share)).sum::<f64>() / (categories - 1.0);
        let value = (self.agreement() - by_chance) / (1.0 - by_chance);
        let se = if self.n < 2.0 {
            Err(NotEstimable::SingleCase)
        } else {
            let mut spread = Sum::default();
            for (i, j, share) in self.each_cell() {
                let expected = ((1.0 - used[i]) + (1.0 - used[j])) / (2.0 * (categories - 1.0));
                let agrees = f64::from(u8::from(i == j));
                let item = (agrees - by_chance) / (1.0 - by_chance)
                    - 2.0 * (1.0 - value) * (expected - by_chance) / (1.0 - by_chance);
                spread.add(share * (item - value).powi(2));
            }
            Ok(root(spread.value() / (self.n - 1.0)))
        };
        let interval = se.map(|se| below_one(value, quantile(self.n - 1.0) * se));
        Ok(Ac1 { value, se, interval })
    }
}

fn root(variance: f64) -> f64 {
    if variance < VARIANCE_FLOOR { 0.0 } else { variance.sqrt() }
}

fn below_one(value: f64, half: f64) -> Interval {
    Interval { low: value - half, high: (value + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(table: [[u64; 2]; 2]) -> Agreement {
        agreement(&table.map(Vec::from), 0.95).unwrap()
    }

    #[test]
    fn ninety_one_of_a_hundred_with_five_percent_fails_is_kappa_13_and_ac1_90() {
        let result = of([[1, 5], [4, 90]]);
        assert!((result.agreement.unwrap() - 0.91).abs() < 1e-12);
        assert!((result.kappa.unwrap().value - 0.13).abs() < 0.005);
        assert!((result.ac1.unwrap().value - 0.90).abs() < 0.005);
    }

    #[test]
    fn forty_yes_forty_five_no_and_fifteen_disputed_is_kappa_70() {
        let result = of([[45, 10], [5, 40]]);
        assert!((result.agreement.unwrap() - 0.85).abs() < 1e-12);
        assert!((result.kappa.unwrap().value - 0.70).abs() < 0.005);
    }

    #[test]
    fn one_category_has_no_kappa_but_an_ac1_of_one() {
        let result = of([[0, 0], [0, 40]]);
        assert_eq!(result.kappa, Err(NotEstimable::SingleCategory));
        assert_eq!(result.ac1.unwrap().value, 1.0);
    }

    #[test]
    fn no_items_are_no_data_throughout() {
        let result = of([[0, 0], [0, 0]]);
        assert_eq!(result.agreement, Err(NotEstimable::NoData));
        assert_eq!(result.agreement_interval, Err(NotEstimable::NoData));
        assert_eq!(result.kappa, Err(NotEstimable::NoData));
        assert_eq!(result.ac1, Err(NotEstimable::NoData));
    }

    #[test]
    fn labels_are_counted_into_a_table() {
        let table = agreement_table(&[0, 1, 1, 1], &[0, 0, 1, 1], 2).unwrap();
        assert_eq!(table, [[1, 0], [1, 2]]);
        let unknown = agreement_table(&[0, 1], &[0, 2], 2);
        assert!(matches!(unknown, Err(StatsError::UnknownIndex { argument: "second", index: 1, .. })));
        assert!(agreement_table(&[0], &[], 2).is_err());
    }

    #[test]
    fn a_table_that_is_not_square_is_refused() {
        assert!(agreement(&[vec![1, 2], vec![3]], 0.95).is_err());
        assert!(agreement(&[], 0.95).is_err());
        assert!(agreement(&[vec![1, 2], vec![3, 4]], 1.0).is_err());
    }

    proptest! {
        #[test]
        fn the_raters_may_change_places(cells in prop::array::uniform4(0..50u64)) {
            let [a, b, c, d] = cells;
            let (one, other) = (of([[a, b], [c, d]]), of([[a, c], [b, d]]));
            let kappa = |a: &Agreement| a.kappa.map(|kappa| (kappa.value, kappa.se)).ok();
            let ac1 = |a: &Agreement| a.ac1.map(|ac1| (ac1.value, ac1.se.unwrap_or(0.0))).ok();
            for (left, right) in [(kappa(&one), kappa(&other)), (ac1(&one), ac1(&other))] {
                prop_assert_eq!(left.is_some(), right.is_some());
                if let (Some(left), Some(right)) = (left, right) {
                    prop_assert!((left.0 - right.0).abs() < 1e-9);
                    prop_assert!((left.1 - right.1).abs() < 1e-7);
                }
            }
        }

        #[test]
        fn coefficients_never_exceed_one(cells in prop::array::uniform4(0..50u64)) {
            let [a, b, c, d] = cells;
            let result = of([[a, b], [c, d]]);
            prop_assert!(!result.kappa.is_ok_and(|kappa| kappa.value > 1.0 + 1e-12));
            prop_assert!(!result.ac1.is_ok_and(|ac1| ac1.value > 1.0 + 1e-12));
        }
    }
}
