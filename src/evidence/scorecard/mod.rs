//! A run's scorecard as data: what `--json` prints, and what the screen is made from.

mod caching;
mod rate;
mod retrieval;
mod slices;
mod times;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::{
    caching::CacheCard,
    rate::Rate,
    retrieval::{RetrievalCard, RetrievalSlice},
    slices::Slice,
    times::Percentiles,
};
use self::{
    rate::{rate, weighted_rate},
    slices::{segments, splits},
    times::{times, waits},
};
use super::{
    graders::{GraderEvidence, Graders},
    retrieval::Retrieval,
    samples::cluster_labels,
    target::Evidence,
};
use crate::{
    domain::{Cost, Price, QueueRecord, RunRow, TargetPos, Usage},
    store::{AttemptTotals, NewTarget, ReusedTotals, RunCase, RunDetail, Store, StoreError},
};

/// The version of the JSON shape.
const SCHEMA_VERSION: u32 = 1;

/// A run's scorecard.
#[derive(Clone, Debug, Serialize)]
pub struct Scorecard {
    /// The version of this shape.
    pub schema_version: u32,
    /// Which run.
    pub run: RunInfo,
    /// One card a target, in the experiment's order.
    pub targets: Vec<TargetCard>,
    /// How the queues ran in the last session that ended.
    pub queues: Vec<QueueRecord>,
}

/// Which run a scorecard is of.
#[derive(Clone, Debug, Serialize)]
pub struct RunInfo {
    /// Its unique name, such as `nightly-12`.
    pub id: String,
    /// Its experiment's name.
    pub name: String,
    /// Where it stands.
    pub status: &'static str,
    /// Why it stopped early, if it did.
    pub stop_reason: Option<String>,
    /// The golden set's fingerprint.
    pub golden_fingerprint: String,
    /// The golden set's name.
    pub golden_name: String,
    /// The seed of all its draws, in full.
    pub seed: u64,
    /// From its beginning to its last end, in seconds; `None` while it runs.
    pub wall_s: Option<f64>,
}

/// One target's card.
#[derive(Clone, Debug, Serialize)]
pub struct TargetCard {
    /// Its name.
    pub name: String,
    /// Its account.
    pub provider: String,
    /// Its model.
    pub model: String,
    /// Cases planned.
    pub cases: usize,
    /// Clusters they form.
    pub clusters: usize,
    /// Trials planned.
    pub trials: u64,
    /// Trials graded.
    pub graded: u64,
    /// Trials not measured, by reason; only reasons that occurred.
    pub not_measured: BTreeMap<&'static str, u64>,
    /// What failed trials failed of.
    pub failures: BTreeMap<&'static str, u64>,
    /// The pass rate: the mean over cases of each case's share of passes.
    pub pass_rate: Option<Rate>,
    /// The pass rate had every trial that was not measured been wrong, or right.
    pub pass_rate_bounds: Option<[f64; 2]>,
    /// The weighted pass rate, where a case has a weight other than 1.
    pub weighted_pass_rate: Option<Rate>,
    /// Cases that pass by their own `pass_if`, of those measured.
    pub cases_passed: usize,
    /// Cases measured at all.
    pub cases_measured: usize,
    /// Cases neither always nor never right, of those measured more than once.
    pub flaky_cases: usize,
    /// Tokens of all answers.
    pub usage: Usage,
    /// Answers whose tokens are not known.
    pub usage_unknown: u64,
    /// Cost of all answers, each that of the attempt which was answered; `None` when none has a known
    /// cost. A lower bound while
    /// `cost_unknown_trials` is above 0.
    pub cost_usd: Option<Cost>,
    /// Answers whose cost is not known.
    pub cost_unknown_trials: u64,
    /// Known cost of all attempts, of those that failed, too; `None` when none is known. A lower bound
    /// while `cost_unknown_trials` or `attempts_perhaps_billed` is above 0.
    pub attempts_cost_usd: Option<Cost>,
    /// Whether its model has a price: why a cost is not known.
    #[serde(skip)]
    pub has_price: bool,
    /// Answers whose cost rests on an assumption (a cache write of unknown lifetime).
    pub cost_approximate_trials: u64,
    /// Answers that came from an earlier run: they cost and took nothing now.
    pub reused_trials: u64,
    /// What those cost when they were asked; `None` when of none that is known. A lower bound while
    /// `reused_unknown_trials` is above 0.
    pub reused_original_cost_usd: Option<Cost>,
    /// Those of which that is not known.
    pub reused_unknown_trials: u64,
    /// Lost attempts that may have been billed at a cost nobody told.
    pub attempts_perhaps_billed: u64,
    /// The successful attempts' own times.
    pub latency_ms: Percentiles,
    /// Times to first token, of streamed answers.
    pub first_token_ms: Percentiles,
    /// Waits for a place in the queue, apart from the latency.
    pub queue_wait_ms: Percentiles,
    /// Prompt caching; `None` when nothing went through a cache.
    pub cache: Option<CacheCard>,
    /// Requests made, failed ones included.
    pub attempts: u64,
    /// Requests that failed.
    pub failed_attempts: u64,
    /// How well an application's retrieval did; absent where none was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalCard>,
    /// The same numbers per split.
    pub splits: Vec<Slice>,
    /// The same numbers per segment.
    pub segments: Vec<Slice>,
    /// The same numbers per grader.
    pub graders: Vec<GraderCard>,
}

/// One grader's part.
#[derive(Clone, Debug, Serialize)]
pub struct GraderCard {
    /// Its name.
    pub name: String,
    /// Whether its failures are hard ones.
    pub hard: bool,
    /// Cases that it scored.
    pub cases: usize,
    /// Trials that it scored.
    pub graded: u64,
    /// Trials that it could not score.
    pub unscored: u64,
    /// Its pass rate.
    pub pass_rate: Option<Rate>,
}

impl Scorecard {
    /// The scorecard of a run, read from the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn read(store: &Store, run: &RunDetail) -> Result<Self, StoreError> {
        let mut cases = vec![];
        store.for_each_case::<StoreError>(run.row.id, |case| {
            cases.push(case);
            Ok(())
        })?;
        let targets = (0..).map(TargetPos).zip(&run.targets).map(|(position, target)| {
            let read = Read::of(store, run.row.id, position, &cases)?;
            Ok(target_card(target, &cases, &read))
        });
        Ok(Self {
            schema_version: SCHEMA_VERSION,
            run: run_info(run),
            targets: targets.collect::<Result<_, StoreError>>()?,
            queues: store.queue_records(run.row.id)?,
        })
    }
}

fn run_info(run: &RunDetail) -> RunInfo {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are far below 2^52")]
    let wall = |end: i64| (end - run.row.created_at.0) as f64 / 1e3;
    RunInfo {
        id: run.row.name.to_string(),
        name: run.row.experiment.clone(),
        status: run.row.status.as_str(),
        stop_reason: run.row.stop_reason.clone(),
        golden_fingerprint: run.row.golden_fingerprint.to_string(),
        golden_name: run.row.golden_name.clone(),
        seed: run.seed,
        wall_s: run.row.finished_at.map(|end| wall(end.0)),
    }
}

/// All that a card is made from.
struct Read {
    evidence: Evidence,
    graders: Graders,
    retrieval: Option<Retrieval>,
    attempts: AttemptTotals,
    reused: ReusedTotals,
    prices: Vec<Price>,
}

impl Read {
    fn of(store: &Store, run: RunRow, target: TargetPos, cases: &[RunCase]) -> Result<Self, StoreError> {
        Ok(Self {
            evidence: Evidence::read(store, run, target, cases.iter().map(|case| case.repeats))?,
            graders: Graders::read(store, run, target, cases.len())?,
            retrieval: Retrieval::read(store, run, target, cases.len())?,
            attempts: store.attempt_totals(run, target)?,
            reused: store.reused(run, target)?,
            prices: store.prices(run)?.into_iter().map(|(_, price)| price).collect(),
        })
    }
}

fn target_card(target: &NewTarget, cases: &[RunCase], read: &Read) -> TargetCard {
    let Read { evidence, graders, attempts, reused, prices, .. } = read;
    let retrieval = read.retrieval.as_ref();
    let counts = &evidence.counts();
    let verdicts: Vec<bool> = counts
        .iter()
        .zip(cases)
        .filter_map(|(count, case)| case.pass_if.verdict(count.passes, count.measured))
        .collect();
    TargetCard {
        name: target.name.to_string(),
        provider: target.provider.to_string(),
        model: target.model.to_string(),
        cases: cases.len(),
        clusters: cluster_labels(cases.iter()).len(),
        trials: evidence.planned(),
        graded: evidence.measured(),
        not_measured: evidence.not_measured.clone(),
        failures: evidence.failures.clone(),
        pass_rate: rate(counts, cases, 0..cases.len()),
        pass_rate_bounds: evidence.bounds(),
        weighted_pass_rate: weighted_rate(counts, cases),
        cases_passed: verdicts.iter().filter(|passed| **passed).count(),
        cases_measured: verdicts.len(),
        flaky_cases: counts.iter().filter(|count| count.is_flaky()).count(),
        usage: evidence.usage,
        usage_unknown: evidence.usage_unknown,
        cost_usd: (evidence.priced > 0).then_some(evidence.answers_cost),
        cost_unknown_trials: evidence.unpriced,
        attempts_cost_usd: Some(evidence.attempts_cost(attempts))
            .filter(|cost| evidence.priced > 0 || *cost > Cost::ZERO),
        has_price: prices.iter().any(|price| price.model == target.model),
        cost_approximate_trials: evidence.approximate,
        reused_trials: reused.trials,
        reused_original_cost_usd: (reused.trials == 0 || reused.original_unknown < reused.trials)
            .then_some(reused.original_cost),
        reused_unknown_trials: reused.original_unknown,
        attempts_perhaps_billed: attempts.lost_unpriced,
        latency_ms: times(&evidence.latency, cases),
        first_token_ms: times(&evidence.first_token, cases),
        queue_wait_ms: waits(&evidence.queue_wait_ms),
        cache: CacheCard::of(&evidence.caching),
        attempts: attempts.attempts,
        failed_attempts: attempts.failed,
        retrieval: retrieval.map(|retrieval| RetrievalCard::of(retrieval, cases)),
        splits: splits(counts, cases, retrieval),
        segments: segments(counts, cases, retrieval),
        graders: graders.each.iter().filter_map(|grader| grader_card(grader, cases)).collect(),
    }
}

/// The card of a grader; `None` when it said nothing.
fn grader_card(said: &GraderEvidence, cases: &[RunCase]) -> Option<GraderCard> {
    (!said.cases.is_empty()).then(|| GraderCard {
        name: said.grader.name.to_string(),
        hard: said.grader.hard,
        cases: said.cases.iter().filter(|count| count.measured > 0).count(),
        graded: said.cases.iter().map(|count| u64::from(count.measured)).sum(),
        unscored: said.unscored,
        pass_rate: rate(&said.cases, cases, 0..cases.len()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{AttemptEnd, ErrorClass, Verdict},
        store::{
            StoreWriter, Write,
            fixtures::{answered, case, create, failed, graded, key, trial, write_attempt},
        },
    };

    /// The card of a run of three cases, two repeats, targets `a` and `b`, in which `writes` happened.
    fn card(writes: impl Fn(RunRow) -> Vec<Write>) -> Scorecard {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("test.db");
        let mut store = Store::open(&path).unwrap();
        let run = create(&mut store, &["c0", "c1", "c2"].map(case), 2).unwrap();
        let writer = StoreWriter::start(store, run.claim, None).unwrap();
        let sender = writer.sender().unwrap();
        writes(run.id).into_iter().for_each(|write| sender.blocking_send(write).unwrap());
        drop(sender);
        writer.finish().unwrap();
        let store = Store::open_to_read(&path).unwrap();
        Scorecard::read(&store, &store.run_detail(run.id).unwrap()).unwrap()
    }

    /// An answer that was graded so.
    fn answer(run: RunRow, case: u32, repeat: u32, verdict: Verdict) -> Vec<Write> {
        let key = key(run, 0, case, repeat);
        let attempt = write_attempt(key, 1, AttemptEnd::Answered);
        vec![attempt, trial(answered(key, "x")), graded(key, verdict)]
    }

    /// Of target `a`: case 0 always right, case 1 now so, now so, case 2 once failed and once to do.
    fn writes(run: RunRow) -> Vec<Write> {
        let answers =
            [(0, 1, Verdict::Pass), (0, 2, Verdict::Pass), (1, 1, Verdict::Pass), (1, 2, Verdict::Fail)];
        let mut writes: Vec<Write> = answers
            .into_iter()
            .flat_map(|(case, repeat, verdict)| answer(run, case, repeat, verdict))
            .collect();
        writes.push(trial(failed(key(run, 0, 2, 1), ErrorClass::ThisTrial)));
        writes
    }

    #[test]
    fn a_card_counts_what_was_measured_and_says_what_was_not() {
        let card = &card(writes).targets[0];
        assert_eq!((card.trials, card.graded, card.cases, card.cases_measured), (6, 4, 3, 2));
        assert_eq!(json!(card.not_measured), json!({"failed": 1, "pending": 1}));
        assert_eq!(json!(card.failures), json!({"timeout": 1}));
        // Case 1 is right once of two times: no majority.
        assert_eq!((card.cases_passed, card.flaky_cases), (1, 1));
        assert_eq!(card.pass_rate.as_ref().unwrap().point, 0.75);
        let [low, high] = card.pass_rate_bounds.unwrap();
        assert!((low - 1.5 / 3.0).abs() < 1e-12 && (high - 2.5 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_card_sums_what_answers_took_and_cost() {
        let card = &card(writes).targets[0];
        assert_eq!((card.usage.input_uncached, card.usage.output, card.usage_unknown), (400, 80, 0));
        assert_eq!(card.cost_usd, Some(Cost::from_picodollars(4 * 3_735_000_000)));
        assert_eq!((card.cost_unknown_trials, card.attempts, card.failed_attempts), (0, 4, 0));
        assert!(card.cache.is_none() && card.retrieval.is_none() && card.weighted_pass_rate.is_none());
    }

    #[test]
    fn what_nobody_asked_has_no_rate_and_no_cost_rather_than_nought() {
        let card = &card(writes).targets[1];
        assert_eq!((card.name.as_str(), card.graded), ("b", 0));
        assert_eq!(json!(card.not_measured), json!({"pending": 6}));
        assert!(card.pass_rate.is_none() && card.cost_usd.is_none() && card.graders.is_empty());
        assert_eq!(card.pass_rate_bounds, Some([0.0, 1.0]));
    }

    #[test]
    fn parts_and_graders_have_rates_of_their_own() {
        let card = &card(writes).targets[0];
        let segments: Vec<_> =
            card.segments.iter().map(|slice| (slice.value.as_str(), slice.cases, slice.graded)).collect();
        assert_eq!(segments, [("billing", 3, 4)]);
        let graders: Vec<_> =
            card.graders.iter().map(|own| (own.name.as_str(), own.cases, own.graded)).collect();
        assert_eq!(graders, [("words", 2, 4)]);
        assert!(card.splits.is_empty());
    }

    #[test]
    fn the_run_is_told_beside_its_cards() {
        let card = card(writes);
        assert_eq!(
            (card.run.id.as_str(), card.run.status, card.run.seed),
            ("nightly-1", "running", u64::MAX)
        );
        assert_eq!((card.run.wall_s, card.queues.len(), card.targets.len()), (None, 0, 2));
    }
}
