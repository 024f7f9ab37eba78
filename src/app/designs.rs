//! Designs that were asked for: cases × repeats against dollars, hours and what they would see.

use std::collections::BTreeMap;

use serde::Serialize;

use super::AppError;
use crate::{
    config::Experiment,
    estimate::{
        Assumptions, Spread,
        design::{self, DesignRow, Impossible, Prices, SegmentNeed},
    },
};

/// What to look for among designs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Estimate so many cases like those there are.
    pub cases: Option<u32>,
    /// Cases × repeats.
    pub grid: bool,
    /// The cheapest design that sees a difference of so many points.
    pub detect: Option<f64>,
    /// The design that sees most for so many dollars.
    pub budget: Option<f64>,
    /// The design that sees most in so many hours.
    pub hours: Option<f64>,
    /// What writing one more case costs, in dollars.
    pub case_cost: f64,
    /// The variance of the difference in difficulty in the place of a measured one.
    pub omega2: Option<f64>,
    /// The variance within a case in the place of a measured one.
    pub sigma2: Option<f64>,
}

impl Wanted {
    /// Finds numbers that no plan can be made with.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), AppError> {
        let numbers = [
            ("--budget", self.budget),
            ("--hours", self.hours),
            ("--case-cost", Some(self.case_cost)),
            ("--omega2", self.omega2),
            ("--sigma2", self.sigma2),
            ("--detect", self.detect),
        ];
        match numbers.into_iter().find(|(_, number)| number.is_some_and(|n| !n.is_finite() || n < 0.0)) {
            Some((name, Some(number))) => Err(AppError::hinted(
                format!("`{name} {number}` cannot be planned with"),
                "expected a number of 0 or more",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn assumptions(&self) -> Option<Assumptions> {
        if self.omega2.is_none() && self.sigma2.is_none() {
            return None;
        }
        let usual = Assumptions::default();
        Some(Assumptions {
            omega2: self.omega2.unwrap_or(usual.omega2),
            sigma2: self.sigma2.unwrap_or(usual.sigma2),
        })
    }
}

/// The designs that were asked for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Designs {
    /// Cases × repeats.
    pub grid: Vec<DesignRow>,
    /// The cheapest that sees so many points.
    pub cheapest: Option<Cheapest>,
    /// How many clusters the t test needs for that; `None` where no design was looked for.
    pub clusters_needed: Option<u64>,
    /// What each segment would need to see that by itself.
    pub segments: Vec<SegmentNeed>,
    /// The best for a budget or a time: with the cases there are, and with new ones.
    pub best: Vec<Best>,
}

/// The cheapest design that sees a difference.
#[derive(Clone, Debug, Serialize)]
pub struct Cheapest {
    /// The difference, in points.
    pub points: f64,
    /// The design.
    pub design: DesignRow,
}

/// The design that sees most for what there is.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    /// For what.
    pub title: String,
    /// The design.
    pub design: DesignRow,
}

impl Designs {
    pub(super) fn find(
        wanted: &Wanted,
        experiment: &Experiment,
        prices: &Prices,
        spread: &Spread,
        repeats: u32,
    ) -> Result<Self, AppError> {
        let mut designs = Self::default();
        if wanted.grid {
            designs.grid = prices.grid(spread);
        }
        if let Some(points) = wanted.detect {
            let delta = points / 100.0;
            let design = prices.cheapest(spread, delta).map_err(impossible)?;
            designs.clusters_needed =
                design::clusters_needed(spread, delta, design.repeats, prices.cluster_size);
            let sizes = segment_sizes(experiment);
            let sizes = sizes.iter().map(|((key, value), cases)| (key.as_str(), value.as_str(), *cases));
            designs.segments = design::segment_needs(spread, sizes, delta, repeats);
            designs.cheapest = Some(Cheapest { points, design });
        }
        let there_are = Some(prices.cases);
        let mut add = |title: String, design| designs.best.push(Best { title, design });
        if let Some(budget) = wanted.budget {
            let row = |most| prices.for_budget(spread, budget, most).map_err(impossible);
            add(format!("best for ${budget} with the cases there are"), row(there_are)?);
            add(format!("best for ${budget} with new cases"), row(None)?);
        }
        if let Some(hours) = wanted.hours {
            let row = |most| prices.for_hours(spread, hours, most).map_err(impossible);
            add(format!("best in {hours} hours with the cases there are"), row(there_are)?);
            add(format!("best in {hours} hours with new cases"), row(None)?);
        }
        Ok(designs)
    }
}

fn impossible(error: Impossible) -> AppError {
    AppError::Usage { message: error.message, hint: error.nearest }
}

fn segment_sizes(experiment: &Experiment) -> BTreeMap<(String, String), u64> {
    let mut sizes = BTreeMap::new();
    for planned in &experiment.cases {
        for (key, value) in planned.case.segment.iter() {
            *sizes.entry((key.clone(), value.clone())).or_default() += 1;
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_plan_can_be_made_with_is_named() {
        assert!(Wanted::default().check().is_ok());
        let error = Wanted { budget: Some(-1.0), ..Wanted::default() }.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`--budget -1` cannot be planned with\n  hint: expected a number of 0 or more"
        );
        assert!(Wanted { sigma2: Some(f64::NAN), ..Wanted::default() }.check().is_err());
    }

    #[test]
    fn one_variance_that_is_given_leaves_the_other_as_usual() {
        let wanted = Wanted { omega2: Some(0.5), ..Wanted::default() };
        let assumptions = wanted.assumptions().unwrap();
        assert_eq!((assumptions.omega2, assumptions.sigma2), (0.5, Assumptions::default().sigma2));
        assert!(Wanted::default().assumptions().is_none());
    }
}
