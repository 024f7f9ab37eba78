//! The loop with scripted lanes, and a test at the other end of the writer's channel.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep, timeout};

use super::*;
use crate::{
    domain::{
        Attempt, AttemptEnd, CasePos, Cost, ErrorClass, Failure, FailureKind, LiveLimits, Metered, Outcome,
        ProviderName, Repeat, Reply, RunStatus, Settled, Settlement, TargetPos, Tariff, UnixMillis, Usage,
    },
    providers::Rejection,
    queue::ProviderQueue,
    runner::{
        fixtures::{EXPERIMENT_OF_TESTS, queue, reusable},
        lane::Landing,
        live::Live,
    },
    stats::SplitMix64,
};

mod drawn;

/// The most that one attempt can cost: 200 tokens at a dollar a million.
const WORST: &str = "0.0002";

/// How a scripted call comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Ends(Outcome),
    /// An attempt fails that may be billed; where it may be repeated, the next one answers.
    Repeats,
    /// The provider refuses the whole account.
    Refused,
    Panics,
    Found,
    NotFound,
}

/// What happens to a call, and after how long.
type Script = Box<dyn FnMut(&Flight) -> (Duration, Fate) + Send>;

/// A lane that does what a test says.
struct Scripted {
    wire: usize,
    queue: Arc<ProviderQueue>,
    script: Script,
    flying: Vec<(Pin<Box<Sleep>>, Flight, Fate)>,
    told: Arc<Mutex<Told>>,
    at: usize,
}

/// What a run told its lanes and its writer.
#[derive(Debug, Default)]
struct Told {
    /// Sent and not yet committed, and the most there ever were, by account.
    open: [usize; 3],
    most: [usize; 3],
    starts: Vec<TrialKey>,
    stops: Vec<Shutdown>,
    writes: Vec<Write>,
}

impl Told {
    fn trials(&self) -> impl Iterator<Item = (TrialKey, Outcome)> {
        self.writes.iter().filter_map(|write| match write {
            Write::Trial(record, _) => Some((record.key, record.outcome)),
            _ => None,
        })
    }

    fn count(&self, is_meant: impl Fn(&Write) -> bool) -> usize {
        self.writes.iter().filter(|write| is_meant(write)).count()
    }
}

impl Lane for Scripted {
    fn room(&self, uncommitted: usize) -> usize {
        (2 * self.wire).saturating_sub(self.flying.len() + uncommitted)
    }

    fn start(&mut self, flight: Flight) {
        let (after, fate) = (self.script)(&flight);
        flight.begun.tell();
        let mut told = self.told.lock().unwrap();
        told.open[self.at] += 1;
        told.most[self.at] = told.most[self.at].max(told.open[self.at]);
        told.starts.push(crate::runner::account::trial_key(&flight.call));
        self.flying.push((Box::pin(sleep(after)), flight, fate));
    }

    fn poll_landed(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Landed, RunError>>> {
        if self.flying.is_empty() {
            return Poll::Ready(None);
        }
        let is_back = |(asleep, ..): &mut (Pin<Box<Sleep>>, _, _)| asleep.as_mut().poll(context).is_ready();
        let Some(place) = self.flying.iter_mut().position(is_back) else { return Poll::Pending };
        let (_, flight, fate) = self.flying.swap_remove(place);
        Poll::Ready(Some(self.land(flight, fate)))
    }

    fn stop(&mut self, how: Shutdown) {
        self.told.lock().unwrap().stops.push(how);
        self.queue.stop(StopReason::Interrupted);
        if how == Shutdown::Now && self.at < 2 {
            for (asleep, _, fate) in &mut self.flying {
                (*asleep, *fate) = (Box::pin(sleep(Duration::ZERO)), Fate::Ends(Outcome::Cancelled));
            }
        }
    }
}

impl Scripted {
    fn land(&mut self, flight: Flight, fate: Fate) -> Result<Landed, RunError> {
        let Flight { call, reservation, .. } = flight;
        let landing = match fate {
            Fate::Panics => return Err(RunError::Task("a panic".to_owned())),
            Fate::Found => Landing::Earlier(Box::new(reusable("yes, then"))),
            Fate::NotFound => Landing::NotFound,
            Fate::Refused => {
                let failure = Failure::new(ErrorClass::StopQueue, FailureKind::Authentication, "no");
                let provider = ProviderName::from("p");
                self.queue.stop(StopReason::QueueRefused { provider, failure: failure.clone() });
                Landing::Settled(Settlement::Returned { attempts: vec![attempt(1, Some(failure))] })
            }
            Fate::Repeats => {
                let billed = attempt(call.first_attempt, Some(failure(true)));
                let may_repeat = reservation.as_ref().unwrap().allows_repeat(&billed);
                let answered = attempt(call.first_attempt + 1, None);
                Landing::Settled(match may_repeat {
                    true => ended(Outcome::Answered, vec![billed, answered]),
                    false => {
                        let retries = call.walk.retries + 1;
                        let walk = crate::domain::Walk { retries, ..call.walk };
                        Settlement::Postponed { attempts: vec![billed], walk }
                    }
                })
            }
            Fate::Ends(outcome) => {
                let failure = match outcome {
                    Outcome::Failed => Some(failure(false)),
                    Outcome::Cancelled => Some(failure(true)),
                    _ => None,
                };
                Landing::Settled(ended(outcome, vec![attempt(call.first_attempt, failure)]))
            }
        };
        let stays_open = match &landing {
            Landing::Settled(Settlement::Ended(settled)) => settled.outcome != Outcome::Cancelled,
            Landing::Settled(_) | Landing::Earlier(_) | Landing::NotFound => false,
        };
        if !stays_open {
            self.told.lock().unwrap().open[self.at] -= 1;
        }
        Ok(Landed { call, reservation, landing })
    }
}

fn failure(may_be_billed: bool) -> Failure {
    Failure { may_be_billed, ..Failure::new(ErrorClass::Retry, FailureKind::Timeout, "late") }
}

fn attempt(number: u32, failure: Option<Failure>) -> Attempt {
    let usage = failure.is_none().then(|| Usage { input_uncached: 50, output: 50, ..Usage::default() });
    Attempt {
        number,
        started_at: UnixMillis(1),
        duration_ms: 1.0,
        backoff_ms: 0.0,
        end: failure.map_or(AttemptEnd::Answered, AttemptEnd::Failed),
        status: None,
        request_id: None,
        metered: usage.map_or(Metered::default(), Metered::from),
        cost: None,
        price: None,
        tariff: Tariff::Standard,
        stderr: None,
    }
}

fn ended(outcome: Outcome, attempts: Vec<Attempt>) -> Settlement {
    let has_answer = !matches!(outcome, Outcome::Failed | Outcome::Cancelled);
    let reply = has_answer.then(|| Reply { outcome, ..Reply::answered("yes") });
    Settlement::Ended(Box::new(Settled {
        outcome,
        failure: (outcome == Outcome::Failed).then(|| failure(false)),
        reply,
        attempts,
        latency_ms: None,
        first_token_ms: None,
        queue_wait_ms: 0.0,
        backoff_wait_ms: 0.0,
        started_at: UnixMillis(1),
        finished_at: UnixMillis(2),
    }))
}

/// A run before scripted lanes.
struct Stage {
    told: Arc<Mutex<Told>>,
    events: mpsc::UnboundedReceiver<RunEvent>,
    ledger: Ledger,
    coordinator: Coordinator<'static>,
    shutdown: (watch::Sender<Shutdown>, watch::Receiver<Shutdown>),
}

impl Stage {
    /// Lanes of at most `wire` on the wire each, one an account and one of earlier answers, and a writer
    /// that commits `commits_after` so long.
    fn set(
        plan: TrialPlan,
        limit: Option<Cost>,
        wire: usize,
        script: impl FnMut(usize, &Flight) -> (Duration, Fate) + Clone + Send + 'static,
        commits_after: impl FnMut() -> Duration + Send + 'static,
    ) -> Self {
        let (writes, written) = mpsc::channel(16);
        let (commit, committed) = mpsc::unbounded_channel();
        let (events, told_events) = mpsc::unbounded_channel();
        let told = Arc::new(Mutex::new(Told::default()));
        tokio::spawn(write_all(written, commit, commits_after, Arc::clone(&told)));
        let unasked = |_: &_| (Duration::ZERO, Ok(Reply::answered("never asked")));
        let queues = [queue(4, unasked), queue(4, unasked)];
        let lanes = (0..3).map(|at| {
            let mut script = script.clone();
            Box::new(Scripted {
                wire: if at == 2 { 100 } else { wire },
                queue: Arc::clone(&queues[at % 2]),
                script: Box::new(move |flight| match script(at, flight) {
                    (after, Fate::Found) if at == 2 => (after, Fate::Found),
                    (after, _) if at == 2 => (after, Fate::NotFound),
                    other => other,
                }),
                flying: vec![],
                told: Arc::clone(&told),
                at,
            }) as Box<dyn Lane>
        });
        let lanes = lanes.collect();
        let positions = [vec![TargetPos(0), TargetPos(1)], vec![TargetPos(2)]];
        let ledger = Ledger::new(limit, Cost::ZERO);
        let coordinator = Coordinator::new(Work {
            run: RunRow(1),
            experiment: &EXPERIMENT_OF_TESTS,
            plan,
            accounts: queues.iter().map(|queue| Account::new("p".into(), Arc::clone(queue))).collect(),
            lanes,
            sources: positions.map(|own| Source::Plan(crate::runner::source::Cursor::new(own))).into(),
            prices: EXPERIMENT_OF_TESTS.targets.iter().map(|target| target.prices.clone()).collect(),
            ledger: ledger.clone(),
            early_stop: None,
            writes,
            committed,
            events,
            progress: Progress::new(0),
        });
        Self { told, events: told_events, ledger, coordinator, shutdown: watch::channel(Shutdown::No) }
    }

    /// The same, and what is on its way to the writer is written.
    async fn work_and_write(&mut self) -> Result<(), RunError> {
        let result = self.work().await;
        sleep(Duration::from_secs(1)).await;
        result
    }

    /// Works to the end, which must come.
    async fn work(&mut self) -> Result<(), RunError> {
        let work = self.coordinator.work(self.shutdown.1.clone());
        let mut work = std::pin::pin!(work);
        for round in 0..2_000 {
            // Where all sleep, the clock jumps; graders have threads of their own and need a moment.
            if let Ok(result) = timeout(Duration::from_secs(1_000_000), &mut work).await {
                return result;
            }
            std::thread::sleep(Duration::from_micros(100 * round.min(100)));
        }
        panic!("the run hangs: {:?}", self.told.lock().unwrap());
    }
}

/// The other end of the writer's channel.
async fn write_all(
    mut written: mpsc::Receiver<Write>,
    commit: mpsc::UnboundedSender<Vec<TrialKey>>,
    mut after: impl FnMut() -> Duration,
    told: Arc<Mutex<Told>>,
) {
    let mut taken = vec![];
    while written.recv_many(&mut taken, 8).await > 0 {
        sleep(after()).await;
        let mut keys = vec![];
        let mut told = told.lock().unwrap();
        for write in taken.drain(..) {
            if let Write::Trial(record, attempts) = &write {
                let is_asked = record.source == crate::domain::AnswerSource::Live;
                if is_asked && record.outcome != Outcome::Cancelled {
                    let open = &mut told.open[usize::from(record.key.target == TargetPos(2))];
                    // A lane that is not scripted has not counted it.
                    *open = open.saturating_sub(1);
                }
                keys.push(record.key);
                let of =
                    |attempt: &Attempt| Write::Attempt { key: record.key, attempt: attempt.clone().into() };
                let attempts: Vec<Write> = attempts.iter().map(of).collect();
                told.writes.extend(attempts);
            }
            told.writes.push(write);
        }
        let _ = commit.send(keys);
    }
}

fn cost(text: &str) -> Cost {
    text.parse().unwrap()
}

fn at_once() -> Duration {
    Duration::ZERO
}

fn after_a_second(_: usize, _: &Flight) -> (Duration, Fate) {
    (Duration::from_secs(1), Fate::Ends(Outcome::Answered))
}

fn plan() -> TrialPlan {
    TrialPlan::new(3, vec![1; 6])
}

/// So many trials of one target.
fn plan_of(target: u32, cases: usize) -> TrialPlan {
    let mut plan = TrialPlan::new(3, vec![1; cases]);
    for other in (0..3).filter(|other| *other != target) {
        (0..cases).for_each(|case| plan.mark_done(TargetPos(other), CasePos::at(case), Repeat(1)));
    }
    plan
}

#[tokio::test(start_paused = true)]
async fn every_trial_is_asked_stored_and_graded() {
    let mut stage = Stage::set(plan(), None, 2, after_a_second, at_once);
    stage.work_and_write().await.unwrap();
    let summary = stage.coordinator.finish();
    assert_eq!((summary.status, summary.ended, summary.pending), (RunStatus::Complete, 18, 0));
    let told = stage.told.lock().unwrap();
    assert_eq!(told.trials().count(), 18);
    assert_eq!(told.count(|write| matches!(write, Write::Attempt { .. })), 18);
    assert_eq!(told.count(|write| matches!(write, Write::Scores { verdict: Verdict::Pass, .. })), 18);
    // Only `b` may use answers again; with nothing found each of its trials is noted as asked.
    assert_eq!(told.count(|write| matches!(write, Write::Asked { reused: None, .. })), 6);
    assert!(told.most[0] <= 4 && told.most[1] <= 4, "{:?}", told.most);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_answer_costs_nothing_and_starts_nothing() {
    let script = |at: usize, flight: &Flight| match at {
        2 if flight.call.hash.is_some_and(|hash| hash[0] % 2 == 0) => (Duration::ZERO, Fate::Found),
        2 => (Duration::ZERO, Fate::NotFound),
        _ => after_a_second(at, flight),
    };
    let mut stage = Stage::set(plan(), None, 2, script, at_once);
    stage.work_and_write().await.unwrap();
    let told = stage.told.lock().unwrap();
    let found = told.count(|write| matches!(write, Write::Asked { reused: Some(_), .. }));
    let asked = told.count(|write| matches!(write, Write::Asked { reused: None, .. }));
    assert_eq!((found + asked, told.trials().count()), (6, 18));
    // Six looks, and a call for each trial that was not found.
    assert_eq!(told.starts.len(), 6 + 18 - found);
    drop(told);
    let mut under_way = 0_i32;
    while let Ok(event) = stage.events.try_recv() {
        under_way += match event {
            RunEvent::Queued { .. } => 1,
            RunEvent::Ended { .. } | RunEvent::Returned { .. } => -1,
            _ => 0,
        };
    }
    assert_eq!(under_way, 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_budget_cannot_admit_stays_to_be_done() {
    let limit = cost("0.0010");
    let mut stage = Stage::set(plan(), Some(limit), 8, after_a_second, at_once);
    stage.work_and_write().await.unwrap();
    let (spent, reserved) = (stage.ledger.spent(), stage.ledger.reserved());
    let summary = stage.coordinator.finish();
    assert_eq!(summary.status, RunStatus::Budget);
    assert_eq!(summary.stops, [StopReason::Budget { spent, limit }]);
    // Each costs half of its worst case: the ninth could pass the limit.
    assert_eq!((spent, summary.ended, summary.pending), (cost("0.0009"), 9, 9));
    assert_eq!(reserved, Cost::ZERO, "nothing stays reserved");
}

/// The first of them was never answered, and the budget cannot admit it.
#[tokio::test(start_paused = true)]
async fn earlier_answers_are_used_though_nothing_more_may_be_asked() {
    let refused = || StopReason::Breaker { provider: "p".into(), failures: 50, failure: failure(false) };
    for (limit, stopped) in [(Some(Cost::ZERO), None), (None, Some(refused()))] {
        let mut looked_for = 0;
        let script = move |at: usize, flight: &Flight| {
            looked_for += usize::from(at == 2);
            let fate = if looked_for == 1 { Fate::NotFound } else { Fate::Found };
            if at == 2 { (Duration::from_secs(looked_for as u64), fate) } else { after_a_second(at, flight) }
        };
        let mut stage = Stage::set(plan_of(1, 6), limit, 1, script, at_once);
        if let Some(reason) = stopped.clone() {
            stage.coordinator.work.accounts[0].queue.stop(reason);
        }
        stage.work_and_write().await.unwrap();
        let summary = stage.coordinator.finish();
        let status = if limit.is_some() { RunStatus::Budget } else { RunStatus::Refused };
        assert_eq!((summary.status, summary.ended, summary.pending), (status, 5, 1));
        assert_eq!(summary.stops.len(), 1);
    }
}

/// Answers take a minute, and one is on the wire when the user raises the ceiling.
#[tokio::test(start_paused = true)]
async fn a_raised_ceiling_is_used_before_anything_lands() {
    let began = tokio::time::Instant::now();
    let sent = Arc::new(Mutex::new(vec![]));
    let noted = Arc::clone(&sent);
    let slow = queue(1, move |_| {
        noted.lock().unwrap().push(began.elapsed().as_secs());
        (Duration::from_secs(60), Ok(Reply::answered("yes")))
    });
    let mut stage = Stage::set(plan_of(0, 6), None, 2, after_a_second, at_once);
    stage.coordinator.work.lanes[0] = Box::new(Live::new(Arc::clone(&slow)));
    stage.coordinator.work.accounts[0] = Account::new("p".into(), Arc::clone(&slow));
    tokio::spawn(async move {
        sleep(Duration::from_secs(10)).await;
        slow.set_limits(&LiveLimits { max_in_flight: Some(6), ..LiveLimits::default() });
    });
    stage.work_and_write().await.unwrap();
    assert_eq!(*sent.lock().unwrap(), [0, 10, 10, 10, 10, 10]);
}

#[tokio::test(start_paused = true)]
async fn a_trial_without_room_for_its_repetition_is_asked_again_and_its_attempts_count_on() {
    // Two accounts begin at once; each first attempt may be billed, and only one of them has room left.
    let mut repeated = false;
    let script = move |_: usize, _: &Flight| {
        let first = !std::mem::replace(&mut repeated, true);
        let fate = if first { Fate::Repeats } else { Fate::Ends(Outcome::Answered) };
        (Duration::from_secs(if first { 1 } else { 2 }), fate)
    };
    let limit = cost("0.0005");
    let mut stage = Stage::set(plan_of(0, 2), Some(limit), 2, script, at_once);
    stage.work_and_write().await.unwrap();
    let told = stage.told.lock().unwrap();
    let numbers: Vec<u32> = told
        .writes
        .iter()
        .filter_map(|write| match write {
            Write::Attempt { key, attempt } if key.case == CasePos(0) => Some(attempt.number),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(told.trials().count(), 2);
    drop(told);
    assert!(stage.ledger.spent() <= limit);
}

/// Without a budget a trial has nine attempts and waits before each: a budget that has no room for the
/// worst of the next one gives it no more of them, and none sooner.
#[tokio::test(start_paused = true)]
async fn a_tight_budget_takes_no_limit_off_retries() {
    for tokens in [0, 5] {
        let mut requests = vec![];
        for limit in [None, Some(cost("0.0003"))] {
            let sent = Arc::new(Mutex::new(vec![]));
            let asked = Arc::clone(&sent);
            let empty = queue(4, move |_| {
                let mut asked = asked.lock().unwrap();
                asked.push(tokio::time::Instant::now());
                assert!(asked.len() < 100, "there is no end to it");
                let usage = Usage { input_uncached: tokens, ..Usage::default() };
                let failure = Failure::new(ErrorClass::Retry, FailureKind::Server, "no choices");
                (Duration::ZERO, Err(Rejection { metered: usage.into(), ..Rejection::from(failure) }))
            });
            let mut stage = Stage::set(plan_of(0, 1), limit, 2, after_a_second, at_once);
            stage.coordinator.work.lanes[0] = Box::new(Live::new(Arc::clone(&empty)));
            stage.coordinator.work.accounts[0] = Account::new("p".into(), empty);
            stage.work_and_write().await.unwrap();
            let summary = stage.coordinator.finish();
            assert_eq!((summary.failed, summary.pending), (1, 0), "{:?}", summary.stops);
            let sent = sent.lock().unwrap();
            assert!(sent[8] - sent[0] > Duration::from_secs(10), "{sent:?}");
            requests.push(sent.len());
        }
        assert_eq!(requests, [9, 9]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_account_stops_alone_and_is_told_once() {
    let script = |at: usize, flight: &Flight| match at {
        0 => (Duration::from_millis(1), Fate::Refused),
        _ => after_a_second(at, flight),
    };
    let mut stage = Stage::set(plan(), None, 2, script, at_once);
    stage.work_and_write().await.unwrap();
    let summary = stage.coordinator.finish();
    assert_eq!((summary.status, summary.ended, summary.pending), (RunStatus::Refused, 6, 12));
    assert_eq!(summary.stops.len(), 1);
    let mut told = vec![];
    while let Ok(event) = stage.events.try_recv() {
        told.extend(matches!(event, RunEvent::Stopped(_)).then_some(event));
    }
    assert_eq!(told, [RunEvent::Stopped(summary.stops[0].clone())], "whatever comes back later");
}

#[tokio::test(start_paused = true)]
async fn one_leads_while_those_with_the_same_prefix_are_held() {
    // Target `c` alone; its answers begin as soon as they are sent, so that all others follow the first.
    let mut stage = Stage::set(plan_of(2, 6), None, 8, after_a_second, at_once);
    stage.coordinator.start_calls();
    assert_eq!(stage.told.lock().unwrap().starts.len(), 1);
    stage.work_and_write().await.unwrap();
    assert_eq!(stage.coordinator.finish().ended, 6);
}

#[tokio::test(start_paused = true)]
async fn the_word_to_stop_is_told_to_every_lane_and_what_flies_is_finished_or_cancelled() {
    for (wishes, ended) in [(vec![Shutdown::Drain], 4), (vec![Shutdown::Drain, Shutdown::Now], 0)] {
        let script = |_: usize, _: &Flight| (Duration::from_secs(60), Fate::Ends(Outcome::Filtered));
        let mut stage = Stage::set(plan_of(0, 6), None, 2, script, at_once);
        let tell = stage.shutdown.0.clone();
        let wished = wishes.clone();
        tokio::spawn(async move {
            for wish in wished {
                sleep(Duration::from_secs(1)).await;
                let _ = tell.send(wish);
            }
        });
        stage.work_and_write().await.unwrap();
        let summary = stage.coordinator.finish();
        assert_eq!(
            (summary.status, summary.ended, summary.pending),
            (RunStatus::Interrupted, ended, 6 - ended)
        );
        let told = stage.told.lock().unwrap();
        let thrice: Vec<Shutdown> = wishes.iter().flat_map(|&wish| [wish; 3]).collect();
        assert_eq!(told.stops, thrice);
        let may_be_billed = |write: &Write| match write {
            Write::Attempt { attempt, .. } => attempt.cost.is_none() && attempt.end != AttemptEnd::Answered,
            _ => false,
        };
        assert_eq!(told.count(may_be_billed), if ended == 0 { 4 } else { 0 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_run_and_what_landed_before_is_stored() {
    let mut nth = 0;
    let script = move |_: usize, _: &Flight| {
        nth += 1;
        (Duration::from_secs(nth), if nth == 3 { Fate::Panics } else { Fate::Ends(Outcome::Answered) })
    };
    let mut stage = Stage::set(plan_of(0, 6), None, 8, script, at_once);
    assert!(matches!(stage.work_and_write().await, Err(RunError::Task(_))));
    let told = stage.told.lock().unwrap();
    assert_eq!(told.trials().count(), 2, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_gone_ends_the_run() {
    let mut stage = Stage::set(plan(), None, 2, after_a_second, at_once);
    let (writes, gone) = mpsc::channel(1);
    drop(gone);
    stage.coordinator.work.writes = writes;
    assert!(matches!(stage.work().await, Err(RunError::Store(StoreError::WriterGone))));
}

#[tokio::test(start_paused = true)]
async fn stored_answers_are_graded_and_nothing_is_asked() {
    let mut stage = Stage::set(TrialPlan::new(0, vec![]), None, 2, after_a_second, at_once);
    let (answers, stored) = mpsc::channel(2);
    stage.coordinator.work.sources = vec![Source::Stored(stored)];
    stage.coordinator.work.accounts.clear();
    tokio::spawn(async move {
        for case in 0..5 {
            sleep(Duration::from_millis(1)).await;
            let answer = if case < 3 { "yes" } else { "no" }.to_owned();
            let key =
                TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(case), repeat: Repeat(1) };
            answers.send(StoredAnswer { key, answer, retrieved: None }).await.unwrap();
        }
    });
    stage.work_and_write().await.unwrap();
    let told = stage.told.lock().unwrap();
    let of = |meant| told.count(|write| matches!(write, Write::Scores { verdict, .. } if *verdict == meant));
    assert_eq!((of(Verdict::Pass), of(Verdict::Fail), told.starts.len()), (3, 2, 0));
}
