//! Judging gates: pass, fail or cannot tell, with the figure that decided.

use std::collections::{HashMap, HashSet};

use super::{
    comparison::{Confirmed, CostComparison, Direction, GateResult, GateVerdict, Power},
    difference::{Counts, points, signed_points},
    missing::{BOTH_WAYS, Of, Taken, WOULD_DECIDE, may_have, pair_may_have},
    pairing::Pair,
    side::{Count, Side, SideCase},
};
use crate::{
    config::{CountedFlips, FlipBudget, Gates, Margin, MinPassRate, RateOn},
    domain::CaseId,
    stats::{self, CaseStatus, Clusters, MarginVerdict, RepeatedCase, SampleTable},
};

/// The false-discovery rate at which single cases are called worse.
const Q: f64 = 0.05;

/// The one-sided confidence of a lower bound.
const LOWER_CONFIDENCE: f64 = 0.95;

/// One judgement before the missing trials are considered.
#[derive(Clone, Debug)]
struct Judged {
    verdict: GateVerdict,
    why: String,
    would_decide: Option<String>,
}

fn judged(verdict: GateVerdict, why: String) -> Judged {
    Judged { verdict, why, would_decide: None }
}

fn holds(holds: bool) -> GateVerdict {
    if holds { GateVerdict::Pass } else { GateVerdict::Fail }
}

/// Judges a gate as measured and both ways; where these differ, it cannot tell.
fn both_ways(name: &'static str, missing: u64, judge: impl Fn(Taken) -> Judged) -> GateResult {
    let seen = judge(Taken::AsMeasured);
    let turned = missing > 0 && BOTH_WAYS.iter().any(|taken| judge(*taken).verdict != seen.verdict);
    if !turned {
        return result(name, seen);
    }
    result(
        name,
        Judged {
            verdict: GateVerdict::CannotTell,
            why: format!("{}; the {missing} trials that were not measured could turn it", seen.why),
            would_decide: Some(WOULD_DECIDE.to_owned()),
        },
    )
}

fn result(name: &'static str, judged: Judged) -> GateResult {
    let Judged { verdict, why, would_decide } = judged;
    GateResult { name, verdict, why, would_decide, edited: false }
}

/// Judges the gates that need no other side.
pub fn judge_side(gates: &Gates, side: &Side) -> Vec<GateResult> {
    let missing = side.totals.planned.saturating_sub(side.totals.graded);
    let mut results = vec![];
    if let Some(floor) = gates.structural_floor {
        let judge = |taken| structural_floor(side, floor, taken);
        results.push(both_ways("structural_floor", missing, judge));
    }
    if let Some(least) = gates.min_pass_rate {
        results.push(both_ways("min_pass_rate", missing, |taken| min_pass_rate(side, least, taken)));
    }
    if let Some(most) = gates.max_cost_per_case {
        results.push(result("max_cost_per_case", max_cost_per_case(side, most)));
    }
    if let Some(longest) = gates.max_p95_latency_ms {
        results.push(result("max_p95_latency_ms", max_p95_latency(side, longest)));
    }
    if gates.no_missing {
        let why = match missing {
            0 => format!("all {} trials were measured", side.totals.planned),
            _ => format!("{missing} of {} trials were not measured", side.totals.planned),
        };
        results.push(result("no_missing", judged(holds(missing == 0), why)));
    }
    results
}

/// Mean over cases of their shares; `None` without a measured case.
fn mean_share(counts: impl Iterator<Item = Count>) -> Option<f64> {
    let shares: Vec<f64> = counts.filter_map(Count::share).collect();
    #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
    let n = shares.len() as f64;
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / n)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn structural_floor(side: &Side, floor: f64, taken: Taken) -> Judged {
    let structural = |case: &&SideCase| may_have(case, case.hard);
    let counts =
        side.cases.iter().filter(structural).map(|case| case.asked_of(case.hard).taken(Of::Candidate, taken));
    match mean_share(counts) {
        Some(share) => judged(
            holds(share >= floor - 1e-12),
            format!("{} pass every hard grader, {} needed", percent(share), percent(floor)),
        ),
        None => judged(GateVerdict::CannotTell, "no hard grader scored an answer".to_owned()),
    }
}

fn min_pass_rate(side: &Side, least: MinPassRate, taken: Taken) -> Judged {
    let counts: Vec<Count> = side.cases.iter().map(|case| case.asked().taken(Of::Candidate, taken)).collect();
    let Some(rate) = mean_share(counts.iter().copied()) else {
        return judged(GateVerdict::CannotTell, "no case was measured".to_owned());
    };
    if least.on == RateOn::Point {
        let why = format!("pass rate {}, {} needed", percent(rate), percent(least.rate));
        return judged(holds(rate >= least.rate - 1e-12), why);
    }
    let n = effective_n(side, &counts);
    let lower = |p| stats::clopper_pearson_lower_limit(p, n, LOWER_CONFIDENCE).unwrap_or(0.0);
    let (low, high) = (lower(rate), 1.0 - lower(1.0 - rate));
    let verdict = match () {
        () if low >= least.rate => GateVerdict::Pass,
        () if high < least.rate => GateVerdict::Fail,
        () => GateVerdict::CannotTell,
    };
    Judged {
        verdict,
        why: format!(
            "pass rate {}, with certainty at least {}; {} needed",
            percent(rate),
            percent(low),
            percent(least.rate)
        ),
        would_decide: (verdict == GateVerdict::CannotTell)
            .then(|| "more cases, so that the lower bound comes nearer to the rate".to_owned()),
    }
}

/// How many independent trials the side's answers are worth.
fn effective_n(side: &Side, counts: &[Count]) -> f64 {
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut labels = vec![];
    let mut table = SampleTable::default();
    for (case, count) in side.cases.iter().zip(counts).filter(|(_, count)| count.measured > 0) {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        labels.push(*known.entry(case.cluster.as_str()).or_insert(next));
        let passes = std::iter::repeat_n(1.0, count.passes as usize);
        table.push_case(passes.chain(std::iter::repeat_n(0.0, (count.measured - count.passes) as usize)));
    }
    let clusters = Clusters::from_labels(&labels);
    let rate = table.as_samples().and_then(|samples| stats::pass_rate(&samples, &clusters, 0.95));
    rate.ok().and_then(|rate| rate.wilson.ok()).map_or(1.0, |wilson| wilson.n_eff.max(1.0))
}

fn max_cost_per_case(side: &Side, most: f64) -> Judged {
    let known: Vec<f64> = side.cases.iter().filter_map(|case| case.cost_usd).collect();
    let answered = side.cases.iter().filter(|case| case.count.measured > 0).count();
    let unknown = answered.saturating_sub(known.len());
    #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
    let (n, all) = (known.len() as f64, (known.len() + unknown) as f64);
    let sum: f64 = known.iter().sum();
    if known.is_empty() || (unknown > 0 && sum / all <= most) {
        return Judged {
            verdict: GateVerdict::CannotTell,
            why: format!("the cost of {unknown} of {answered} cases is not known"),
            would_decide: Some("a `[[price]]` row for the model".to_owned()),
        };
    }
    let why = format!("${:.6} an answer, at most ${most} allowed", sum / n);
    judged(holds(sum / n <= most * (1.0 + 1e-12) || (unknown > 0 && sum / all <= most)), why)
}

fn max_p95_latency(side: &Side, longest: f64) -> Judged {
    let latency = &side.totals.latency_ms;
    let Some(p95) = latency.p95 else {
        return judged(GateVerdict::CannotTell, "no answer has a latency".to_owned());
    };
    let why = format!("p95 is {p95:.0} ms, at most {longest:.0} ms allowed");
    let seen = holds(p95 <= longest);
    let fast = holds(latency.p95_if_missing_fast.unwrap_or(0.0) <= longest);
    let slow = holds(latency.p95_if_missing_slow.is_some_and(|slow| slow <= longest));
    if fast == seen && slow == seen {
        return judged(seen, why);
    }
    Judged {
        verdict: GateVerdict::CannotTell,
        why: format!("{why}; trials without a latency could turn it"),
        would_decide: Some(WOULD_DECIDE.to_owned()),
    }
}

/// What the gates between two sides are judged by.
#[derive(Debug)]
pub(super) struct Paired<'a> {
    pub(super) a: &'a Side,
    pub(super) b: &'a Side,
    pub(super) matched: &'a [Pair],
    pub(super) cost: &'a CostComparison,
    pub(super) power: &'a Power,
    /// Cases whose break is signed off.
    pub(super) signed: HashSet<CaseId>,
    /// What fresh answers said.
    pub(super) confirmed: &'a HashMap<CaseId, Confirmed>,
}

impl Paired<'_> {
    /// Judges the gates that compare two sides.
    pub(super) fn judge(&self, gates: &Gates) -> Vec<GateResult> {
        let missing = self
            .matched
            .iter()
            .map(|pair| u64::from(self.a.cases[pair.a].missing() + self.b.cases[pair.b].missing()))
            .sum();
        let mut results = vec![];
        if gates.no_new_hard_failures {
            results.push(both_ways("no_new_hard_failures", missing, |taken| self.new_hard_failures(taken)));
        }
        if let Some(budget) = gates.flip_budget {
            results.push(both_ways("flip_budget", missing, |taken| self.flip_budget(budget, taken)));
        }
        if let Some(margin) = gates.non_inferiority_margin {
            let judge = |taken| self.non_inferiority(margin, taken);
            results.push(both_ways("non_inferiority_margin", missing, judge));
        }
        if let Some(most) = gates.max_cost_increase {
            results.push(result("max_cost_increase", self.max_cost_increase(most)));
        }
        results
    }

    /// Statuses of single cases by the per-case test, over counts of both sides.
    fn statuses(counts: &[(Count, Count)]) -> Vec<CaseStatus> {
        let cases: Vec<RepeatedCase> = counts
            .iter()
            .map(|(a, b)| RepeatedCase {
                base_pass: u64::from(a.passes),
                base_k: u64::from(a.measured),
                cand_pass: u64::from(b.passes),
                cand_k: u64::from(b.measured),
            })
            .collect();
        let found = stats::repeated_flips(&cases, Q).expect("no case passes more often than it was asked");
        found.cases.iter().map(|case| case.status).collect()
    }

    /// What hard graders said of each pair, the missing taken as told; nothing where none can speak.
    fn hard_counts(&self, taken: Taken) -> Vec<(Count, Count)> {
        self.matched
            .iter()
            .map(|pair| {
                let (a, b) = (&self.a.cases[pair.a], &self.b.cases[pair.b]);
                if !pair_may_have([a, b], [a.hard, b.hard]) {
                    return Default::default();
                }
                let hard_a = a.asked_of(a.hard).taken(Of::Baseline, taken);
                (hard_a, b.asked_of(b.hard).taken(Of::Candidate, taken))
            })
            .collect()
    }

    fn new_hard_failures(&self, taken: Taken) -> Judged {
        let counts = self.hard_counts(taken);
        let scored = |pair: &Pair| self.a.cases[pair.a].hard.measured + self.b.cases[pair.b].hard.measured;
        if self.matched.iter().all(|pair| scored(pair) == 0) {
            return judged(GateVerdict::Pass, "no case has a hard grader that scored".to_owned());
        }
        let statuses = Self::statuses(&counts);
        let clean = |count: Count| count.measured > 0 && count.passes == count.measured;
        let failing = |count: Count| count.measured > 0 && count.passes < count.measured;
        let (mut new, mut mended, mut certain, mut open) = (vec![], 0, vec![], vec![]);
        for ((pair, (a, b)), status) in self.matched.iter().zip(&counts).zip(statuses) {
            mended += u64::from(failing(*a) && clean(*b));
            let id = &self.b.cases[pair.b].id;
            if !(clean(*a) && failing(*b)) || self.signed.contains(id) {
                continue;
            }
            let repeated = a.measured > 1 && b.measured > 1;
            match self.confirmed.get(id) {
                Some(Confirmed::NotConfirmed) => continue,
                Some(Confirmed::Confirmed) => certain.push(id),
                _ if status == CaseStatus::Regressed => certain.push(id),
                _ if !repeated || b.passes == 0 || status == CaseStatus::SuspectRegressed => open.push(id),
                _ => {}
            }
            new.push(id);
        }
        let lopsided = stats::sign_test(mended, new.len() as u64);
        let many = new.len() as u64 > mended && lopsided.p_exact <= Q;
        let total = new.len();
        let would_decide = Some("fresh answers to them: `caseload confirm`".to_owned());
        match () {
            () if !certain.is_empty() => judged(
                GateVerdict::Fail,
                format!("{} newly fail a hard grader: {}", cases(certain.len()), named(&certain)),
            ),
            // That many fail is beyond chance, and of none is it shown that it does.
            () if many => Judged {
                verdict: GateVerdict::CannotTell,
                why: format!(
                    "{} newly fail a hard grader and {mended} no longer do (p = {:.4}), none of them beyond its own \
                     noise: {}",
                    cases(total),
                    lopsided.p_exact,
                    named(&new)
                ),
                would_decide,
            },
            () if !open.is_empty() => Judged {
                verdict: GateVerdict::CannotTell,
                why: format!(
                    "{} newly fail a hard grader, which may be chance: {}",
                    cases(open.len()),
                    named(&open)
                ),
                would_decide,
            },
            () if total > 0 => judged(
                GateVerdict::Pass,
                format!("{} newly fail a hard grader at times, within noise", cases(total)),
            ),
            () => judged(GateVerdict::Pass, "no case newly fails a hard grader".to_owned()),
        }
    }

    fn flip_budget(&self, budget: FlipBudget, taken: Taken) -> Judged {
        let counts: Vec<(Count, Count)> = self
            .matched
            .iter()
            .map(|pair| {
                let (a, b) = (&self.a.cases[pair.a], &self.b.cases[pair.b]);
                (a.asked().taken(Of::Baseline, taken), b.asked().taken(Of::Candidate, taken))
            })
            .collect();
        let statuses = Self::statuses(&counts);
        let (mut certain, mut open) = (0_usize, 0_usize);
        for ((pair, (a, b)), status) in self.matched.iter().zip(&counts).zip(statuses) {
            let case = &self.b.cases[pair.b];
            let verdict = |count: Count| case.pass_if.verdict(count.passes, count.measured);
            let broke = verdict(*a) == Some(true) && verdict(*b) == Some(false);
            if !broke || self.signed.contains(&case.id) {
                continue;
            }
            // A budget for every flip counts every flip, whatever fresh answers say of it.
            let asks_fresh = budget.confirmed || budget.which == CountedFlips::Real;
            let fresh = self.confirmed.get(&case.id).filter(|_| asks_fresh);
            match (fresh, budget.which) {
                (Some(Confirmed::NotConfirmed), _) => {}
                (Some(Confirmed::Confirmed), _) => certain += 1,
                (_, _) if budget.confirmed => open += 1,
                (_, CountedFlips::All) => certain += 1,
                (_, CountedFlips::Real) if status == CaseStatus::Regressed => certain += 1,
                (_, CountedFlips::Real) => {
                    let untested = a.measured < 2 || b.measured < 2;
                    open += usize::from(untested || status == CaseStatus::SuspectRegressed);
                }
            }
        }
        let allowed = budget.count as usize;
        let kind = match (budget.confirmed, budget.which) {
            (true, _) => "confirmed ",
            (_, CountedFlips::Real) => "real ",
            (_, CountedFlips::All) => "",
        };
        let why = format!("{certain} {kind}broke, at most {allowed} allowed");
        match () {
            () if certain > allowed => judged(GateVerdict::Fail, why),
            () if certain + open > allowed => Judged {
                verdict: GateVerdict::CannotTell,
                why: format!("{why}; {open} more may be chance"),
                would_decide: Some("fresh answers to them: `caseload confirm`".to_owned()),
            },
            () => judged(GateVerdict::Pass, why),
        }
    }

    fn non_inferiority(&self, margin: Margin, taken: Taken) -> Judged {
        let counts = Counts::of(self.a, self.b, self.matched).taken(taken);
        // The two-sided interval at 1 − 2α holds the one-sided bounds at 1 − α.
        let two_sided = 1.0 - 2.0 * (1.0 - margin.confidence);
        let paired = counts.paired(two_sided);
        let interval = paired.estimate.as_ref().ok().and_then(|estimate| estimate.interval.ok());
        let (Some(interval), Ok(estimate)) = (interval, &paired.estimate) else {
            return judged(GateVerdict::CannotTell, "too few cases for an interval".to_owned());
        };
        let found = stats::against_margin(interval, margin.margin).unwrap_or(MarginVerdict::Undetermined);
        let verdict = match found {
            MarginVerdict::Equivalent | MarginVerdict::NonInferior => GateVerdict::Pass,
            MarginVerdict::Inferior => GateVerdict::Fail,
            MarginVerdict::Inconclusive | MarginVerdict::Undetermined => GateVerdict::CannotTell,
        };
        let bound = if verdict == GateVerdict::Fail { interval.high } else { interval.low };
        let side = if verdict == GateVerdict::Fail { "most" } else { "least" };
        let more = super::difference::power(&paired, margin.margin).more_cases.or(self.power.more_cases);
        Judged {
            verdict,
            why: format!(
                "{}: {}, at {side} {} with {:.0} % confidence; the margin is {}",
                found.code().replace('_', "-"),
                signed_points(estimate.point),
                signed_points(bound),
                margin.confidence * 100.0,
                points(margin.margin)
            ),
            would_decide: (verdict == GateVerdict::CannotTell).then(|| match more {
                Some(more) if more > 0 => format!("about {more} more cases, or more repeats"),
                _ => "more cases or more repeats".to_owned(),
            }),
        }
    }

    fn max_cost_increase(&self, most: f64) -> Judged {
        let cost = self.cost;
        let Some(increase) = cost.increase.point.filter(|_| cost.unknown == 0) else {
            return Judged {
                verdict: GateVerdict::CannotTell,
                why: format!("the cost of {} is not known on both sides", cases(cost.unknown)),
                would_decide: Some("a `[[price]]` row for the model".to_owned()),
            };
        };
        let sign = |share: f64| format!("{:+.1} %", share * 100.0).replace('-', "−");
        judged(
            holds(increase <= most + 1e-12),
            format!("an answer costs {}, at most {} allowed", sign(increase), sign(most)),
        )
    }
}

fn cases(count: usize) -> String {
    if count == 1 { "1 case".to_owned() } else { format!("{count} cases") }
}

/// The first few ids of a list.
fn named(ids: &[&CaseId]) -> String {
    const SHOWN: usize = 5;
    let first: Vec<&str> = ids.iter().take(SHOWN).map(|id| id.as_str()).collect();
    let more = ids.len().saturating_sub(SHOWN);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", first.join(", "))
}

/// Whether a sign-off of this direction covers what the gates count.
pub(super) fn covers(direction: Direction) -> bool {
    direction == Direction::Broke
}
