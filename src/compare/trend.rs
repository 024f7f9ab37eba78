//! A target over its runs: its numbers, what was changed between them, and whether its pass rate
//! moved.

use serde::Serialize;
use serde_json::Value;

use super::history::{CaseCounts, History, HistoryRun};
use crate::{
    domain::Cost,
    stats::{self, Clusters, Level, SampleTable, at_most, clustered_mean, sign_test},
    store::Returned,
};

/// The confidence of every interval.
const CONFIDENCE: f64 = 0.95;

/// Adjusted p value at which a change is pointed out.
const ALPHA: f64 = 0.05;

/// One target over its runs, the oldest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendTarget {
    /// The target's name.
    pub target: String,
    /// Its runs.
    pub runs: Vec<TrendRun>,
    /// Where its pass rate most likely moved; `None` when no two runs share a measured case.
    pub change_point: Option<ChangePoint>,
}

/// One run of a trend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendRun {
    /// The run's name.
    pub run: String,
    /// When it began.
    pub created_at: String,
    /// Where it stands.
    pub status: &'static str,
    /// Its pass rate; `None` when nothing was measured.
    pub pass_rate: Option<Share>,
    /// Trials planned.
    pub trials: u64,
    /// Trials not measured.
    pub not_measured: u64,
    /// Known cost of its answers; `None` when none is known.
    pub cost_usd: Option<Cost>,
    /// Answers whose cost is not known; above 0 the cost is a lower bound.
    pub cost_unknown_trials: u64,
    /// Median of the answers' own times, in milliseconds.
    pub latency_p50_ms: Option<f64>,
    /// Their 95th percentile.
    pub latency_p95_ms: Option<f64>,
    /// The model that was asked for.
    pub model: String,
    /// What the provider said answered.
    pub returned: Vec<Returned>,
    /// What was changed since the run before.
    pub changed: Vec<Change>,
}

/// A pass rate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The mean over cases of each case's share of passes.
    pub point: f64,
    /// Lower end; `None` when it cannot be estimated.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Cases it rests on.
    pub n_cases: usize,
}

/// Something that differs from the run before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What.
    pub kind: ChangeKind,
    /// From what to what, where that can be said in a few words.
    pub what: String,
}

/// What can be changed between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The model that is asked for, or its account.
    Model,
    /// The prompt's templates.
    Prompt,
    /// The parameters of the requests, or any other of the target's settings.
    Parameters,
    /// The golden set.
    GoldenSet,
    /// The graders or their versions.
    Graders,
    /// The model that answered, by the provider's own word.
    Returned,
}

impl ChangeKind {
    /// Its name for readers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Prompt => "prompt",
            Self::Parameters => "parameters",
            Self::GoldenSet => "golden set",
            Self::Graders => "graders",
            Self::Returned => "model returned",
        }
    }
}

/// The split of the runs at which the pass rate moved most clearly.
///
/// For every split the runs before it are held against the runs from it on, case by case: the
/// difference of a case is its mean over the later runs less its mean over the earlier ones, over
/// cases (same id and fingerprint) that both have. A split's p value is the larger of two: of the
/// t test on the differences' clustered standard error (CR2), and of the exact sign test on the
/// clusters' totals, which few changed cases do not fool. The smallest one is kept, and multiplied
/// (Bonferroni) by the number of looks: with n runs n·(n − 1)/2, every split of the whole series and
/// of each beginning of it, since whoever reads a trend tonight has also read it the nights before.
///
/// A hint and no gate: the size of a shift that was selected for being the largest is somewhat too
/// large, and what moves all cases of one night (a bad hour of the provider) counts as a change.
///
/// Source: maximal two-sample statistic over all splits, Hawkins (1977), JASA 72(357), 180–186;
/// Bonferroni bound for it, Worsley (1979), JASA 74(366), 365–367.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangePoint {
    /// The first run after the change.
    pub from_run: String,
    /// Pass rate over the shared cases before it.
    pub before: f64,
    /// Pass rate over the shared cases from it on.
    pub after: f64,
    /// Cases that both sides share.
    pub cases: usize,
    /// P value of this split alone.
    pub p: f64,
    /// Looks that are accounted for.
    pub looks: usize,
    /// P value with the looks accounted for.
    pub p_adjusted: f64,
    /// Whether it is worth a hint: the adjusted p value is at most 0.05.
    pub found: bool,
    /// What was changed at that run.
    pub coincides_with: Vec<ChangeKind>,
}

/// The trend of one target.
pub fn trend_target(history: &History) -> TrendTarget {
    let labels = history.cluster_labels();
    let mut runs = vec![];
    for (at, run) in history.runs.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &history.runs[before]);
        runs.push(trend_run(run, before, &labels));
    }
    let change_point = change_point(history, &labels, &runs);
    TrendTarget { target: history.target.clone(), runs, change_point }
}

fn trend_run(run: &HistoryRun, before: Option<&HistoryRun>, labels: &[u32]) -> TrendRun {
    let (p50, p95) = latency(&run.latency_ms);
    TrendRun {
        run: run.run.to_string(),
        created_at: run.created_at.to_string(),
        status: run.status,
        pass_rate: share(&run.counts, labels),
        trials: run.planned(),
        not_measured: run.planned().saturating_sub(run.measured()),
        cost_usd: (run.priced > 0).then_some(run.cost),
        cost_unknown_trials: run.unpriced,
        latency_p50_ms: p50,
        latency_p95_ms: p95,
        model: run.model.clone(),
        returned: run.returned.clone(),
        changed: before.map(|before| marks(before, run)).unwrap_or_default(),
    }
}

/// The pass rate of one run; `None` when nothing was measured.
fn share(counts: &[CaseCounts], labels: &[u32]) -> Option<Share> {
    let measured = || counts.iter().filter(|counts| counts.measured > 0);
    let table: SampleTable = measured()
        .map(|counts| {
            let passes = std::iter::repeat_n(1.0, counts.passes as usize);
            passes.chain(std::iter::repeat_n(0.0, (counts.measured - counts.passes) as usize))
        })
        .collect();
    let clusters = Clusters::from_labels(&measured().map(|counts| labels[counts.case]).collect::<Vec<_>>());
    let rate = table
        .as_samples()
        .and_then(|samples| stats::pass_rate(&samples, &clusters, CONFIDENCE))
        .expect("scores are 0 or 1 and every case in the table was measured");
    let estimate = rate.estimate.ok()?;
    Some(Share {
        point: estimate.point,
        low: estimate.low(),
        high: estimate.high(),
        n_cases: estimate.n_cases,
    })
}

/// Nearest-rank median and 95th percentile.
fn latency(values: &[f64]) -> (Option<f64>, Option<f64>) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |numerator| {
        let level = Level::new(numerator, 100).expect("a percentage between 0 and 100");
        (!sorted.is_empty()).then(|| sorted[level.nearest_rank(sorted.len()) - 1])
    };
    (at(50), at(95))
}

/// What differs between two runs of a target.
fn marks(before: &HistoryRun, run: &HistoryRun) -> Vec<Change> {
    let mut marks = vec![];
    let mut mark = |kind, what: String| marks.push(Change { kind, what });
    if (&before.model, &before.provider) != (&run.model, &run.provider) {
        let same_account = before.provider == run.provider;
        let name = |run: &HistoryRun| {
            if same_account { run.model.clone() } else { format!("{} at {}", run.model, run.provider) }
        };
        mark(ChangeKind::Model, format!("{} -> {}", name(before), name(run)));
    }
    let differs = |key: &&str| before.settings.get(*key) != run.settings.get(*key);
    let templates: Vec<&str> = ["system", "user"].into_iter().filter(differs).collect();
    if !templates.is_empty() {
        mark(ChangeKind::Prompt, format!("{} template", templates.join(" and ")));
    }
    let changed = other_settings(&before.settings, &run.settings);
    if !changed.is_empty() {
        mark(ChangeKind::Parameters, changed.join(", "));
    }
    if before.golden_fingerprint != run.golden_fingerprint {
        let short =
            |run: &HistoryRun| run.golden_fingerprint.to_string().chars().take(12).collect::<String>();
        let (was, is) = (before.counts.len(), run.counts.len());
        mark(ChangeKind::GoldenSet, format!("{} ({was} cases) -> {} ({is})", short(before), short(run)));
    }
    if before.graders != run.graders {
        mark(ChangeKind::Graders, "graders or their versions".to_owned());
    }
    let (was, is) = (names(&before.returned), names(&run.returned));
    if was != is && !was.is_empty() && !is.is_empty() {
        mark(ChangeKind::Returned, format!("{} -> {}", was.join(" + "), is.join(" + ")));
    }
    marks
}

/// The names of the settings that differ, but for those that have a mark of their own.
fn other_settings(before: &Value, after: &Value) -> Vec<String> {
    const MARKED: [&str; 5] = ["name", "provider", "model", "system", "user"];
    let empty = serde_json::Map::new();
    let (before, after) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let mut changed: Vec<String> = before
        .keys()
        .chain(after.keys().filter(|key| !before.contains_key(*key)))
        .filter(|key| !MARKED.contains(&key.as_str()) && before.get(*key) != after.get(*key))
        .cloned()
        .collect();
    changed.sort_unstable();
    changed
}

/// What answered, in words, without how often.
fn names(returned: &[Returned]) -> Vec<String> {
    let name = |returned: &Returned| {
        let model = returned.model.as_deref();
        match (model, returned.fingerprint.as_deref()) {
            (None, None) => None,
            (Some(model), None) => Some(model.to_owned()),
            (model, Some(fingerprint)) => Some(format!("{} ({fingerprint})", model.unwrap_or("?"))),
        }
    };
    returned.iter().filter_map(name).collect()
}

/// The split at which the pass rate moved most clearly; see [`ChangePoint`].
fn change_point(history: &History, labels: &[u32], runs: &[TrendRun]) -> Option<ChangePoint> {
    let n = history.runs.len();
    let mut later = vec![Sum::default(); history.cases.len()];
    for run in &history.runs {
        run.counts.iter().for_each(|counts| later[counts.case].add(counts, 1.0));
    }
    let mut earlier = vec![Sum::default(); history.cases.len()];
    let mut best: Option<(usize, Split)> = None;
    for at in 1..n {
        for counts in &history.runs[at - 1].counts {
            earlier[counts.case].add(counts, 1.0);
            later[counts.case].add(counts, -1.0);
        }
        let Some(split) = split(&earlier, &later, labels) else { continue };
        if best.as_ref().is_none_or(|(_, best)| (split.p, split.p_t) < (best.p, best.p_t)) {
            best = Some((at, split));
        }
    }
    let (at, split) = best?;
    let looks = n * (n - 1) / 2;
    #[expect(clippy::cast_precision_loss, reason = "looks are few")]
    let p_adjusted = (split.p * looks as f64).min(1.0);
    Some(ChangePoint {
        from_run: runs[at].run.clone(),
        before: split.before,
        after: split.after,
        cases: split.cases,
        p: split.p,
        looks,
        p_adjusted,
        found: at_most(p_adjusted, ALPHA),
        coincides_with: runs[at].changed.iter().map(|mark| mark.kind).collect(),
    })
}

/// The means of a case over several runs, added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    means: f64,
    runs: f64,
}

impl Sum {
    fn add(&mut self, counts: &CaseCounts, sign: f64) {
        if counts.measured > 0 {
            self.means += sign * f64::from(counts.passes) / f64::from(counts.measured);
            self.runs += sign;
        }
    }

    fn mean(self) -> Option<f64> {
        (self.runs > 0.5).then(|| self.means / self.runs)
    }
}

struct Split {
    before: f64,
    after: f64,
    cases: usize,
    /// The p value of the split.
    p: f64,
    /// That of the t test alone, which tells splits apart whose sign tests are equal.
    p_t: f64,
}

/// The test of one split; `None` when the two sides share no case.
fn split(earlier: &[Sum], later: &[Sum], labels: &[u32]) -> Option<Split> {
    /// Below this a difference of means is what rounding left over.
    const NOTHING: f64 = 1e-9;
    let (mut differences, mut shared) = (vec![], vec![]);
    let (mut before, mut after) = (0.0, 0.0);
    for ((earlier, later), label) in earlier.iter().zip(later).zip(labels) {
        if let (Some(was), Some(is)) = (earlier.mean(), later.mean()) {
            before += was;
            after += is;
            differences.push(if (is - was).abs() < NOTHING { 0.0 } else { is - was });
            shared.push(*label);
        }
    }
    if differences.is_empty() {
        return None;
    }
    let clusters = Clusters::from_labels(&shared);
    let totals = clusters.totals(&differences);
    let count =
        |up: bool| totals.iter().filter(|total| (**total > NOTHING) == up && total.abs() > NOTHING).count();
    let p_sign = sign_test(count(true) as u64, count(false) as u64).p_exact;
    let mean =
        clustered_mean(&differences, &clusters).expect("differences are finite and have a cluster each");
    // Without a spread (all alike, or one case alone) the sign test speaks by itself.
    let p_t = mean.t_test().map_or(0.0, |(_, p)| p);
    #[expect(clippy::cast_precision_loss, reason = "sets are far below 2^52 cases")]
    let n = differences.len() as f64;
    Some(Split { before: before / n, after: after / n, cases: differences.len(), p: p_sign.max(p_t), p_t })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{compare::history::tests::history, stats::SplitMix64};

    /// `nights` runs of `cases` cases, each asked three times, that pass with the probability `rate`
    /// gives for a night and a case's own difficulty in 0..1000.
    fn nights(seed: u64, nights: usize, cases: usize, rate: impl Fn(usize, usize) -> usize) -> History {
        let mut rng = SplitMix64::new(seed);
        let difficulty: Vec<usize> = (0..cases).map(|_| rng.below(1000)).collect();
        let mut runs = vec![];
        for night in 0..nights {
            let passes = difficulty.iter().map(|&difficulty| {
                let rate = rate(night, difficulty);
                u32::try_from((0..3).filter(|_| rng.below(1000) < rate).count()).unwrap()
            });
            runs.push(passes.collect());
        }
        history(3, &runs)
    }

    /// Half of the cases easy, half of them shaky.
    fn steady(_: usize, difficulty: usize) -> usize {
        if difficulty < 500 { 990 } else { 700 }
    }

    #[test]
    fn a_target_that_does_not_change_is_seldom_said_to_have() {
        let found = (0..300)
            .filter(|seed| trend_target(&nights(*seed, 12, 100, steady)).change_point.unwrap().found)
            .count();
        assert!(found <= 9, "{found} of 300 false hints");
    }

    #[test]
    fn a_drop_is_found_where_it_happened() {
        let fell = |night, difficulty| if night < 7 { 850 } else { 790 }.min(1000 - difficulty / 100);
        let trend = trend_target(&nights(3, 12, 1_000, fell));
        let change = trend.change_point.unwrap();
        assert!(change.found && change.after < change.before - 0.04, "{change:?}");
        assert_eq!((change.from_run.as_str(), change.looks), ("nightly-8", 66));
        assert_eq!(trend.runs[0].pass_rate.unwrap().n_cases, 1_000);
    }

    #[test]
    fn few_changed_cases_are_no_change_of_the_target() {
        let mut runs = vec![vec![1; 200]; 4];
        runs.iter_mut().skip(2).for_each(|run| run[..4].fill(0));
        let change = trend_target(&history(1, &runs)).change_point.unwrap();
        assert_eq!((change.from_run.as_str(), change.found), ("nightly-3", false));
        assert!((change.p - 0.125).abs() < 1e-12, "two tails of 1/2^4: {}", change.p);
    }

    #[test]
    fn runs_without_a_shared_case_have_no_change_point() {
        let mut apart = history(1, &[vec![1, 1], vec![0, 0]]);
        apart.runs[1].counts.clear();
        assert_eq!(trend_target(&apart).change_point, None);
        assert_eq!(trend_target(&apart).runs[1].pass_rate, None);
        assert_eq!(trend_target(&history(1, &[vec![1]])).change_point, None);
    }

    #[test]
    fn what_was_changed_between_two_runs_is_marked() {
        let mut changed = history(1, &[vec![1, 1], vec![1, 1]]);
        let returned = |model: &str| Returned { model: Some(model.to_owned()), fingerprint: None, trials: 2 };
        changed.runs[0].returned = vec![returned("m-1-june")];
        let run = &mut changed.runs[1];
        run.model = "m-2".to_owned();
        run.settings = json!({"model": "m-2", "parameters": {"temperature": 1}, "system": "Be kind."});
        run.golden_fingerprint = crate::domain::Fingerprint::of(b"other");
        run.returned = vec![returned("m-2-july")];
        let trend = trend_target(&changed);
        let marks: Vec<(ChangeKind, &str)> =
            trend.runs[1].changed.iter().map(|mark| (mark.kind, mark.what.as_str())).collect();
        assert_eq!(marks[0], (ChangeKind::Model, "m-1 -> m-2"));
        assert_eq!(marks[1], (ChangeKind::Prompt, "system template"));
        assert_eq!(marks[2], (ChangeKind::Parameters, "parameters"));
        assert_eq!(marks[3].0, ChangeKind::GoldenSet);
        assert_eq!(marks[4], (ChangeKind::Returned, "m-1-june -> m-2-july"));
        assert!(trend.runs[0].changed.is_empty());
    }
}
