//! What a comparison says, as data: the JSON output, and what every screen is made from.

use std::collections::BTreeMap;

use serde::Serialize;

use super::side::{Count, Percentiles};
use crate::domain::{CaseId, Cost};

/// The version of the JSON shape.
pub const SCHEMA_VERSION: u32 = 1;

/// Two sides compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The version of this shape.
    pub schema_version: u32,
    /// The baseline and the candidate.
    pub sides: [SideInfo; 2],
    /// Cases measured on both sides: what every paired number rests on.
    pub pairs: usize,
    /// Cases that no paired number rests on, and why.
    pub left_out: LeftOut,
    /// The pass rate's difference.
    pub difference: Difference,
    /// What the evidence allows one to say of it.
    pub words: String,
    /// What this many cases can see.
    pub power: Power,
    /// Cases whose verdict differs.
    pub flips: Flips,
    /// The difference per split.
    pub splits: Vec<SliceDifference>,
    /// The difference per segment; p-values adjusted over the segments (Holm).
    pub segments: Vec<SliceDifference>,
    /// The difference per grader.
    pub graders: Vec<GraderDifference>,
    /// The difference of the structural (hard) graders alone; `None` without one.
    pub structural: Option<Difference>,
    /// What the answers cost.
    pub cost: CostComparison,
    /// How long they took.
    pub latency_ms: LatencyComparison,
    /// What was retrieved; `None` where no pair has it on both sides.
    pub retrieval: Option<RetrievalComparison>,
    /// What the gates say.
    pub gates: Vec<GateResult>,
    /// Gates that differ from those the candidate's run was started with.
    pub gates_edited: Vec<String>,
    /// Sign-offs, with what became of them.
    pub sign_offs: Vec<SignOffUse>,
    /// What differs between the graders, where a comparison was allowed all the same.
    pub grader_changes: Vec<String>,
    /// What the gates say together.
    pub verdict: Verdict,
    /// What a reader should know beside it, in sentences.
    pub notes: Vec<String>,
}

impl Comparison {
    /// By how much all answers of B cost more than those of A; `None` where a total is only what is known
    /// of it, or A's is nothing.
    pub fn total_increase(&self) -> Option<f64> {
        if self.sides.iter().any(|side| side.cost_unknown_trials > 0) {
            return None;
        }
        let [a, b] = self.cost.total_usd.map(|total| total.map(Cost::dollars));
        a.filter(|a| *a > 0.0).zip(b).map(|(a, b)| b / a - 1.0)
    }
}

/// What the gates say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every gate holds.
    Pass,
    /// A gate fails.
    Fail,
    /// No gate fails, and the evidence does not decide one.
    CannotTell,
    /// There is no gate.
    NoGates,
}

impl Verdict {
    /// What the results of all gates come to.
    pub fn of(gates: &[GateResult]) -> Self {
        let any = |wanted| gates.iter().any(|gate| gate.verdict == wanted);
        match () {
            () if gates.is_empty() => Self::NoGates,
            () if any(GateVerdict::Fail) => Self::Fail,
            () if any(GateVerdict::CannotTell) => Self::CannotTell,
            () => Self::Pass,
        }
    }
}

/// One side, as a comparison reports it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideInfo {
    /// What it is called.
    pub label: String,
    /// The run.
    pub run: String,
    /// The target.
    pub target: String,
    /// The model asked.
    pub model: String,
    /// The golden set's name.
    pub golden_name: String,
    /// The golden set's fingerprint.
    pub golden_fingerprint: String,
    /// Cases planned.
    pub cases: usize,
    /// Trials planned.
    pub trials: u64,
    /// Trials graded.
    pub graded: u64,
    /// Trials not measured, by reason.
    pub not_measured: BTreeMap<String, u64>,
    /// Its pass rate over the pairs.
    pub pass_rate: Amount,
    /// Known cost of all its answers; `None` when none is known.
    pub cost_usd: Option<Cost>,
    /// Answers whose cost is not known.
    pub cost_unknown_trials: u64,
    /// Share of its input that was read from a cache; `None` without input.
    pub cached_share: Option<f64>,
    /// Tokens of all outputs.
    pub output_tokens: u64,
    /// Latency of its trials.
    pub latency_ms: Percentiles,
}

/// A number with its interval; what cannot be estimated is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amount {
    /// The number.
    pub point: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
}

/// Cases that no paired number rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LeftOut {
    /// On the candidate's side only.
    pub new: Vec<CaseId>,
    /// On the baseline's side only.
    pub gone: Vec<CaseId>,
    /// On both, with another fingerprint.
    pub changed: Vec<CaseId>,
    /// The same on both, and not measured on a side.
    pub not_measured: Vec<CaseId>,
}

/// A paired difference, B − A, in fractions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// The mean over the pairs; `None` without pairs.
    pub point: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Its standard error, clustered (CR2).
    pub se: Option<f64>,
    /// Two-sided p-value of "no difference".
    pub p: Option<f64>,
    /// How the p-value was made: `sign_test`, `sign_flip` or `clustered_t`.
    pub p_method: Option<&'static str>,
    /// How the interval was made.
    pub method: String,
    /// Its confidence.
    pub confidence: f64,
    /// What the standard error would have been without pairing.
    pub se_unpaired: Option<f64>,
    /// What it would have been had clusters been ignored.
    pub se_naive: Option<f64>,
    /// How much larger the clustered variance is than the naive one.
    pub design_effect: Option<f64>,
    /// Degrees of freedom of the interval; `None` is the normal distribution.
    pub df: Option<f64>,
    /// The baseline's mean over the pairs.
    pub baseline: Option<f64>,
    /// The candidate's mean over the pairs.
    pub candidate: Option<f64>,
    /// Pairs.
    pub n_cases: usize,
    /// Clusters they form.
    pub n_clusters: usize,
    /// Trials on both sides.
    pub n_trials: usize,
    /// `better`, `worse`, `no_difference_seen` or `undetermined`: what holds whatever the trials that
    /// were not measured would have been.
    pub verdict: &'static str,
    /// What the missing trials could make of it; `None` when every planned trial was measured.
    pub if_missing: Option<IfMissing>,
    /// What a reader should know beside it.
    pub warnings: Vec<&'static str>,
}

/// A difference with all trials that were planned and not measured taken one way, and the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IfMissing {
    /// Planned trials of both sides that were not measured.
    pub trials: u64,
    /// All of them wrong on the candidate and right on the baseline.
    pub against_candidate: Amount,
    /// All of them right on the candidate and wrong on the baseline.
    pub for_candidate: Amount,
}

/// What the present number of cases can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Power {
    /// The smallest difference seen with 80 % probability at the 5 % level, in fractions.
    pub detectable: Option<f64>,
    /// The difference that the next two speak of.
    pub aim: f64,
    /// Further cases that `aim` would need.
    pub more_cases: Option<u64>,
    /// Further repeats a case and side that `aim` would need; `None` when repeats cannot do it.
    pub more_repeats: Option<u32>,
}

/// Which way a case flipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Passed on the baseline, fails on the candidate.
    Broke,
    /// Failed on the baseline, passes on the candidate.
    Fixed,
}

impl Direction {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Broke => "broke",
            Self::Fixed => "fixed",
        }
    }
}

/// Whether a flip is more than noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Found by the per-case test, adjusted over all cases tested.
    Real,
    /// Not found by it.
    WithinNoise,
    /// Asked once on a side: nothing tells a flip from a flaky case.
    Untested,
}

impl Mark {
    /// The word on a screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::WithinNoise => "within noise",
            Self::Untested => "untested",
        }
    }
}

/// What fresh answers said of a flip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirmed {
    /// The fresh answers alone show it.
    Confirmed,
    /// They show that there is none of note.
    NotConfirmed,
    /// They do not decide.
    CannotTell,
}

/// One case whose verdict differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlipRow {
    /// The case.
    pub id: CaseId,
    /// Which way.
    pub direction: Direction,
    /// The baseline's repeats.
    pub baseline: Count,
    /// The candidate's repeats.
    pub candidate: Count,
    /// Real or within noise.
    pub mark: Mark,
    /// Its p-value, one-sided, adjusted over all cases tested; `None` when not testable.
    pub q: Option<f64>,
    /// Whether hard graders, which always passed on the baseline, failed on the candidate.
    pub hard: bool,
    /// The case's weight.
    pub weight: f64,
    /// The case's cluster.
    pub cluster: String,
    /// The case's slices.
    pub segment: BTreeMap<String, String>,
    /// Who signed it off, and why.
    pub signed_off: Option<String>,
    /// What fresh answers said, where there are any.
    pub confirmed: Option<Confirmed>,
}

/// Cases whose verdict differs, and those whose does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Flips {
    /// Failed before, pass now.
    pub fixed: Vec<CaseId>,
    /// Passed before, fail now.
    pub broke: Vec<CaseId>,
    /// Pass on both sides.
    pub still_passes: usize,
    /// Fail on both sides.
    pub still_fails: usize,
    /// Exact two-sided sign test of fixed against broke.
    pub sign_test_p: f64,
    /// McNemar's exact test, two-sided: the same number.
    pub mcnemar_p: f64,
    /// Its mid-p value.
    pub mcnemar_mid_p: f64,
    /// Flips between two runs of the same target to expect by chance alone; needs repeats.
    pub expected_by_chance: Option<f64>,
    /// Whether the repeats are too few to name any single case.
    pub repeats_too_few: bool,
    /// Every flip: real, hard and heavy ones first.
    pub rows: Vec<FlipRow>,
}

/// The difference in a part of the cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceDifference {
    /// What cuts it, such as `intent`; `split` for splits.
    pub key: String,
    /// Which part, such as `billing`.
    pub value: String,
    /// The difference.
    #[serde(flatten)]
    pub difference: Difference,
    /// Its p-value adjusted over all slices of the list (Holm).
    pub p_adjusted: Option<f64>,
}

/// The difference of one grader's passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraderDifference {
    /// The grader.
    pub name: String,
    /// Whether its failures are hard ones.
    pub hard: bool,
    /// The difference.
    #[serde(flatten)]
    pub difference: Difference,
}

/// A quantity on both sides with its paired difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Quantity {
    /// The baseline's.
    pub baseline: Option<f64>,
    /// The candidate's.
    pub candidate: Option<f64>,
    /// Candidate − baseline.
    pub difference: Amount,
    /// Pairs it rests on.
    pub n: usize,
    /// How the interval was made.
    pub method: &'static str,
}

/// What the applications of both sides retrieved, beside and apart from the answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RetrievalComparison {
    /// The share of cases for which a labelled source was retrieved.
    pub hit_rate: Quantity,
    /// The share of the labelled sources that were retrieved.
    pub recall: Quantity,
}

/// What the answers cost on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CostComparison {
    /// Mean dollars of an answer, over the pairs whose cost is known on both sides.
    pub per_case_usd: Quantity,
    /// How much dearer the candidate is: candidate/baseline − 1; `None` when that is not known.
    pub increase: Amount,
    /// Mean tokens of an input.
    pub input_tokens: Quantity,
    /// Mean tokens of an output.
    pub output_tokens: Quantity,
    /// Share of the input that was read from a cache, on each side.
    pub cached_share: [Option<f64>; 2],
    /// Known cost of all answers, on each side.
    pub total_usd: [Option<Cost>; 2],
    /// Pairs whose cost is not known on a side.
    pub unknown: usize,
}

/// How long the answers took on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LatencyComparison {
    /// The median of the cases' mean latencies, paired.
    pub p50: Quantity,
    /// The 95th percentile of the cases' mean latencies, paired.
    pub p95: Quantity,
    /// The median of the cases' differences.
    pub median_of_differences: Amount,
}

/// What one gate says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// The evidence does not decide it.
    CannotTell,
}

impl GateVerdict {
    /// The words on a screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// One gate's verdict with the figure that decided it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateResult {
    /// The gate, as the experiment names it.
    pub name: &'static str,
    /// What it says.
    pub verdict: GateVerdict,
    /// The figure that decided, and what it was held against.
    pub why: String,
    /// What evidence would decide it; `None` when it is decided.
    pub would_decide: Option<String>,
    /// Whether it was edited since the candidate's run began.
    pub edited: bool,
}

/// One sign-off and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignOffUse {
    /// The case.
    pub case: CaseId,
    /// The direction it allows.
    pub direction: Direction,
    /// Who allowed it.
    pub who: String,
    /// Why.
    pub why: String,
    /// The last day on which it holds.
    pub until: String,
    /// `used`, `unused` or `expired`.
    pub state: &'static str,
}

/// More than two sides: each compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Matrix {
    /// The version of this shape.
    pub schema_version: u32,
    /// Each side but the first, compared with the first.
    pub rows: Vec<MatrixRow>,
    /// What the gates say together.
    pub verdict: Verdict,
}

/// One candidate of a matrix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatrixRow {
    /// Its p-value adjusted over all candidates (Holm).
    pub p_adjusted: Option<f64>,
    /// The whole comparison with the baseline.
    pub comparison: Comparison,
}
