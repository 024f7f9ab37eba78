//! The paired difference of pass rates: overall, per split, per segment, per grader; and what the
//! evidence allows one to say.

use std::collections::{BTreeMap, HashMap};

use super::{
    comparison::{Amount, Difference, GraderDifference, IfMissing, Power, SliceDifference},
    missing::{Asked, BOTH_WAYS, Of, Taken, pair_may_have},
    pairing::Pair,
    side::{Count, Side},
};
use crate::stats::{self, Clusters, DifferenceVerdict, PairedDifference, SampleTable, sign_flip_test};

/// The confidence of every interval.
pub(super) const CONFIDENCE: f64 = 0.95;

/// The power that a detectable difference is stated at.
const POWER: f64 = 0.8;

/// The difference that "cannot tell" speaks of where no margin is set: three points.
pub(super) const DEFAULT_AIM: f64 = 0.03;

/// The seed of every resampling: the same answer each time.
pub(super) const SEED: u64 = 1;

/// With more clusters that differ than this, the sum of their differences is normal for all that
/// matters, and the t test says the same as the sign-flip test at a fraction of the time.
const MAX_FLIPPED_CLUSTERS: usize = 2_000;

/// Random sign vectors for the overall difference, and for each of many slices.
const REPLICATES: usize = 9_999;
const SLICE_REPLICATES: usize = 1_999;

/// What was asked of both sides case by case, with the cluster of each case.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    a: Vec<Asked>,
    b: Vec<Asked>,
    pub(super) cluster: Vec<u32>,
}

impl Counts {
    /// The counts of the pass rate over `matched`.
    pub(super) fn of(a: &Side, b: &Side, matched: &[Pair]) -> Self {
        Self {
            a: matched.iter().map(|pair| a.cases[pair.a].asked()).collect(),
            b: matched.iter().map(|pair| b.cases[pair.b].asked()).collect(),
            cluster: cluster_labels(b, matched),
        }
    }

    /// Only the cases at `positions`.
    fn restricted_to(&self, positions: &[usize]) -> Self {
        Self {
            a: positions.iter().map(|&at| self.a[at]).collect(),
            b: positions.iter().map(|&at| self.b[at]).collect(),
            cluster: positions.iter().map(|&at| self.cluster[at]).collect(),
        }
    }

    /// With what some graders counted of these cases, without the cases that do not have them.
    fn graded(&self, sides: [&Side; 2], matched: &[Pair], counted: impl Fn(&Pair) -> [Count; 2]) -> Self {
        let mut graded = Self::default();
        for (pair, &cluster) in matched.iter().zip(&self.cluster) {
            let (a, b) = (&sides[0].cases[pair.a], &sides[1].cases[pair.b]);
            let counts = counted(pair);
            if pair_may_have([a, b], counts) {
                graded.a.push(a.asked_of(counts[0]));
                graded.b.push(b.asked_of(counts[1]));
                graded.cluster.push(cluster);
            }
        }
        graded
    }

    fn is_measured(&self) -> bool {
        self.a.iter().chain(&self.b).any(|asked| asked.count.measured > 0)
    }

    /// Planned trials that were not measured.
    fn missing(&self) -> u64 {
        self.a.iter().chain(&self.b).map(|asked| u64::from(asked.missing())).sum()
    }

    /// With the missing trials taken as told.
    pub(super) fn taken(&self, taken: Taken) -> Self {
        let fill = |of, side: &[Asked]| -> Vec<Asked> {
            side.iter().map(|asked| Asked { count: asked.taken(of, taken), ..*asked }).collect()
        };
        Self {
            a: fill(Of::Baseline, &self.a),
            b: fill(Of::Candidate, &self.b),
            cluster: self.cluster.clone(),
        }
    }

    /// The paired difference with an interval of this confidence.
    pub(super) fn paired(&self, confidence: f64) -> PairedDifference {
        let (a, b) = (table(&self.a), table(&self.b));
        let (a, b) = (a.as_samples(), b.as_samples());
        let (a, b) = (a.expect("scores are 0 or 1"), b.expect("scores are 0 or 1"));
        stats::paired_difference(&b, &a, &Clusters::from_labels(&self.cluster), confidence)
            .expect("both sides list the same cases, and the confidence is a constant or was checked")
    }

    pub(super) fn difference(&self) -> (Difference, PairedDifference) {
        self.difference_by(REPLICATES)
    }

    fn slice_difference(&self) -> Difference {
        self.difference_by(SLICE_REPLICATES).0
    }

    /// The difference as measured, with the verdict that holds both ways.
    pub(super) fn difference_by(&self, replicates: usize) -> (Difference, PairedDifference) {
        let paired = self.paired(CONFIDENCE);
        let mut difference = described(&paired, replicates);
        let trials = self.missing();
        if trials > 0 {
            let [against, in_favour] = BOTH_WAYS.map(|taken| self.taken(taken).paired(CONFIDENCE));
            if [&against, &in_favour].iter().any(|way| way.verdict != paired.verdict) {
                difference.verdict = DifferenceVerdict::Undetermined.code();
            }
            difference.if_missing = Some(IfMissing {
                trials,
                against_candidate: amount(&against),
                for_candidate: amount(&in_favour),
            });
        }
        (difference, paired)
    }
}

fn amount(paired: &PairedDifference) -> Amount {
    let estimate = paired.estimate.as_ref().ok();
    Amount {
        point: estimate.map(|estimate| estimate.point),
        low: estimate.and_then(stats::Estimate::low),
        high: estimate.and_then(stats::Estimate::high),
    }
}

/// Scores as statistics want them; a case that was not measured has none.
fn table(side: &[Asked]) -> SampleTable {
    let mut table = SampleTable::default();
    for Asked { count, .. } in side {
        let passes = std::iter::repeat_n(1.0, count.passes as usize);
        table.push_case(passes.chain(std::iter::repeat_n(0.0, (count.measured - count.passes) as usize)));
    }
    table
}

pub(super) fn cluster_labels(b: &Side, matched: &[Pair]) -> Vec<u32> {
    let mut known: HashMap<&str, u32> = HashMap::new();
    matched
        .iter()
        .map(|pair| {
            let next = u32::try_from(known.len()).expect("a set has fewer clusters than u32 can count");
            *known.entry(b.cases[pair.b].cluster.as_str()).or_insert(next)
        })
        .collect()
}

/// A paired difference in the shape of the output.
fn described(paired: &PairedDifference, replicates: usize) -> Difference {
    let summary = &paired.summary;
    let (p, p_method) = match p_value(paired, replicates) {
        Some((p, method)) => (Some(p), Some(method)),
        None => (None, None),
    };
    let common = Difference {
        p,
        p_method,
        confidence: CONFIDENCE,
        se_unpaired: summary.se_unpaired.ok(),
        se_naive: summary.clustered.se_naive.ok(),
        design_effect: summary.clustered.deff.ok(),
        baseline: summary.mean_baseline.ok(),
        candidate: summary.mean_candidate.ok(),
        verdict: paired.verdict.code(),
        warnings: paired.warnings.iter().map(|warning| warning.code()).collect(),
        ..Difference::default()
    };
    let Ok(estimate) = &paired.estimate else { return common };
    Difference {
        point: Some(estimate.point),
        low: estimate.low(),
        high: estimate.high(),
        se: estimate.se.ok(),
        method: estimate.method.to_string(),
        df: estimate.df,
        n_cases: estimate.n_cases,
        n_clusters: estimate.n_clusters,
        n_trials: estimate.n_samples,
        ..common
    }
}

/// The p-value of "no difference": exact where cases are independent and asked once, else by flipping
/// the signs of whole clusters.
fn p_value(paired: &PairedDifference, replicates: usize) -> Option<(f64, &'static str)> {
    if let Some(test) = &paired.sign_test {
        return Some((test.p_exact, "sign_test"));
    }
    let summary = &paired.summary;
    // A cluster without a difference has a sign without effect: leaving it out changes no total.
    let totals: Vec<f64> = summary
        .clusters
        .totals(&summary.differences)
        .into_iter()
        .filter(|total| total.abs() > 1e-12)
        .collect();
    if summary.differences.is_empty() {
        None
    } else if totals.is_empty() {
        Some((1.0, "sign_flip"))
    } else if totals.len() > MAX_FLIPPED_CLUSTERS {
        summary.clustered.t_test().ok().map(|(_, p)| (p, "clustered_t"))
    } else {
        let test = sign_flip_test(&totals, &Clusters::singletons(totals.len()), SEED, replicates);
        test.ok()?.ok().map(|test| (test.p(), "sign_flip"))
    }
}

/// The difference per split.
pub(super) fn splits(b: &Side, matched: &[Pair], counts: &Counts) -> Vec<SliceDifference> {
    let mut parts: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, pair) in matched.iter().enumerate() {
        if let Some(split) = b.cases[pair.b].split {
            parts.entry(("split", split.as_str())).or_default().push(at);
        }
    }
    slices(&parts, counts)
}

/// The difference per segment.
pub(super) fn segments(b: &Side, matched: &[Pair], counts: &Counts) -> Vec<SliceDifference> {
    let mut parts: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (at, pair) in matched.iter().enumerate() {
        for (key, value) in &b.cases[pair.b].segment {
            parts.entry((key, value)).or_default().push(at);
        }
    }
    slices(&parts, counts)
}

fn slices(parts: &BTreeMap<(&str, &str), Vec<usize>>, counts: &Counts) -> Vec<SliceDifference> {
    let mut slices: Vec<SliceDifference> = parts
        .iter()
        .map(|((key, value), positions)| SliceDifference {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            difference: counts.restricted_to(positions).slice_difference(),
            p_adjusted: None,
        })
        .collect();
    let p_values: Vec<Option<f64>> = slices.iter().map(|slice| slice.difference.p).collect();
    let adjusted = stats::holm(&p_values).expect("p-values lie between 0 and 1");
    for (slice, p) in slices.iter_mut().zip(adjusted) {
        slice.p_adjusted = p;
    }
    slices
}

/// The difference of each grader that scored on both sides.
pub(super) fn graders(a: &Side, b: &Side, matched: &[Pair], counts: &Counts) -> Vec<GraderDifference> {
    let mut differences = vec![];
    for own in &b.graders {
        let same = |other: &&super::side::SideGrader| (&other.name, other.hard) == (&own.name, own.hard);
        let Some(other) = a.graders.iter().find(same) else { continue };
        if own.counts.is_empty() || other.counts.is_empty() {
            continue;
        }
        let graded = counts.graded([a, b], matched, |pair| [other.counts[pair.a], own.counts[pair.b]]);
        differences.push(GraderDifference {
            name: own.name.clone(),
            hard: own.hard,
            difference: graded.slice_difference(),
        });
    }
    differences
}

/// The difference of the hard graders alone; `None` where none scored.
pub(super) fn structural(a: &Side, b: &Side, matched: &[Pair], counts: &Counts) -> Option<Difference> {
    let scored = counts.graded([a, b], matched, |pair| [a.cases[pair.a].hard, b.cases[pair.b].hard]);
    scored.is_measured().then(|| scored.slice_difference())
}

/// What this many cases can see, and what `aim` would need.
pub(super) fn power(paired: &PairedDifference, aim: f64) -> Power {
    let none = Power { aim, ..Power::default() };
    let summary = &paired.summary;
    let n = summary.differences.len() as u64;
    let Ok(variance) = summary.var_diff else { return none };
    let per_side = (paired.estimate.as_ref().map_or(0, |estimate| estimate.n_samples) / 2) as u64;
    let repeats = u32::try_from((per_side / n.max(1)).max(1)).unwrap_or(1);
    let noise = (summary.noise_candidate.ok(), summary.noise_baseline.ok());
    let k = f64::from(repeats);
    let (omega2, sigma2_candidate, sigma2_baseline) = match noise {
        (Some(candidate), Some(baseline)) if repeats > 1 => {
            ((variance - candidate - baseline).max(0.0), candidate * k, baseline * k)
        }
        // Asked once, noise and difficulty cannot be told apart: more repeats promise nothing.
        _ => (variance, 0.0, 0.0),
    };
    let plan = |repeats: u32| stats::Comparison {
        omega2,
        sigma2_candidate,
        sigma2_baseline,
        k_candidate: repeats,
        k_baseline: repeats,
        deff: summary.clustered.deff.map_or(1.0, |deff| deff.max(1.0)),
        alpha: 1.0 - CONFIDENCE,
        one_sided: false,
    };
    let needed = |repeats: u32| plan(repeats).cases_needed(aim, POWER).ok();
    let enough = |more: &u32| needed(repeats + more).is_some_and(|cases| cases <= n);
    Power {
        detectable: plan(repeats).detectable_difference(n, POWER).ok().filter(|least| *least > 0.0),
        aim,
        more_cases: needed(repeats).map(|cases| cases.saturating_sub(n)),
        more_repeats: if sigma2_candidate + sigma2_baseline > 0.0 { (0..=50).find(enough) } else { None },
    }
}

/// What the evidence allows one to say.
pub(super) fn words(difference: &Difference, power: &Power) -> String {
    let (Some(point), Some(low), Some(high)) = (difference.point, difference.low, difference.high) else {
        return match difference.point {
            Some(point) => format!("cannot tell: {} on a single case or cluster", signed_points(point)),
            None => "cannot tell: no case was measured on both sides".to_owned(),
        };
    };
    // What is claimed holds whatever the missing trials would have been.
    let (least, most) = difference.if_missing.map_or((low, high), |missing| missing.hull(low, high));
    let widest = |low: f64, high: f64| low.abs().max(high.abs());
    match (difference.verdict, difference.if_missing) {
        ("better", _) => format!("better by {}, at least {}", points(point), bare_points(least)),
        ("worse", _) => format!("worse by {}, at least {}", points(-point), bare_points(-most)),
        ("no_difference_seen", _) if widest(least, most) <= power.aim => {
            format!("no difference larger than {} either way", points(widest(least, most)))
        }
        ("no_difference_seen", None) => format!("cannot tell: {}", what_it_would_take(power, low, high)),
        ("no_difference_seen", Some(_)) if widest(low, high) > power.aim => {
            format!("cannot tell: {}", what_it_would_take(power, least, most))
        }
        (_, missing) => format!(
            "cannot tell: {} as measured, but the {} trials that were not measured leave anything from {} to {}; \
             `caseload resume` would decide",
            signed_points(point),
            missing.map_or(0, |missing| missing.trials),
            signed_points(least),
            signed_points(most),
        ),
    }
}

fn what_it_would_take(power: &Power, low: f64, high: f64) -> String {
    let aim = points(power.aim);
    let cases = power.more_cases.filter(|more| *more > 0).map(|more| format!("about {} more cases", more));
    let repeats = power.more_repeats.filter(|more| *more > 0).map(|more| {
        let plural = if more == 1 { "" } else { "s" };
        format!("{more} more repeat{plural}")
    });
    match (cases, repeats) {
        (Some(cases), Some(repeats)) => format!("{aim} would need {cases} or {repeats}"),
        (Some(cases), None) => format!("{aim} would need {cases}"),
        _ => format!("between {} and {}", signed_points(low), signed_points(high)),
    }
}

/// A share as points: `2.7 points`.
pub(super) fn points(share: f64) -> String {
    format!("{} points", bare_points(share))
}

fn bare_points(share: f64) -> String {
    let text = format!("{:.1}", (share * 100.0).max(0.0));
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// A share as points with its sign: `+2.7 points`.
pub(super) fn signed_points(share: f64) -> String {
    format!("{:+.1} points", share * 100.0).replace('-', "−")
}
