//! The whole queue against a scripted transport, on a paused clock.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
};

use crate::domain::{
    Case, Examples, Fingerprint, Input, LimitDimension, LimitReading, Parameters, PassIf, Prompt, Usage,
};

use super::super::{Limits, RetryPolicy};
use super::*;

/// Plays an answer for each request: how long it takes and what it is.
type Script = dyn Fn(Sent) -> (Duration, Result<Reply, Rejection>) + Send + Sync;

/// A request as the transport saw it.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Which request of all it is, from 0.
    nth: usize,
    /// Which request of its case it is, from 0.
    nth_of_case: usize,
    target: u32,
    case: u32,
    /// When, in milliseconds since the stage was set.
    at_ms: u64,
}

struct Scripted {
    origin: Instant,
    script: Box<Script>,
    sent: Mutex<Vec<Sent>>,
}

impl Transport for Scripted {
    async fn send<'a>(&'a self, request: &'a Request) -> Result<Reply, Rejection> {
        let (took, answer) = {
            let mut log = self.sent.lock().unwrap();
            let target = request.target.as_str().parse().unwrap();
            let case = request.case.id.as_str().parse().unwrap();
            let same = |sent: &&Sent| (sent.target, sent.case) == (target, case);
            let nth_of_case = log.iter().filter(same).count();
            let at_ms = u64::try_from(self.origin.elapsed().as_millis()).unwrap();
            let sent = Sent { nth: log.len(), nth_of_case, target, case, at_ms };
            log.push(sent);
            (self.script)(sent)
        };
        sleep(took).await;
        answer
    }
}

/// A queue, its scripted provider and what it told.
struct Stage {
    queue: Arc<ProviderQueue<Scripted>>,
    events: UnboundedReceiver<RunEvent>,
}

impl Stage {
    fn set(
        settings: QueueSettings,
        script: impl Fn(Sent) -> (Duration, Result<Reply, Rejection>) + Send + Sync + 'static,
    ) -> Self {
        assert_eq!(settings.faults(), Vec::<String>::new());
        let (sender, events) = unbounded_channel();
        let transport =
            Scripted { origin: Instant::now(), script: Box::new(script), sent: Mutex::new(vec![]) };
        Self { queue: Arc::new(ProviderQueue::new("account".into(), transport, settings, 1, sender)), events }
    }

    fn hand_over(&self, target: u32, case: u32, demand: TokenDemand) -> JoinHandle<Settlement> {
        let queue = self.queue.clone();
        tokio::spawn(async move {
            let key = TrialKey { run: 1, target, case, repeat: 1 };
            queue.settle(key, 1, &request(target, case), demand).await
        })
    }

    /// Hands over `cases` at once and waits for the end of all.
    async fn run(&self, cases: u32, demand: TokenDemand) -> Vec<Settlement> {
        let handles: Vec<_> = (0..cases).map(|case| self.hand_over(0, case, demand)).collect();
        let mut settlements = vec![];
        for handle in handles {
            settlements.push(handle.await.unwrap());
        }
        settlements
    }

    async fn run_one(&self) -> Settled {
        ended(self.run(1, TokenDemand::default()).await.remove(0))
    }

    fn sent(&self) -> Vec<Sent> {
        self.queue.transport().sent.lock().unwrap().clone()
    }

    fn start_times_ms(&self) -> Vec<u64> {
        self.sent().iter().map(|sent| sent.at_ms).collect()
    }

    fn events(&mut self) -> Vec<RunEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    fn stops(&mut self) -> Vec<StopReason> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                RunEvent::Stopped(reason) => Some(reason),
                _ => None,
            })
            .collect()
    }
}

fn request(target: u32, case: u32) -> Request {
    let case = Case {
        id: case.to_string().into(),
        split: None,
        added: None,
        owner: None,
        source: None,
        segment: BTreeMap::new(),
        cluster: None,
        weight: 1.0,
        input: Input::Text("?".into()),
        context: Value::Null,
        expected: Value::Null,
        graders: vec![],
        repeats: None,
        pass_if: PassIf::default(),
        examples: Examples::default(),
        meta: Value::Null,
        fingerprint: Fingerprint::of(b""),
    };
    Request {
        target: target.to_string().into(),
        model: "model".into(),
        prompt: Prompt::default(),
        parameters: Arc::new(Parameters::default()),
        seed: 1,
        case: Arc::new(case),
        repeat: 1,
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn settings() -> QueueSettings {
    QueueSettings::default()
}

fn in_flight(max_in_flight: u32) -> QueueSettings {
    QueueSettings { limits: Limits { max_in_flight, ..Limits::default() }, ..settings() }
}

fn retries(max_retries: u32, settings: QueueSettings) -> QueueSettings {
    QueueSettings { retry: RetryPolicy { max_retries, ..settings.retry }, ..settings }
}

fn yes() -> Result<Reply, Rejection> {
    Ok(Reply::answered("yes"))
}

fn no(
    class: ErrorClass,
    kind: FailureKind,
    status: u16,
    retry_after: Option<Duration>,
) -> Result<Reply, Rejection> {
    let failure = Failure { status: Some(status), retry_after, ..Failure::new(class, kind, "no") };
    Err(Rejection {
        failure,
        request_id: Some("req-1".into()),
        metered: Metered::default(),
        limits: LimitReport::default(),
    })
}

fn too_many(retry_after: Option<Duration>) -> Result<Reply, Rejection> {
    no(ErrorClass::RetrySlow, FailureKind::RateLimit, 429, retry_after)
}

fn unavailable() -> Result<Reply, Rejection> {
    no(ErrorClass::Retry, FailureKind::Server, 503, None)
}

fn unauthorized() -> Result<Reply, Rejection> {
    no(ErrorClass::StopQueue, FailureKind::Authentication, 401, None)
}

#[track_caller]
fn ended(settlement: Settlement) -> Settled {
    match settlement {
        Settlement::Ended(settled) => *settled,
        Settlement::Returned { attempts } => panic!("returned with {attempts:?}"),
    }
}

fn returned(settlements: &[Settlement]) -> usize {
    settlements.iter().filter(|settlement| matches!(settlement, Settlement::Returned { .. })).count()
}

fn answered(settlements: &[Settlement]) -> usize {
    settlements
        .iter()
        .filter(|settlement| {
            matches!(settlement, Settlement::Ended(settled) if settled.outcome == Outcome::Answered)
        })
        .count()
}

/// The most starts in any window of a minute.
fn most_in_a_minute(starts_ms: &[u64]) -> usize {
    let within = |from: u64| starts_ms.iter().filter(|at| (from..from + 60_000).contains(at)).count();
    starts_ms.iter().map(|from| within(*from)).max().unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_costs_one_request_a_place_and_loses_no_case() {
    let mut stage =
        Stage::set(in_flight(8), |_| (ms(50), no(ErrorClass::StopQueue, FailureKind::Quota, 429, None)));
    let begin = Instant::now();
    let settlements = stage.run(100, TokenDemand::default()).await;
    assert_eq!(returned(&settlements), 100);
    assert_eq!(stage.sent().len(), 8);
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(matches!(stage.stops().as_slice(), [StopReason::QueueRefused { .. }]));
    assert!(matches!(stage.queue.status().stopped, Some(StopReason::QueueRefused { .. })));
    assert_eq!(stage.queue.status().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_reaches_the_provider_at_most_once_a_place() {
    // Answers at different times: no place may be taken again after the first of them.
    let stage = Stage::set(settings(), |sent| (ms(10 + 7 * sent.nth as u64), unauthorized()));
    let settlements = stage.run(5_000, TokenDemand::default()).await;
    assert_eq!((returned(&settlements), stage.sent().len()), (5_000, 32));
}

#[tokio::test(start_paused = true)]
async fn without_retries_each_case_is_asked_once() {
    let stage = Stage::set(retries(0, in_flight(8)), |_| (ms(50), too_many(None)));
    let settlements = stage.run(100, TokenDemand::default()).await;
    assert_eq!(stage.sent().len(), 100);
    for settlement in settlements {
        let settled = ended(settlement);
        assert_eq!((settled.outcome, settled.attempts.len()), (Outcome::Failed, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_answers_is_a_failed_attempt() {
    let settings = retries(2, QueueSettings { attempt_timeout_s: 1.0, ..settings() });
    let stage = Stage::set(settings, |_| (Duration::from_secs(10), yes()));
    let begin = Instant::now();
    let settled = stage.run_one().await;
    let took_ms = millis(begin.elapsed());
    assert_eq!(stage.sent().len(), 3);
    let failure = settled.failure.unwrap();
    assert_eq!((failure.kind, failure.may_be_billed), (FailureKind::Timeout, true));
    assert_eq!(settled.outcome, Outcome::Failed);
    assert!((took_ms - 3_000.0 - settled.backoff_wait_ms).abs() < 5.0, "{took_ms}");
    assert!(settled.backoff_wait_ms < 1_500.0);
}

#[tokio::test(start_paused = true)]
async fn a_passing_refusal_is_survived_alike_at_any_concurrency() {
    for max_in_flight in [1, 32] {
        let stage = Stage::set(in_flight(max_in_flight), |sent| {
            (ms(50), if sent.nth == 0 { too_many(None) } else { yes() })
        });
        let settled = stage.run_one().await;
        assert_eq!((settled.outcome, settled.attempts.len()), (Outcome::Answered, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn there_is_one_retry_layer() {
    let stage = Stage::set(retries(3, settings()), |_| (ms(50), unavailable()));
    let settled = stage.run_one().await;
    assert_eq!(stage.sent().len(), 4);
    assert_eq!(settled.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(settled.failure.unwrap().status, Some(503));
}

#[tokio::test(start_paused = true)]
async fn trials_wait_for_input_tokens_and_none_fails() {
    let limits = Limits { input_tokens_per_minute: Some(10_000), ..Limits::default() };
    let stage = Stage::set(QueueSettings { limits, ..settings() }, |_| (ms(100), yes()));
    let settlements = stage.run(50, TokenDemand { input: 1_000, output: 0 }).await;
    assert_eq!(answered(&settlements), 50);
    let starts = stage.start_times_ms();
    assert!((240_000..=300_000).contains(&starts[49]), "{}", starts[49]);
    assert!(most_in_a_minute(&starts) <= 11);
}

/// A provider that reserves `max_tokens` when a request starts and gives back what was not used.
struct Reserving {
    per_minute: f64,
    level: f64,
    at: Instant,
}

impl Reserving {
    fn refill(&mut self) {
        let now = Instant::now();
        self.level =
            (self.level + (now - self.at).as_secs_f64() * self.per_minute / 60.0).min(self.per_minute);
        self.at = now;
    }
}

impl Transport for Mutex<Reserving> {
    async fn send<'a>(&'a self, _: &'a Request) -> Result<Reply, Rejection> {
        {
            let mut bucket = self.lock().unwrap();
            bucket.refill();
            if bucket.level < 400.0 - 1e-6 {
                return too_many(None);
            }
            bucket.level -= 400.0;
        }
        sleep(Duration::from_secs(2)).await;
        let mut bucket = self.lock().unwrap();
        bucket.refill();
        bucket.level += 350.0;
        let metered = Usage { output: 50, ..Usage::default() }.into();
        Ok(Reply { metered, ..Reply::answered("yes") })
    }
}

#[tokio::test(start_paused = true)]
async fn reserved_output_never_provokes_a_refusal_and_comes_back() {
    for burst_s in [1.0, 60.0] {
        let limits = Limits {
            output_tokens_per_minute: Some(1_000),
            output_reserved: true,
            burst_s,
            ..Limits::default()
        };
        let (sender, mut events) = unbounded_channel();
        let server = Mutex::new(Reserving { per_minute: 1_000.0, level: 1_000.0, at: Instant::now() });
        let settings = QueueSettings { limits, ..settings() };
        let queue = Arc::new(ProviderQueue::new("account".into(), server, settings, 1, sender));
        let begin = Instant::now();
        let trials = (0..10).map(|case| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let key = TrialKey { run: 1, target: 0, case, repeat: 1 };
                let settlement =
                    queue.settle(key, 1, &request(0, case), TokenDemand { input: 0, output: 400 }).await;
                (begin.elapsed(), ended(settlement))
            })
        });
        let mut ends_ms = vec![];
        for trial in trials.collect::<Vec<_>>() {
            let (at, settled) = trial.await.unwrap();
            assert_eq!((settled.outcome, settled.attempts.len()), (Outcome::Answered, 1));
            ends_ms.push(at.as_millis());
        }
        assert!(events.try_recv().is_err(), "nothing was refused");
        if burst_s == 60.0 {
            // Two start at once, the third when the 350 of the first have come back.
            assert_eq!(ends_ms[..3], [2_000, 2_000, 4_000]);
        }
        assert!(ends_ms[9] < 40_000, "without giving back it would take minutes: {ends_ms:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_a_minute_are_kept_and_used() {
    let limits = Limits { requests_per_minute: Some(60), ..Limits::default() };
    let mut stage = Stage::set(QueueSettings { limits, ..settings() }, |_| (Duration::ZERO, yes()));
    let begin = Instant::now();
    let settlements = stage.run(120, TokenDemand::default()).await;
    assert_eq!(answered(&settlements), 120);
    assert!(most_in_a_minute(&stage.start_times_ms()) <= 61);
    let took_s = begin.elapsed().as_secs_f64();
    assert!((60.0..=120.0).contains(&took_s), "{took_s}");
    assert_eq!(stage.events(), []);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_trial_ends_once_with_its_attempts_beneath() {
    let stage =
        Stage::set(settings(), |sent| (ms(50), if sent.nth_of_case == 0 { too_many(None) } else { yes() }));
    let settlements = stage.run(4, TokenDemand::default()).await;
    for settlement in settlements {
        let settled = ended(settlement);
        assert_eq!(settled.outcome, Outcome::Answered);
        let [first, second] = settled.attempts.as_slice() else { panic!("{:?}", settled.attempts) };
        assert_eq!((first.number, first.status, first.request_id.as_deref()), (1, Some(429), Some("req-1")));
        assert_eq!((second.number, &second.end), (2, &AttemptEnd::Answered));
    }
    let key = TrialKey { run: 1, target: 0, case: 0, repeat: 1 };
    let settled = ended(stage.queue.settle(key, 3, &request(0, 0), TokenDemand::default()).await);
    assert_eq!(settled.attempts[0].number, 3);
}

#[tokio::test(start_paused = true)]
async fn latency_is_the_answered_attempts_own() {
    let stage = Stage::set(in_flight(1), |sent| match sent.nth {
        0 => (ms(3_000), yes()),
        1 => (ms(200), too_many(Some(ms(5_000)))),
        _ => (ms(1_200), yes()),
    });
    let settled = ended(stage.run(2, TokenDemand::default()).await.remove(1));
    assert_eq!(settled.latency_ms, Some(1_200.0));
    assert_eq!(settled.attempts.len(), 2);
    assert_eq!(settled.backoff_wait_ms, 5_000.0);
    assert_eq!(settled.queue_wait_ms, 3_000.0);
    assert_eq!((settled.attempts[0].duration_ms, settled.attempts[1].backoff_ms), (200.0, 5_000.0));
}

#[tokio::test(start_paused = true)]
async fn the_providers_own_latency_wins() {
    let own = Reply { own_latency_ms: Some(70.0), first_token_ms: Some(20.0), ..Reply::answered("yes") };
    let stage = Stage::set(settings(), move |_| (ms(1), Ok(own.clone())));
    let settled = stage.run_one().await;
    assert_eq!((settled.latency_ms, settled.first_token_ms), (Some(70.0), Some(20.0)));
    assert_eq!(settled.attempts[0].duration_ms, 1.0);
}

#[tokio::test(start_paused = true)]
async fn one_refusal_pauses_all_and_they_come_back_a_few_at_a_time() {
    let mut stage = Stage::set(in_flight(64), |sent| {
        (ms(100), if sent.nth == 40 { too_many(Some(ms(5_000))) } else { yes() })
    });
    let settlements = stage.run(1_000, TokenDemand::default()).await;
    assert_eq!(answered(&settlements), 1_000);
    let starts = stage.start_times_ms();
    // The 41st request went out at 100 ms and was refused at 200 ms.
    let after: Vec<u64> = starts.iter().copied().filter(|at| *at > 200).collect();
    assert_eq!(after[0], 5_200);
    assert!(starts.iter().filter(|at| **at == 200).count() < 64);
    for millisecond in 5_200..5_300 {
        let at_once = after.iter().filter(|at| **at == millisecond).count();
        assert!(at_once <= 5, "{at_once} at {millisecond} ms");
    }
    let pauses = stage.events().into_iter().filter(|event| matches!(event, RunEvent::Paused { .. }));
    assert_eq!(
        pauses.collect::<Vec<_>>(),
        [RunEvent::Paused { provider: "account".into(), wait: ms(5_000) }]
    );
}

#[tokio::test(start_paused = true)]
async fn one_burst_of_refusals_halves_the_concurrency_once() {
    let stage =
        Stage::set(in_flight(64), |sent| (ms(100), if sent.nth < 32 { too_many(None) } else { yes() }));
    let settlements = stage.run(100, TokenDemand::default()).await;
    assert_eq!(answered(&settlements), 100);
    let limits: Vec<u32> = stage.queue.concurrency_history().iter().map(|step| step.limit).collect();
    assert_eq!(limits[..3], [32, 16, 17]);
    assert_eq!(stage.queue.status().concurrency_limit, *limits.last().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_server_error_with_retry_after_pauses_the_queue_too() {
    let stage = Stage::set(in_flight(1), |sent| match sent.nth {
        0 => (ms(100), no(ErrorClass::Retry, FailureKind::Server, 503, Some(ms(2_000)))),
        _ => (ms(100), yes()),
    });
    stage.run(2, TokenDemand::default()).await;
    assert_eq!(stage.start_times_ms()[1], 2_100);
    assert_eq!(stage.queue.concurrency_history().len(), 1, "trouble of the server is no pressure");
}

#[tokio::test(start_paused = true)]
async fn a_server_error_without_it_delays_its_own_trial_only() {
    let stage = Stage::set(in_flight(1), |sent| (ms(100), if sent.nth == 0 { unavailable() } else { yes() }));
    stage.run(2, TokenDemand::default()).await;
    let sent = stage.sent();
    assert_eq!((sent[1].case, sent[1].at_ms), (1, 100));
    assert_eq!(sent[2].case, 0);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_over_already_means_our_own_back_off() {
    let stage = Stage::set(settings(), |sent| {
        (ms(100), if sent.nth == 0 { too_many(Some(Duration::ZERO)) } else { yes() })
    });
    let settled = stage.run_one().await;
    assert!((1.0..=501.0).contains(&settled.backoff_wait_ms), "{}", settled.backoff_wait_ms);
}

#[tokio::test(start_paused = true)]
async fn the_servers_wait_is_not_cut_to_our_own_ceiling() {
    let stage = Stage::set(settings(), |sent| {
        (ms(100), if sent.nth == 0 { too_many(Some(Duration::from_secs(300))) } else { yes() })
    });
    assert_eq!(stage.run_one().await.backoff_wait_ms, 300_000.0);
}

#[tokio::test(start_paused = true)]
async fn an_absurd_wait_is_not_slept_but_stops_the_queue() {
    let wait = Duration::from_secs(86_400);
    let mut stage = Stage::set(in_flight(8), move |_| (ms(100), too_many(Some(wait))));
    let begin = Instant::now();
    let settlements = stage.run(100, TokenDemand::default()).await;
    assert_eq!(returned(&settlements), 100);
    assert!(begin.elapsed() <= ms(101));
    assert_eq!(stage.stops(), [StopReason::WaitTooLong { provider: "account".into(), wait }]);
}

#[tokio::test(start_paused = true)]
async fn pauses_do_not_use_up_a_trials_time() {
    let settings =
        QueueSettings { retry: RetryPolicy { max_elapsed_s: 100, ..RetryPolicy::default() }, ..settings() };
    let stage = Stage::set(settings, |sent| {
        (ms(100), if sent.nth < 5 { too_many(Some(Duration::from_secs(200))) } else { yes() })
    });
    assert_eq!(stage.run_one().await.attempts.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn failures_without_a_success_open_the_breaker() {
    let mut stage = Stage::set(settings(), |_| (ms(100), unavailable()));
    let settlements = stage.run(1_000, TokenDemand::default()).await;
    assert_eq!(returned(&settlements), 1_000);
    let stops = stage.stops();
    let [StopReason::Breaker { failures, failure, .. }] = stops.as_slice() else { panic!("{stops:?}") };
    assert!(*failures >= 50);
    assert_eq!(failure.status, Some(503));
}

#[tokio::test(start_paused = true)]
async fn without_retries_the_breaker_opens_after_fifty_lost_cases() {
    let stage = Stage::set(retries(0, in_flight(8)), |_| (ms(100), unavailable()));
    let settlements = stage.run(1_000, TokenDemand::default()).await;
    assert!(stage.sent().len() < 60, "{}", stage.sent().len());
    assert_eq!(returned(&settlements), 1_000 - stage.sent().len());
}

#[tokio::test(start_paused = true)]
async fn every_case_may_fail_once() {
    let stage =
        Stage::set(settings(), |sent| (ms(100), if sent.nth_of_case == 0 { unavailable() } else { yes() }));
    let settlements = stage.run(1_000, TokenDemand::default()).await;
    assert_eq!(answered(&settlements), 1_000);
    assert_eq!(stage.sent().len(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_this_trial_ends_it_at_once() {
    let stage = Stage::set(settings(), |sent| {
        let bad = no(ErrorClass::ThisTrial, FailureKind::ContextTooLong, 400, None);
        (ms(100), if sent.case == 0 { bad } else { yes() })
    });
    let settlements = stage.run(10, TokenDemand::default()).await;
    assert_eq!((answered(&settlements), stage.sent().len()), (9, 10));
    assert_eq!(ended(settlements[0].clone()).failure.unwrap().kind, FailureKind::ContextTooLong);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_target_returns_its_trials_and_leaves_the_neighbours() {
    let mut stage = Stage::set(in_flight(4), |sent| {
        let unknown = no(ErrorClass::StopTarget, FailureKind::UnknownModel, 404, None);
        (ms(100), if sent.target == 1 { unknown } else { yes() })
    });
    let handles: Vec<_> =
        (0..100).map(|case| stage.hand_over(case % 2, case, TokenDemand::default())).collect();
    let mut settlements = vec![];
    for handle in handles {
        settlements.push(handle.await.unwrap());
    }
    assert_eq!((answered(&settlements), returned(&settlements)), (50, 50));
    assert!(stage.sent().iter().filter(|sent| sent.target == 1).count() <= 4);
    assert_eq!(stage.queue.target_stopped(1).unwrap().kind, FailureKind::UnknownModel);
    assert_eq!((stage.queue.target_stopped(0), stage.queue.stopped()), (None, None));
    assert!(matches!(stage.stops().as_slice(), [StopReason::TargetRefused { .. }]));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_wakes_all_waiters_and_lets_the_rest_finish() {
    let mut stage = Stage::set(in_flight(2), |sent| match sent.case {
        0 => (ms(100), unavailable()),
        1 => (ms(100), too_many(Some(ms(60_000)))),
        _ => (ms(1_000), yes()),
    });
    let begin = Instant::now();
    let handles: Vec<_> = (0..50).map(|case| stage.hand_over(0, case, TokenDemand::default())).collect();
    sleep(ms(150)).await;
    assert_eq!(stage.queue.status().paused_for, Some(ms(59_950)));
    stage.queue.stop(StopReason::Interrupted);
    let mut settlements = vec![];
    for handle in handles {
        settlements.push(handle.await.unwrap());
    }
    assert!(begin.elapsed() <= ms(1_101));
    assert_eq!(returned(&settlements) + answered(&settlements), 50);
    assert_eq!(answered(&settlements), stage.sent().iter().filter(|sent| sent.case > 1).count());
    assert_eq!(stage.stops(), [StopReason::Interrupted]);
    let key = TrialKey { run: 1, target: 0, case: 99, repeat: 1 };
    let late = stage.queue.settle(key, 1, &request(0, 99), TokenDemand::default()).await;
    assert_eq!(late, Settlement::Returned { attempts: vec![] });
}

#[tokio::test(start_paused = true)]
async fn what_headers_tell_is_kept_to_and_what_remains_is_not_a_share() {
    let reading = LimitReading {
        dimension: LimitDimension::Requests,
        limit: Some(600),
        remaining: Some(1),
        full_in: Some(Duration::from_secs(3_600)),
    };
    let told = Reply { limits: LimitReport { readings: vec![reading] }, ..Reply::answered("yes") };
    let stage = Stage::set(in_flight(1), move |_| (Duration::ZERO, Ok(told.clone())));
    let begin = Instant::now();
    stage.run(111, TokenDemand::default()).await;
    // One before anything is told, ten of the burst, a hundred at ten a second.
    assert!((9.99..10.05).contains(&begin.elapsed().as_secs_f64()), "{:?}", begin.elapsed());
    assert_eq!(stage.queue.learnt().requests, Some(600));
}
