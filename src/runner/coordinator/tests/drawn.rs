//! Thousands of runs whose every delay and every end is drawn: none hangs, and nothing is lost.

use std::collections::BTreeSet;

use super::*;
use crate::runner::fixtures::CASES;

/// How many runs are drawn.
const SCHEDULES: u64 = 10_000;

/// Draws of several owners from one seed.
#[derive(Clone)]
struct Draws(Arc<Mutex<SplitMix64>>);

impl Draws {
    fn below(&self, n: usize) -> usize {
        self.0.lock().unwrap().below(n)
    }

    /// Mostly a short time, sometimes none, sometimes a very long one.
    fn time(&self) -> Duration {
        match self.below(20) {
            0..5 => Duration::ZERO,
            5..19 => Duration::from_millis(self.below(50) as u64),
            _ => Duration::from_secs(1_000),
        }
    }

    fn fate(&self, at: usize, odds: Odds) -> Fate {
        if at == 2 {
            return if self.below(2) == 0 { Fate::Found } else { Fate::NotFound };
        }
        match self.below(1_000) {
            0..3 if odds.panics => Fate::Panics,
            3..10 if odds.refuses => Fate::Refused,
            10..150 => Fate::Repeats,
            150..250 => Fate::Ends(Outcome::Failed),
            250..300 if odds.grades => Fate::Ends(Outcome::Answered),
            // Not graded: graders have threads and a clock of their own.
            _ => Fate::Ends(Outcome::Filtered),
        }
    }

    fn plan(&self) -> TrialPlan {
        let repeats: Vec<u32> = (0..CASES).map(|_| u32::try_from(self.below(3)).unwrap()).collect();
        let mut plan = TrialPlan::new(3, repeats.clone());
        for (target, case) in (0..3).flat_map(|target| (0..CASES).map(move |case| (target, case))) {
            for repeat in 1..=repeats[case as usize] {
                match self.below(10) {
                    0 => plan.mark_done(TargetPos(target), CasePos(case), Repeat(repeat)),
                    1 => plan.leave_for_later(TargetPos(target), CasePos(case), Repeat(repeat)),
                    2 => plan.note_attempts(TargetPos(target), CasePos(case), Repeat(repeat), 2),
                    _ => {}
                }
            }
        }
        plan
    }
}

/// What may happen at all in one run.
#[derive(Clone, Copy, Debug)]
struct Odds {
    panics: bool,
    refuses: bool,
    grades: bool,
    stops: bool,
    limit: Option<Cost>,
    wire: usize,
}

async fn one(seed: u64) {
    let draws = Draws(Arc::new(Mutex::new(SplitMix64::new(seed))));
    let odds = Odds {
        panics: draws.below(10) == 0,
        refuses: draws.below(4) == 0,
        grades: draws.below(20) == 0,
        stops: draws.below(3) == 0,
        limit: (draws.below(2) == 0).then(|| cost(WORST).times(draws.below(30) as u64).unwrap()),
        wire: 1 + draws.below(6),
    };
    let plan = draws.plan();
    let (pending, later) = (plan.pending(), plan.left_for_later());
    let (of_lanes, of_writer) = (draws.clone(), draws.clone());
    let script = move |at: usize, _: &Flight| (of_lanes.time(), of_lanes.fate(at, odds));
    let mut stage = Stage::set(plan, odds.limit, odds.wire, script, move || of_writer.time());
    if odds.stops {
        let (tell, draws) = (stage.shutdown.0.clone(), draws.clone());
        tokio::spawn(async move {
            for wish in [Shutdown::Drain, Shutdown::Now] {
                sleep(draws.time()).await;
                let _ = tell.send(wish);
            }
        });
    }
    let result = stage.work().await;
    let ledger = stage.ledger.clone();
    let summary = stage.coordinator.finish();
    // What is in the writer's channel is still written.
    sleep(Duration::from_secs(100_000)).await;

    let told = stage.told.lock().unwrap();
    let why = format!("seed {seed}, {odds:?}: {summary:?}");
    let ends: Vec<TrialKey> =
        told.trials().filter(|(_, outcome)| *outcome != Outcome::Cancelled).map(|(key, _)| key).collect();
    assert_eq!(ends.iter().collect::<BTreeSet<_>>().len(), ends.len(), "a trial ended twice: {why}");
    assert_eq!(summary.pending, pending - ends.len() as u64, "{why}");
    assert!(told.most[..2].iter().all(|most| *most <= 2 * odds.wire), "{:?}: {why}", told.most);
    assert!(odds.limit.is_none_or(|limit| ledger.spent() <= limit), "{why}");
    let cancelled = told.trials().count() - ends.len();
    let on_their_way = told.count(|write| match write {
        Write::Attempt { attempt, .. } => attempt.cost.is_none(),
        _ => false,
    });
    assert!(cancelled <= on_their_way, "a cancelled trial left no attempt: {why}");
    if let Err(error) = result {
        assert!(odds.panics && matches!(error, RunError::Task(_)), "{error}: {why}");
        return;
    }
    assert!(summary.pending == later || !summary.stops.is_empty(), "something is left: {why}");
    assert_eq!(ledger.reserved(), Cost::ZERO, "something stays reserved: {why}");
    let graded = told.count(|write| match write {
        Write::Trial(record, _) => record.outcome.is_graded(&record.answer),
        _ => false,
    });
    assert_eq!(told.count(|write| matches!(write, Write::Scores { .. })), graded, "{why}");
}

#[test]
fn no_drawn_run_hangs_and_every_trial_ends_once_or_is_still_to_do() {
    for seed in 0..SCHEDULES {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(one(seed));
    }
}
