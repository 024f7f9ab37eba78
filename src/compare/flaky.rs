//! The flake ledger: which cases answer now so, now so, and which always alike.

use std::collections::HashMap;

use serde::Serialize;

use super::history::{CaseCounts, History, HistoryRun};
use crate::stats::{two_sided_z, wilson};

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// A case that could well pass this seldom or less is no coin flip, nor one that could pass as often
/// as one less this.
const EDGE: f64 = 0.1;

/// The ledger of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlakyLedger {
    /// The version of this shape.
    pub schema_version: u32,
    /// The experiment.
    pub experiment: String,
    /// Each target's part.
    pub targets: Vec<FlakyTarget>,
}

/// One target's part of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlakyTarget {
    /// The target's name.
    pub target: String,
    /// Runs it rests on: those in which the target was set up, and graded, as in its latest.
    pub runs: Vec<String>,
    /// Runs left out, since something was set differently.
    pub runs_left_out: usize,
    /// Cases of the latest run that were measured.
    pub cases: usize,
    /// Cases that passed every time.
    pub always_pass: usize,
    /// Cases that failed every time.
    pub always_fail: usize,
    /// Cases that pass about as often as not.
    pub coin_flips: usize,
    /// Other cases that did not always end alike.
    pub flaky: usize,
    /// Cases measured once, of which nothing can be said.
    pub measured_once: usize,
    /// Standard error that repeats alone add to the latest run's pass rate: √(Σ p(1 − p)/k)/n, of
    /// the ledger's p, Jeffreys' mean. Another choice of cases adds its own.
    pub repeat_noise: f64,
    /// Every case of the latest run that was measured: those first where more repeats help most.
    pub ledger: Vec<FlakyCase>,
}

/// One case of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlakyCase {
    /// Its id.
    pub case: String,
    /// What it is.
    pub kind: Steadiness,
    /// Runs in which it was measured.
    pub runs: usize,
    /// Trials measured.
    pub trials: u64,
    /// Trials passed.
    pub passes: u64,
    /// Its pass probability: `passes / trials`.
    pub probability: f64,
    /// Lower end of its interval (Wilson; trials of one case are independent).
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How often its verdict differed from that of the run before.
    pub verdict_changes: usize,
    /// Repeats it was given in the latest run.
    pub repeats: u32,
    /// Its share of the repeat noise's variance, of 1.
    pub noise_share: f64,
    /// What one more repeat in every run takes off that variance, of 1.
    pub saved_by_one_more: f64,
}

/// Whether a case ends alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Passed every time: a dead case, unless it guards against a regression.
    AlwaysPass,
    /// Failed every time: a dead case, or one whose expectation is wrong.
    AlwaysFail,
    /// The interval of its pass probability lies within 0.1 and 0.9.
    CoinFlip,
    /// Neither always nor never passed.
    Flaky,
    /// Measured once.
    MeasuredOnce,
}

impl Steadiness {
    /// Its name for readers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AlwaysPass => "always passes",
            Self::AlwaysFail => "always fails",
            Self::CoinFlip => "coin flip",
            Self::Flaky => "flaky",
            Self::MeasuredOnce => "measured once",
        }
    }
}

/// What one case came to so far.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    runs: usize,
    trials: u64,
    passes: u64,
    verdict: Option<bool>,
    verdict_changes: usize,
}

/// The ledger of one target; `None` when it has no run.
///
/// Only trials of the same thing are added up: of a case with the same fingerprint, by a target with
/// the same settings, graded by the same graders as in the latest run.
pub fn flaky_target(history: &History) -> Option<FlakyTarget> {
    let latest = history.runs.last()?;
    let like_latest = |run: &&HistoryRun| run.settings == latest.settings && run.graders == latest.graders;
    let runs: Vec<&HistoryRun> = history.runs.iter().filter(like_latest).collect();
    let mut tallies = vec![Tally::default(); history.cases.len()];
    for counts in runs.iter().flat_map(|run| &run.counts).filter(|counts| counts.measured > 0) {
        let tally = &mut tallies[counts.case];
        tally.runs += 1;
        tally.trials += u64::from(counts.measured);
        tally.passes += u64::from(counts.passes);
        let verdict = history.cases[counts.case].pass_if.verdict(counts.passes, counts.measured);
        tally.verdict_changes += usize::from(tally.verdict.is_some() && tally.verdict != verdict);
        tally.verdict = verdict;
    }
    let measured: Vec<&CaseCounts> =
        latest.counts.iter().filter(|counts| tallies[counts.case].trials > 0).collect();
    let noise: f64 = measured.iter().map(|counts| noise(&tallies[counts.case], counts.planned)).sum();
    let mut ledger: Vec<FlakyCase> = measured
        .iter()
        .map(|counts| {
            let id = history.cases[counts.case].id.to_string();
            flaky_case(id, &tallies[counts.case], counts.planned, noise)
        })
        .collect();
    ledger.sort_by(|a, b| b.saved_by_one_more.total_cmp(&a.saved_by_one_more));
    let mut kinds: HashMap<&str, usize> = HashMap::new();
    ledger.iter().for_each(|case| *kinds.entry(case.kind.as_str()).or_default() += 1);
    let count = |kind: Steadiness| kinds.get(kind.as_str()).copied().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
    let cases = ledger.len() as f64;
    Some(FlakyTarget {
        target: history.target.clone(),
        runs: runs.iter().map(|run| run.run.to_string()).collect(),
        runs_left_out: history.runs.len() - runs.len(),
        cases: ledger.len(),
        always_pass: count(Steadiness::AlwaysPass),
        always_fail: count(Steadiness::AlwaysFail),
        coin_flips: count(Steadiness::CoinFlip),
        flaky: count(Steadiness::Flaky),
        measured_once: count(Steadiness::MeasuredOnce),
        repeat_noise: if ledger.is_empty() { 0.0 } else { noise.sqrt() / cases },
        ledger,
    })
}

/// p(1 − p)/k, the variance that `repeats` repeats leave in a case's mean.
fn noise(tally: &Tally, repeats: u32) -> f64 {
    let p = jeffreys_mean(tally);
    p * (1.0 - p) / f64::from(repeats.max(1))
}

/// (x + ½)/(n + 1), the mean of the pass probability after Jeffreys' prior: one pass of one trial is
/// not yet a certainty.
#[expect(clippy::cast_precision_loss, reason = "trials of one case are far below 2^52")]
fn jeffreys_mean(tally: &Tally) -> f64 {
    (tally.passes as f64 + 0.5) / (tally.trials as f64 + 1.0)
}

fn flaky_case(case: String, tally: &Tally, repeats: u32, whole: f64) -> FlakyCase {
    let z = two_sided_z(CONFIDENCE).expect("a confidence between 0 and 1");
    let interval = wilson(tally.passes, tally.trials, z)
        .expect("no more passes than trials")
        .expect("a case of the ledger was measured");
    let kind = match (tally.passes, tally.trials) {
        (_, 1) => Steadiness::MeasuredOnce,
        (0, _) => Steadiness::AlwaysFail,
        (passes, trials) if passes == trials => Steadiness::AlwaysPass,
        _ if EDGE < interval.low && interval.high < 1.0 - EDGE => Steadiness::CoinFlip,
        _ => Steadiness::Flaky,
    };
    let share = |part: f64| if whole > 0.0 { part / whole } else { 0.0 };
    let (now, with_one_more) = (noise(tally, repeats), noise(tally, repeats.max(1) + 1));
    #[expect(clippy::cast_precision_loss, reason = "trials of one case are far below 2^52")]
    let probability = tally.passes as f64 / tally.trials as f64;
    FlakyCase {
        case,
        kind,
        runs: tally.runs,
        trials: tally.trials,
        passes: tally.passes,
        probability,
        low: interval.low,
        high: interval.high,
        verdict_changes: tally.verdict_changes,
        repeats,
        noise_share: share(now),
        saved_by_one_more: share(now - with_one_more),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::compare::history::tests::history;

    #[test]
    fn cases_are_told_apart_by_how_they_end() {
        // Four nights of five repeats: always, never, half of the time, once wrong.
        let night = |half, rare| vec![5, 0, half, rare];
        let ledger =
            flaky_target(&history(5, &[night(2, 5), night(3, 4), night(2, 5), night(3, 5)])).unwrap();
        assert_eq!((ledger.always_pass, ledger.always_fail, ledger.coin_flips, ledger.flaky), (1, 1, 1, 1));
        assert_eq!(ledger.cases, 4);
        let first = &ledger.ledger[0];
        assert_eq!((first.case.as_str(), first.kind), ("c2", Steadiness::CoinFlip));
        assert_eq!((first.passes, first.trials, first.probability), (10, 20, 0.5));
        assert_eq!(format!("{:.3} {:.3}", first.low, first.high), "0.299 0.701");
        assert_eq!(first.verdict_changes, 3);
        let shares: f64 = ledger.ledger.iter().map(|case| case.noise_share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        // k = 5 to 6 repeats takes a sixth of a case's own noise.
        assert!((first.saved_by_one_more - first.noise_share / 6.0).abs() < 1e-12);
    }

    #[test]
    fn the_noise_of_the_repeats_is_that_of_a_mean_of_means() {
        let ledger = flaky_target(&history(1, &[vec![1], vec![0], vec![1], vec![0]])).unwrap();
        assert!((ledger.repeat_noise - 0.5).abs() < 1e-12, "√(½·½/1)/1");
    }

    #[test]
    fn runs_with_other_settings_do_not_count() {
        let mut changed = history(1, &[vec![1], vec![0], vec![0]]);
        changed.runs[0].settings = json!({"model": "older"});
        let ledger = flaky_target(&changed).unwrap();
        assert_eq!((ledger.runs.len(), ledger.runs_left_out, ledger.always_fail), (2, 1, 1));
    }

    #[test]
    fn one_answer_says_nothing_and_no_answer_is_no_case() {
        let mut once = history(1, &[vec![1, 0]]);
        once.runs[0].counts[1].measured = 0;
        let ledger = flaky_target(&once).unwrap();
        assert_eq!((ledger.cases, ledger.measured_once), (1, 1));
        assert_eq!(flaky_target(&History::default()), None);
    }
}
