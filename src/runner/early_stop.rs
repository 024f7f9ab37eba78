//! Stopping early when a comparison is decided. Pure.
//!
//! Clusters come in an order that chance has fixed before the run; results are held back until the
//! prefix of that order is complete, and then feed an anytime-valid confidence sequence, which may be
//! looked at after every cluster. What was not measured counts as the worst that it could be for the
//! lower limit, and as the best for the upper one.

use std::{collections::HashMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    domain::{CasePos, TargetPos},
    stats::{ClusterFrame, ConfidenceSequence, DEFAULT_TRUNCATION, Interval, Observation, SplitMix64},
};

/// The confidence of the sequence.
const CONFIDENCE: f64 = 0.95;

/// The cases in the order in which they are asked: cluster by cluster, the clusters shuffled with
/// `seed`. `clusters` names each case's.
pub fn shuffled_clusters<'a>(clusters: impl Iterator<Item = &'a str>, seed: u64) -> Vec<Vec<CasePos>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut members: Vec<Vec<CasePos>> = vec![];
    for (case, cluster) in (0..).map(CasePos).zip(clusters) {
        let place = *places.entry(cluster).or_insert_with(|| {
            members.push(vec![]);
            members.len() - 1
        });
        members[place].push(case);
    }
    let mut rng = SplitMix64::stream(seed, 0x5709);
    for at in (1..members.len()).rev() {
        members.swap(at, rng.below(at + 1));
    }
    members
}

/// What candidates are compared with.
#[derive(Clone, Debug)]
pub enum Baseline {
    /// Another target of the same run.
    Target(TargetPos),
    /// An earlier run: each case's mean there, by target; `None` where it cannot be compared.
    Past(HashMap<TargetPos, Vec<Option<f64>>>),
}

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// How much worse than the baseline a candidate may be, as a fraction.
    pub margin: f64,
    /// Whether a difference is looked for in either direction, and no margin is kept.
    pub either_way: bool,
}

/// How one candidate was decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The candidate's target.
    pub target: TargetPos,
    /// Not worse than the margin allows, or better.
    pub holds: bool,
    /// Lower limit of candidate − baseline, valid at every look.
    pub low: f64,
    /// Upper limit.
    pub high: f64,
    /// Clusters that were looked at.
    pub clusters: usize,
    /// Clusters there are.
    pub of: usize,
}

impl fmt::Display for Decision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} after {} of {} clusters, difference {:+.1} to {:+.1} points (95 %, valid at every look)",
            if self.holds { "not worse" } else { "worse" },
            self.clusters,
            self.of,
            self.low * 100.0,
            self.high * 100.0
        )
    }
}

/// How far one case is on one target.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    ended: u32,
    measured: u32,
    passes: u32,
}

/// One candidate's comparison.
#[derive(Debug)]
struct Candidate {
    target: TargetPos,
    clusters: Vec<Vec<CasePos>>,
    next: usize,
    worst: ConfidenceSequence,
    best: ConfidenceSequence,
    decision: Option<Decision>,
}

/// The comparisons of a run, and whether they are decided.
#[derive(Debug)]
pub struct EarlyStop {
    baseline: Baseline,
    rule: Rule,
    repeats: Vec<u32>,
    counts: HashMap<TargetPos, Vec<Count>>,
    candidates: Vec<Candidate>,
    order: Vec<CasePos>,
}

impl EarlyStop {
    /// Nothing is known yet. `clusters` are the cases in the order in which they are asked;
    /// `repeats` how often each is asked; `targets` all of the run's targets.
    pub fn new(
        clusters: &[Vec<CasePos>],
        repeats: Vec<u32>,
        targets: &[TargetPos],
        baseline: Baseline,
        rule: Rule,
    ) -> Self {
        let is_candidate =
            |target: &&TargetPos| !matches!(baseline, Baseline::Target(own) if own == **target);
        let candidates = targets
            .iter()
            .filter(is_candidate)
            .filter_map(|&target| Candidate::new(target, clusters, &baseline))
            .collect();
        let count = |&target: &TargetPos| (target, vec![Count::default(); repeats.len()]);
        Self {
            rule,
            counts: targets.iter().map(count).collect(),
            candidates,
            order: clusters.iter().flatten().copied().collect(),
            baseline,
            repeats,
        }
    }

    /// The cases in the order in which they are to be asked.
    pub fn order(&self) -> &[CasePos] {
        &self.order
    }

    /// A trial ended: it passed, failed, or could not be measured (`None`).
    pub fn ended(&mut self, target: TargetPos, case: CasePos, passed: Option<bool>) {
        if let Some(count) = self.counts.get_mut(&target).and_then(|counts| counts.get_mut(case.index())) {
            count.ended += 1;
            count.measured += u32::from(passed.is_some());
            count.passes += u32::from(passed == Some(true));
        }
        for at in 0..self.candidates.len() {
            self.advance(at);
        }
    }

    /// Every candidate's decision, once all have one.
    pub fn decided(&self) -> Option<Vec<Decision>> {
        if self.candidates.is_empty() {
            return None;
        }
        self.candidates.iter().map(|candidate| candidate.decision).collect()
    }

    /// Looks at the clusters that have become complete, in order.
    fn advance(&mut self, at: usize) {
        while self.candidates[at].decision.is_none() {
            let candidate = &self.candidates[at];
            let Some(cluster) = candidate.clusters.get(candidate.next) else { return };
            let mut total = (0.0, 0.0);
            for &case in cluster {
                let Some(own) = self.bounds(candidate.target, case) else { return };
                let theirs = match &self.baseline {
                    Baseline::Target(target) => match self.bounds(*target, case) {
                        Some(bounds) => bounds,
                        None => return,
                    },
                    Baseline::Past(means) => {
                        let mean = means.get(&candidate.target).and_then(|means| means[case.index()]);
                        let mean = mean.expect("cases without a baseline are in no cluster");
                        (mean, mean)
                    }
                };
                total.0 += own.0 - theirs.1;
                total.1 += own.1 - theirs.0;
            }
            let rule = self.rule;
            self.candidates[at].look(total, rule);
        }
    }

    /// The least and the most that a case's mean can be; `None` while repeats of it are out.
    fn bounds(&self, target: TargetPos, case: CasePos) -> Option<(f64, f64)> {
        let count = self.counts.get(&target)?[case.index()];
        let planned = self.repeats[case.index()];
        if count.ended < planned {
            return None;
        }
        let planned = f64::from(planned.max(1));
        let missing = planned - f64::from(count.measured);
        let passes = f64::from(count.passes);
        Some((passes / planned, (passes + missing.max(0.0)) / planned))
    }
}

impl Candidate {
    /// `None` when no case can be compared.
    fn new(target: TargetPos, clusters: &[Vec<CasePos>], baseline: &Baseline) -> Option<Self> {
        let comparable = |case: &CasePos| match baseline {
            Baseline::Target(_) => true,
            Baseline::Past(means) => {
                means.get(&target).is_some_and(|means| means.get(case.index()).copied().flatten().is_some())
            }
        };
        let clusters: Vec<Vec<CasePos>> = clusters
            .iter()
            .map(|cluster| cluster.iter().copied().filter(comparable).collect::<Vec<CasePos>>())
            .filter(|cluster| !cluster.is_empty())
            .collect();
        let frame = ClusterFrame {
            largest_cluster: clusters.iter().map(Vec::len).max()?,
            clusters_total: clusters.len(),
            cases_total: clusters.iter().map(Vec::len).sum(),
        };
        let sequence = || {
            let observation = Observation::ClusterDifferenceTotal(frame);
            ConfidenceSequence::new(observation, CONFIDENCE, DEFAULT_TRUNCATION)
                .expect("a frame of at least one cluster is in order")
        };
        Some(Self { target, clusters, next: 0, worst: sequence(), best: sequence(), decision: None })
    }

    fn look(&mut self, (worst, best): (f64, f64), rule: Rule) {
        self.next += 1;
        // Totals of means in [0, 1] are in range but for the last bit of a sum.
        let most = self.clusters.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let in_range = |total: f64| total.clamp(-most, most);
        let pushed = self.worst.push(in_range(worst)).and_then(|()| self.best.push(in_range(best)));
        let (Ok(()), Some(worst), Some(best)) = (pushed, self.worst.running(), self.best.running()) else {
            return;
        };
        let limits = Interval { low: worst.low, high: best.high };
        let bar = if rule.either_way { 0.0 } else { -rule.margin };
        if limits.low > bar || limits.high < bar {
            self.decision = Some(Decision {
                target: self.target,
                holds: limits.low > bar,
                low: limits.low,
                high: limits.high,
                clusters: self.next,
                of: self.clusters.len(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    /// Asks both targets every case in order until it is decided; the share of clusters it took.
    fn play(broke: f64, fixed: f64, cases: u32, seed: u64, rule: Rule) -> (Option<Decision>, f64) {
        let names: Vec<String> = (0..cases).map(|case| case.to_string()).collect();
        let clusters = shuffled_clusters(names.iter().map(String::as_str), seed);
        let mut stop = EarlyStop::new(
            &clusters,
            vec![1; cases as usize],
            &[TargetPos(0), TargetPos(1)],
            Baseline::Target(TargetPos(0)),
            rule,
        );
        let mut rng = SplitMix64::new(seed);
        let order = stop.order().to_vec();
        for (asked, case) in (1_u32..).zip(order) {
            let luck = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let (baseline, candidate) = match luck {
                _ if luck < broke => (true, false),
                _ if luck < broke + fixed => (false, true),
                _ => (true, true),
            };
            stop.ended(TargetPos(0), case, Some(baseline));
            stop.ended(TargetPos(1), case, Some(candidate));
            if let Some(decisions) = stop.decided() {
                return (Some(decisions[0]), f64::from(asked) / f64::from(cases));
            }
        }
        (None, 1.0)
    }

    const EITHER: Rule = Rule { margin: 0.0, either_way: true };

    #[test]
    fn equal_targets_are_called_different_in_at_most_one_of_twenty_runs() {
        let wrong = (0..1_000_u64)
            .into_par_iter()
            .filter(|&seed| play(0.06, 0.06, 300, seed, EITHER).0.is_some())
            .count();
        assert!(wrong <= 50, "{wrong} of 1,000");
    }

    #[test]
    fn nine_per_cent_broken_and_three_fixed_are_seen_with_less_than_sixty_per_cent_of_the_trials() {
        let mut shares: Vec<f64> =
            (0..200_u64).into_par_iter().map(|seed| play(0.09, 0.03, 1_000, seed, EITHER).1).collect();
        shares.sort_by(f64::total_cmp);
        assert!(shares[100] < 0.6, "{}", shares[100]);
    }

    #[test]
    fn results_wait_for_the_prefix_of_the_order() {
        let clusters = vec![vec![CasePos(2)], vec![CasePos(0), CasePos(1)]];
        let rule = Rule { margin: 0.1, either_way: false };
        let past = HashMap::from([(TargetPos(0), vec![Some(1.0), Some(1.0), Some(1.0)])]);
        let mut stop = EarlyStop::new(&clusters, vec![1, 1, 2], &[TargetPos(0)], Baseline::Past(past), rule);
        stop.ended(TargetPos(0), CasePos(0), Some(true));
        stop.ended(TargetPos(0), CasePos(1), Some(true));
        stop.ended(TargetPos(0), CasePos(2), Some(true));
        assert_eq!(stop.candidates[0].next, 0);
        stop.ended(TargetPos(0), CasePos(2), None);
        assert_eq!(stop.candidates[0].next, 2);
        assert_eq!(stop.decided(), None);
    }

    #[test]
    fn a_margin_that_is_kept_is_seen_too() {
        let rule = Rule { margin: 0.1, either_way: false };
        let (decision, share) = play(0.01, 0.01, 1_000, 3, rule);
        assert!(decision.unwrap().holds && share < 0.5, "{share}");
    }
}
