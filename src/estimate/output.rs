//! Output tokens: projected from earlier runs, or bounded by what an answer may have.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Range,
    history::{Basis, PastCase, TargetHistory},
};
use crate::{
    config::{Experiment, PlannedCase},
    domain::TargetPos,
    stats::{self, Clusters, Projection, SampleTable},
};

const CONFIDENCE: f64 = 0.95;

/// Where nothing is known: shares of the output limit.
const SHARES: Range = Range { low: 0.02, mid: 0.25, high: 1.0 };

/// Another target of the same model writes this many times more or less, at most.
const OTHER_TARGET: f64 = 1.5;

/// A stratum of fewer earlier cases says too little on its own.
const STRATUM_CASES: usize = 10;

/// The output of all requests of one target.
#[derive(Clone, Debug)]
pub struct OutputTokens {
    /// What it rests on.
    pub basis: Basis,
    /// Earlier cases it rests on.
    pub past_cases: usize,
    /// Earlier answers it rests on.
    pub past_trials: usize,
    /// Of all requests together.
    pub total: Range,
    /// Of all requests together, were every answer as long as it may be: as their requests say, else as
    /// the model can; `None` where nobody knows that.
    pub ceiling: Option<f64>,
    /// Segment by segment.
    pub segments: Vec<SegmentOutput>,
}

/// What one segment's answers are like.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentOutput {
    /// What cuts it, such as `intent`.
    pub key: String,
    /// Which part, such as `billing`.
    pub value: String,
    /// Cases that will be asked.
    pub cases: usize,
    /// Earlier cases that tell.
    pub past_cases: usize,
    /// Mean output tokens of an answer; `None` without earlier cases.
    pub mean_output_tokens: Option<f64>,
}

/// Projects the output of `target`.
pub fn output_tokens(experiment: &Experiment, target: TargetPos, history: &TargetHistory) -> OutputTokens {
    let requests: u64 = experiment.cases.iter().map(|planned| u64::from(planned.repeats)).sum();
    let reserved = requests as f64 * experiment.bounds(target).reserved_output() as f64;
    let ceiling = experiment.most_output(target).map(|most| requests as f64 * most as f64);
    let past: Vec<&PastCase> = history.cases.iter().filter(|case| !case.outputs.is_empty()).collect();
    let past_trials = past.iter().map(|case| case.outputs.len()).sum();
    let total = project(&experiment.cases, &past, history.basis).unwrap_or(SHARES.times(reserved));
    let total = ceiling.map_or(total, |ceiling| total.at_most(ceiling));
    OutputTokens {
        basis: if past.is_empty() { Basis::Nothing } else { history.basis },
        past_cases: past.len(),
        past_trials,
        total,
        ceiling,
        segments: segments(&experiment.cases, &past),
    }
}

/// The projected total with its 95 % prediction interval; `None` without earlier cases.
fn project(wanted: &[PlannedCase], past: &[&PastCase], basis: Basis) -> Option<Range> {
    let strata = strata(wanted, past);
    let projections: Option<Vec<Projection>> =
        strata.iter().map(|(wanted, past)| project_stratum(wanted, past)).collect();
    let projections = projections?;
    let sum = stats::add_strata(&projections, CONFIDENCE).ok()?.ok()?;
    let range = match sum.spread {
        Ok(spread) => Range { low: spread.prediction.low, mid: sum.total, high: spread.prediction.high },
        // One earlier case tells the order of magnitude.
        Err(_) => Range { low: sum.total / 3.0, mid: sum.total, high: sum.total * 3.0 },
    };
    Some(match basis {
        Basis::SameTarget => range,
        _ => Range { low: range.low / OTHER_TARGET, high: range.high * OTHER_TARGET, ..range },
    })
}

fn project_stratum(wanted: &[&PlannedCase], past: &[&PastCase]) -> Option<Projection> {
    let mut table = SampleTable::default();
    let mut labels: BTreeMap<&str, u32> = BTreeMap::new();
    let mut clusters = vec![];
    for case in past {
        table.push_case(case.outputs.iter().copied());
        let next = u32::try_from(labels.len()).unwrap_or(u32::MAX);
        clusters.push(*labels.entry(case.cluster.as_str()).or_insert(next));
    }
    let samples: u64 = wanted.iter().map(|planned| u64::from(planned.repeats)).sum();
    // The formula takes one number of repeats for all: theirs on average, and the total as it is.
    let repeats = (samples as f64 / wanted.len().max(1) as f64).round().max(1.0);
    let pilot = table.as_samples().ok()?;
    let projection = stats::project_total(
        pilot,
        &Clusters::from_labels(&clusters),
        wanted.len(),
        usize::try_from(super::range::whole(repeats)).ok()?,
        CONFIDENCE,
    );
    let projection = projection.ok()?.ok()?;
    let scale = samples as f64 / (wanted.len() as f64 * repeats);
    if (scale - 1.0).abs() < 1e-12 {
        return Some(projection);
    }
    let spread = projection.spread.map(|spread| stats::ProjectionSpread {
        variance_of_mean: spread.variance_of_mean * scale * scale,
        variance_of_future: spread.variance_of_future * scale * scale,
        se: spread.se * scale,
        ..spread
    });
    Some(Projection { total: projection.total * scale, spread, ..projection })
}

type Stratum<'a> = (Vec<&'a PlannedCase>, Vec<&'a PastCase>);

/// The wanted and the earlier cases by the first segment key whose every part is known well enough:
/// a wanted set may be mixed otherwise than the earlier ones were. Without such a key, all in one.
fn strata<'a>(wanted: &'a [PlannedCase], past: &[&'a PastCase]) -> Vec<Stratum<'a>> {
    let keys: std::collections::BTreeSet<&str> =
        wanted.iter().flat_map(|planned| planned.case.segment.keys().map(String::as_str)).collect();
    for key in keys {
        let mut parts: BTreeMap<Option<&str>, Stratum<'a>> = BTreeMap::new();
        for planned in wanted {
            let value = planned.case.segment.get(key).map(String::as_str);
            parts.entry(value).or_default().0.push(planned);
        }
        for case in past {
            if let Some(part) = parts.get_mut(&case.segment.get(key).map(String::as_str)) {
                part.1.push(case);
            }
        }
        if parts.len() > 1 && parts.values().all(|(_, past)| past.len() >= STRATUM_CASES) {
            return parts.into_values().collect();
        }
    }
    vec![(wanted.iter().collect(), past.to_vec())]
}

fn segments(wanted: &[PlannedCase], past: &[&PastCase]) -> Vec<SegmentOutput> {
    let mut found: BTreeMap<(&str, &str), (usize, usize, f64)> = BTreeMap::new();
    for planned in wanted {
        for (key, value) in planned.case.segment.iter() {
            found.entry((key, value)).or_default().0 += 1;
        }
    }
    for case in past {
        let mean = case.outputs.iter().sum::<f64>() / case.outputs.len() as f64;
        for (key, value) in &case.segment {
            if let Some(part) = found.get_mut(&(key.as_str(), value.as_str())) {
                part.1 += 1;
                part.2 += mean;
            }
        }
    }
    let line =
        |((key, value), (cases, past_cases, sum)): ((&str, &str), (usize, usize, f64))| SegmentOutput {
            key: key.to_owned(),
            value: value.to_owned(),
            cases,
            past_cases,
            mean_output_tokens: (past_cases > 0).then(|| sum / past_cases as f64),
        };
    found.into_iter().map(line).collect()
}
