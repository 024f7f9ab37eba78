//! What a run will be able to tell apart: the smallest difference seen with a power of 80 % at 5 %.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::history::{Basis, History, PastCase, TargetHistory};
use crate::{
    config::Experiment,
    domain::{CaseId, TargetPos},
    stats::{self, Clusters, Comparison, NotEstimable, SampleTable, special::normal_quantile},
};

/// Power of every plan.
pub const POWER: f64 = 0.8;

/// Level of every test.
pub const ALPHA: f64 = 0.05;

/// Var(x_A − x_B) where nothing is known: difficulties uniform on [0, 1] that correlate with 1/3.
///
/// Source: Miller (2024), arXiv 2411.00640, §5.
const MILLER_OMEGA2: f64 = 1.0 / 9.0;

/// Variance of uniform difficulties.
const UNIFORM: f64 = 1.0 / 12.0;

/// Fewer earlier cases say too little of a variance.
const ENOUGH_CASES: usize = 10;

/// Variances that stand in where no earlier run tells them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumptions {
    /// Var(x_A − x_B).
    pub omega2: f64,
    /// Mean within-case variance of either side.
    pub sigma2: f64,
}

impl Default for Assumptions {
    /// Miller's worked design: ω² = 1/9, no noise within a case.
    fn default() -> Self {
        Self { omega2: MILLER_OMEGA2, sigma2: 0.0 }
    }
}

/// The variances that decide what can be seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Where they come from.
    pub source: String,
    /// Whether they are assumed and not measured.
    pub assumed: bool,
    /// Earlier cases that they rest on.
    pub cases: usize,
    /// Variance between cases of one target.
    pub between: f64,
    /// Mean variance within a case of one target.
    pub within: f64,
    /// Design effect of one target's case means.
    pub deff_one: f64,
    /// Var(x_A − x_B).
    pub omega2: f64,
    /// Mean within-case variance of the candidate.
    pub sigma2_candidate: f64,
    /// Mean within-case variance of the baseline.
    pub sigma2_baseline: f64,
    /// Design effect of the differences.
    pub deff: f64,
}

/// The smallest detectable differences, as fractions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detectable {
    /// Of one run from a fixed number.
    pub one_run: f64,
    /// Of two sides over the same cases.
    pub paired: f64,
    /// The same had the earlier cases told too small a variance (its upper 80 % limit).
    pub paired_careful: Option<f64>,
    /// Standard error of one run's pass rate.
    pub se: f64,
    /// Power.
    pub power: f64,
    /// Level.
    pub alpha: f64,
    /// What it rests on.
    pub spread: Spread,
}

impl Spread {
    /// The comparison of two sides that both ask each case `repeats` times.
    pub fn comparison(&self, repeats: u32) -> Comparison {
        Comparison {
            omega2: self.omega2,
            sigma2_candidate: self.sigma2_candidate,
            sigma2_baseline: self.sigma2_baseline,
            k_candidate: repeats,
            k_baseline: repeats,
            deff: self.deff,
            alpha: ALPHA,
            one_sided: false,
        }
    }

    /// Standard error of one target's pass rate over `cases` cases asked `repeats` times.
    pub fn se(&self, cases: u64, repeats: u32) -> f64 {
        (self.deff_one * (self.between + self.within / f64::from(repeats.max(1))) / cases.max(1) as f64)
            .sqrt()
    }

    /// What `cases` cases asked `repeats` times can tell apart.
    pub fn detectable(&self, cases: u64, repeats: u32) -> Detectable {
        let paired = |factor: f64| {
            let mut comparison = self.comparison(repeats.max(1));
            comparison.omega2 *= factor;
            comparison.sigma2_candidate *= factor;
            comparison.sigma2_baseline *= factor;
            comparison.detectable_difference(cases.max(1), POWER).unwrap_or(1.0).min(1.0)
        };
        let se = self.se(cases, repeats);
        let z = normal_quantile(1.0 - ALPHA / 2.0) + normal_quantile(POWER);
        let careful = stats::upper_variance_limit(1.0, self.cases as u64);
        Detectable {
            one_run: (z * se).min(1.0),
            paired: paired(1.0),
            paired_careful: match careful {
                Ok(Ok(factor)) if !self.assumed => Some(paired(factor)),
                _ => None,
            },
            se,
            power: POWER,
            alpha: ALPHA,
            spread: self.clone(),
        }
    }
}

/// The variances for the target at `target`: measured against the first other target that earlier
/// runs asked the same cases, else from its own repeats, else assumed.
pub fn spread(
    experiment: &Experiment,
    history: &History,
    target: TargetPos,
    assumptions: Option<Assumptions>,
) -> Spread {
    let assumed = assumed_spread(assumptions.unwrap_or_default());
    if assumptions.is_some() {
        return Spread { source: "variances given on the command line".to_owned(), ..assumed };
    }
    let own = &history.targets[target.index()];
    let Some(one) = one_target(own, &assumed) else { return assumed };
    let others = (0..history.targets.len()).filter(|&other| other != target.index());
    for other in others {
        let theirs = &history.targets[other];
        if let Some(pair) = paired(own, theirs, &one) {
            let source = format!("measured against `{}`", experiment.targets[other].name);
            return Spread { source, ..pair };
        }
    }
    one
}

fn assumed_spread(assumptions: Assumptions) -> Spread {
    Spread {
        source: "assumed as in Miller (2024): omega2 = 1/9, no noise in a case".to_owned(),
        assumed: true,
        cases: 0,
        between: UNIFORM.max(assumptions.omega2 * 0.75),
        within: assumptions.sigma2,
        deff_one: 1.0,
        omega2: assumptions.omega2,
        sigma2_candidate: assumptions.sigma2,
        sigma2_baseline: assumptions.sigma2,
        deff: 1.0,
    }
}

/// From one target's own verdicts. How alike two sides are is not known then: a correlation of one
/// half of their difficulties makes ω² as large as the variance between cases.
fn one_target(own: &TargetHistory, assumed: &Spread) -> Option<Spread> {
    let cases: Vec<&PastCase> = own.cases.iter().filter(|case| !case.scores.is_empty()).collect();
    if cases.len() < ENOUGH_CASES || own.basis == Basis::Nothing {
        return None;
    }
    let mut table = SampleTable::default();
    cases.iter().for_each(|case| table.push_case(case.scores.iter().copied()));
    let samples = table.as_samples().ok()?;
    let clusters = labels(&cases);
    let components = stats::variance_components(&samples).ok()?;
    let variance = components.variance_of_means.ok()?;
    let (between, within) = match (components.between, components.within) {
        (Ok(between), Ok(within)) => (between, within),
        // Asked once each: all of it is taken as between cases, which is careful for more repeats.
        _ => (variance, 0.0),
    };
    let means = samples.case_means().ok()?;
    let deff_one = stats::clustered_mean(&means, &clusters).ok()?.deff.unwrap_or(1.0).max(1.0);
    Some(Spread {
        source: "measured; how alike two sides are is assumed (correlation 1/2)".to_owned(),
        assumed: false,
        cases: cases.len(),
        between,
        within,
        deff_one,
        omega2: between,
        sigma2_candidate: within,
        sigma2_baseline: within,
        deff: assumed.deff.max(deff_one),
    })
}

fn paired(own: &TargetHistory, theirs: &TargetHistory, one: &Spread) -> Option<Spread> {
    let known: HashMap<&CaseId, &PastCase> = theirs
        .cases
        .iter()
        .filter(|case| !case.scores.is_empty())
        .filter_map(|case| Some((case.id.as_ref()?, case)))
        .collect();
    let (mut a, mut b, mut cases) = (SampleTable::default(), SampleTable::default(), vec![]);
    for case in own.cases.iter().filter(|case| !case.scores.is_empty()) {
        let other = case.id.as_ref().and_then(|id| known.get(id));
        let Some(other) = other.filter(|other| other.fingerprint == case.fingerprint) else { continue };
        a.push_case(case.scores.iter().copied());
        b.push_case(other.scores.iter().copied());
        cases.push(case);
    }
    if cases.len() < ENOUGH_CASES {
        return None;
    }
    let clusters = labels(&cases);
    let (a, b) = (a.as_samples().ok()?, b.as_samples().ok()?);
    let summary = stats::paired_summary(&a, &b, &clusters).ok()?;
    let var_diff = summary.var_diff.ok()?;
    let within = |samples| -> Result<f64, NotEstimable> {
        stats::variance_components(samples).map_or(Err(NotEstimable::NoData), |components| components.within)
    };
    let (omega2, sigma2_candidate, sigma2_baseline) = match (summary.omega2, within(&a), within(&b)) {
        (Ok(omega2), Ok(a), Ok(b)) if omega2 > 0.0 => (omega2, a, b),
        // The earlier cases cannot separate difficulty from noise: half of the variance is a floor.
        (Ok(_), Ok(a), Ok(b)) => (var_diff / 2.0, a, b),
        _ => (var_diff, 0.0, 0.0),
    };
    if var_diff == 0.0 {
        return None;
    }
    Some(Spread {
        assumed: false,
        cases: cases.len(),
        omega2,
        sigma2_candidate,
        sigma2_baseline,
        deff: summary.clustered.deff.unwrap_or(1.0).max(1.0),
        ..one.clone()
    })
}

fn labels(cases: &[&PastCase]) -> Clusters {
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    let labels: Vec<u32> = cases
        .iter()
        .map(|case| {
            let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
            *known.entry(case.cluster.as_str()).or_insert(next)
        })
        .collect();
    Clusters::from_labels(&labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millers_worked_design_sees_three_points_with_969_cases() {
        let spread = assumed_spread(Assumptions::default());
        assert_eq!(spread.comparison(1).cases_needed(0.03, POWER), Ok(969));
        assert!((spread.detectable(969, 1).paired - 0.03).abs() < 1e-4);
    }
}
