//! Cases × repeats: what a design costs, how long it takes and what it can see.

use serde::Serialize;

use super::detect::{POWER, Spread};
use crate::stats::{self, Budget};

/// The most repeats that are thought of.
pub const MAX_REPEATS: u32 = 10;

/// What one trial takes, all targets together: linear in the number of trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Dollars for one sample of a case on every target; `None` when a price is not known.
    pub usd_a_sample: Option<f64>,
    /// Dollars for having one more case (writing and reviewing it); 0 for those there are.
    pub usd_a_case: f64,
    /// Seconds that one more sample adds.
    pub seconds_a_sample: f64,
    /// Seconds that a run takes beside.
    pub seconds_at_start: f64,
    /// Cases there are.
    pub cases: u64,
    /// Mean cases a cluster.
    pub cluster_size: f64,
}

/// One design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignRow {
    /// Cases.
    pub cases: u64,
    /// Of these, cases that are still to be written.
    pub new_cases: u64,
    /// Clusters, if new cases cluster as those there are.
    pub clusters: u64,
    /// Repeats.
    pub repeats: u32,
    /// Dollars, all targets together; `None` when a price is not known.
    pub cost_usd: Option<f64>,
    /// Hours.
    pub hours: f64,
    /// Standard error of one target's pass rate.
    pub se: f64,
    /// Smallest difference between two sides that it sees, as a fraction.
    pub detectable_difference: f64,
}

/// Why a wish cannot be had, with the nearest design that can.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Impossible {
    /// What is wrong.
    pub message: String,
    /// What could be had.
    pub nearest: Option<String>,
}

impl Prices {
    /// The design of `cases` cases asked `repeats` times.
    pub fn row(&self, spread: &Spread, cases: u64, repeats: u32) -> DesignRow {
        let samples = cases as f64 * f64::from(repeats);
        let new_cases = cases.saturating_sub(self.cases);
        let detectable = spread.detectable(cases, repeats);
        DesignRow {
            cases,
            new_cases,
            clusters: super::range::whole((cases as f64 / self.cluster_size.max(1.0)).ceil()),
            repeats,
            cost_usd: self.usd_a_sample.map(|cost| samples * cost + new_cases as f64 * self.usd_a_case),
            hours: (self.seconds_at_start + samples * self.seconds_a_sample) / 3600.0,
            se: detectable.se,
            detectable_difference: detectable.paired,
        }
    }

    /// Designs around the one at hand.
    pub fn grid(&self, spread: &Spread) -> Vec<DesignRow> {
        let now = self.cases.max(2);
        let mut sizes = vec![now.div_ceil(4), now.div_ceil(2), now, 2 * now, 4 * now];
        sizes.retain(|cases| *cases >= 2);
        sizes.dedup();
        let repeats = [1, 2, 3, 5, 10];
        sizes.iter().flat_map(|&cases| repeats.map(|repeats| self.row(spread, cases, repeats))).collect()
    }

    /// The cheapest design that sees a difference of `delta`; the quickest where no price is known.
    ///
    /// # Errors
    /// A difference of 0, or of a whole or more.
    pub fn cheapest(&self, spread: &Spread, delta: f64) -> Result<DesignRow, Impossible> {
        if !(delta > 0.0 && delta < 1.0) {
            let now = self.row(spread, self.cases, 1).detectable_difference;
            return Err(Impossible {
                message: format!(
                    "a difference of {:.4} points cannot be planned for: expected more than 0 and less than 100",
                    delta * 100.0
                ),
                nearest: Some(format!(
                    "the {} cases there are, asked once each, see {:.2} points: `--detect {:.2}`",
                    self.cases,
                    now * 100.0,
                    now * 100.0
                )),
            });
        }
        let rows = (1..=MAX_REPEATS).filter_map(|repeats| {
            let cases = spread.comparison(repeats).cases_needed(delta, POWER).ok()?;
            Some(self.row(spread, cases.max(2), repeats))
        });
        let price = |row: &DesignRow| row.cost_usd.unwrap_or(row.hours);
        let best =
            rows.reduce(|best, row| if price(&row) < price(&best) * (1.0 - 1e-9) { row } else { best });
        Ok(best.expect("one design at least was looked at"))
    }

    /// The design with the smallest standard error of a difference that `limit` affords, in dollars;
    /// at most `most` cases, where that is given.
    ///
    /// # Errors
    /// Less than two cases asked once, or no price.
    pub fn for_budget(
        &self,
        spread: &Spread,
        limit: f64,
        most: Option<u64>,
    ) -> Result<DesignRow, Impossible> {
        let Some(cost_sample) = self.usd_a_sample else {
            return Err(Impossible {
                message: "a budget cannot be planned for: a target has no price".to_owned(),
                nearest: Some("add a `[[price]]` row for its model".to_owned()),
            });
        };
        let least = 2.0 * (cost_sample + if self.cases < 2 { self.usd_a_case } else { 0.0 });
        self.best(spread, limit, self.usd_a_case, cost_sample, most).ok_or_else(|| Impossible {
            message: format!("a budget of ${limit} is below two cases asked once each"),
            nearest: Some(format!("the smallest design, 2 cases asked once, costs ${least:.6}")),
        })
    }

    /// The same for a time, in hours.
    ///
    /// # Errors
    /// Less than two cases asked once.
    pub fn for_hours(&self, spread: &Spread, hours: f64, most: Option<u64>) -> Result<DesignRow, Impossible> {
        let left = hours * 3600.0 - self.seconds_at_start;
        let best = if left > 0.0 { self.best(spread, left, 0.0, self.seconds_a_sample, most) } else { None };
        best.ok_or_else(|| Impossible {
            message: format!("{hours} hours are below two cases asked once each"),
            nearest: Some(format!(
                "the smallest design, 2 cases asked once, takes {:.4} hours",
                (self.seconds_at_start + 2.0 * self.seconds_a_sample) / 3600.0
            )),
        })
    }

    fn best(
        &self,
        spread: &Spread,
        limit: f64,
        cost_case: f64,
        cost_sample: f64,
        most: Option<u64>,
    ) -> Option<DesignRow> {
        let budget = Budget {
            budget: limit.max(0.0),
            cost_case,
            n_free: self.cases,
            cost_sample,
            between: spread.omega2 * spread.deff,
            within: (spread.sigma2_candidate + spread.sigma2_baseline) * spread.deff,
            k_max: MAX_REPEATS,
            n_max: most,
        };
        let design = stats::best_design(&budget).ok()?.ok()?;
        Some(self.row(spread, design.n, design.k))
    }
}

/// Cases that each part of the set still lacks to see `delta` within it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentNeed {
    /// What cuts it.
    pub key: String,
    /// Which part.
    pub value: String,
    /// Cases it has.
    pub cases: u64,
    /// Cases it would need.
    pub needed: u64,
    /// The difference it can see now, as a fraction.
    pub detectable_difference: f64,
}

/// What each segment of `sizes` (key, value, cases) needs to see `delta` by itself.
pub fn segment_needs<'a>(
    spread: &Spread,
    sizes: impl Iterator<Item = (&'a str, &'a str, u64)>,
    delta: f64,
    repeats: u32,
) -> Vec<SegmentNeed> {
    let needed = spread.comparison(repeats).cases_needed(delta, POWER).unwrap_or(u64::MAX);
    sizes
        .map(|(key, value, cases)| SegmentNeed {
            key: key.to_owned(),
            value: value.to_owned(),
            cases,
            needed,
            detectable_difference: spread.detectable(cases, repeats).paired,
        })
        .collect()
}

/// Clusters that a difference of `delta` needs when they are few; `None` without variance.
pub fn clusters_needed(spread: &Spread, delta: f64, repeats: u32, cluster_size: f64) -> Option<u64> {
    spread.comparison(repeats).clusters_needed(delta, POWER, cluster_size.max(1.0)).ok()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(omega2: f64, sigma2: f64) -> Spread {
        Spread {
            source: String::new(),
            assumed: true,
            cases: 0,
            between: omega2,
            within: sigma2,
            deff_one: 1.0,
            omega2,
            sigma2_candidate: sigma2,
            sigma2_baseline: sigma2,
            deff: 1.0,
        }
    }

    fn prices(usd_a_case: f64) -> Prices {
        Prices {
            usd_a_sample: Some(0.01),
            usd_a_case,
            seconds_a_sample: 0.5,
            seconds_at_start: 10.0,
            cases: 500,
            cluster_size: 1.0,
        }
    }

    #[test]
    fn millers_worked_design_is_the_cheapest_for_three_points() {
        let row = prices(0.0).cheapest(&spread(1.0 / 9.0, 0.0), 0.03).unwrap();
        assert_eq!((row.cases, row.repeats), (969, 1));
        assert!((row.cost_usd.unwrap() - 9.69).abs() < 1e-9);
    }

    #[test]
    fn noise_and_dear_cases_are_worth_repeats() {
        let noisy = spread(0.02, 0.2);
        let free = prices(0.0).for_budget(&noisy, 50.0, None).unwrap();
        assert_eq!(free.repeats, 1);
        let few = Prices { cases: 20, ..prices(1.0) };
        let dear = few.for_budget(&noisy, 50.0, None).unwrap();
        assert!(dear.repeats > 3, "{dear:?}");
        let bound = prices(0.0).for_budget(&noisy, 50.0, Some(1_000)).unwrap();
        assert_eq!((bound.cases, bound.repeats), (1_000, 5));
    }

    #[test]
    fn cases_that_are_there_cost_nothing_to_write() {
        let (free, dear) = (prices(0.0), prices(3.0));
        let noisy = spread(0.02, 0.2);
        let without = free.for_budget(&noisy, 50.0, Some(500)).unwrap();
        for most in [Some(500), None] {
            assert_eq!(dear.for_budget(&noisy, 50.0, most).unwrap().repeats, without.repeats, "{most:?}");
        }
        let more = dear.for_budget(&noisy, 2_000.0, None).unwrap();
        assert!(more.new_cases > 600, "{more:?}");
        assert!((1_990.0..=2_000.0).contains(&more.cost_usd.unwrap()), "{more:?}");
    }

    #[test]
    fn an_impossible_wish_is_told_with_what_can_be_had() {
        let spread = spread(0.1, 0.1);
        let none = prices(0.0).cheapest(&spread, 0.0).unwrap_err();
        assert!(none.nearest.unwrap().contains("--detect"));
        let poor = prices(0.0).for_budget(&spread, 0.005, None).unwrap_err();
        assert!(poor.nearest.unwrap().contains("2 cases asked once"));
        assert!(prices(0.0).for_hours(&spread, 0.001, None).is_err());
    }
}
