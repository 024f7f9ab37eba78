//! What ends a target or the whole queue.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_costs_one_request_a_place_and_loses_no_case() {
    let mut stage =
        Stage::set(in_flight(8), |_| (ms(50), no(ErrorClass::StopQueue, FailureKind::Quota, 429, None)));
    let begin = Instant::now();
    let settlements = stage.run(100, Demand::default()).await;
    assert_eq!(returned(&settlements), 100);
    assert_eq!(stage.sent().len(), 8);
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(matches!(stage.queue.status().stopped, Some(StopReason::QueueRefused { .. })));
    assert_eq!(stage.failures(), [(1, None); 8]);
    assert_eq!(stage.queue.status().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_key_reaches_the_provider_at_most_once_a_place() {
    // Answers at different times: no place may be taken again after the first of them.
    let stage = Stage::set(settings(), |sent| (ms(10 + 7 * sent.nth as u64), unauthorized()));
    let settlements = stage.run(5_000, Demand::default()).await;
    assert_eq!((returned(&settlements), stage.sent().len()), (5_000, 32));
}

#[tokio::test(start_paused = true)]
async fn failures_without_a_success_open_the_breaker() {
    let stage = Stage::set(settings(), |_| (ms(100), unavailable()));
    let settlements = stage.run(1_000, Demand::default()).await;
    assert_eq!(returned(&settlements), 1_000);
    let stop = stage.queue.stopped();
    let Some(StopReason::Breaker { failures, failure, .. }) = stop else { panic!("{stop:?}") };
    assert!(failures >= 50);
    assert_eq!(failure.status, Some(503));
}

#[tokio::test(start_paused = true)]
async fn without_retries_the_breaker_opens_after_fifty_lost_cases() {
    let stage = Stage::set(retries(0, in_flight(8)), |_| (ms(100), unavailable()));
    let settlements = stage.run(1_000, Demand::default()).await;
    assert!(stage.sent().len() < 60, "{}", stage.sent().len());
    assert_eq!(returned(&settlements), 1_000 - stage.sent().len());
}

#[tokio::test(start_paused = true)]
async fn a_stopped_target_returns_its_trials_and_leaves_the_neighbours() {
    let stage = Stage::set(in_flight(4), |sent| {
        let unknown = no(ErrorClass::StopTarget, FailureKind::UnknownModel, 404, None);
        (ms(100), if sent.target == 1 { unknown } else { yes() })
    });
    let handles: Vec<_> = (0..100).map(|case| stage.hand_over(case % 2, case, Demand::default())).collect();
    let mut settlements = vec![];
    for handle in handles {
        settlements.push(handle.await.unwrap());
    }
    assert_eq!((answered(&settlements), returned(&settlements)), (50, 50));
    assert!(stage.sent().iter().filter(|sent| sent.target == 1).count() <= 4);
    assert_eq!(stage.queue.asker_stopped(AskerPos(1)).unwrap().kind, FailureKind::UnknownModel);
    assert_eq!((stage.queue.asker_stopped(AskerPos(0)), stage.queue.stopped()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_wakes_all_waiters_and_lets_the_rest_finish() {
    let stage = Stage::set(in_flight(2), |sent| match sent.case {
        0 => (ms(100), unavailable()),
        1 => (ms(100), too_many(Some(ms(60_000)))),
        _ => (ms(1_000), yes()),
    });
    let begin = Instant::now();
    let handles: Vec<_> = (0..50).map(|case| stage.hand_over(0, case, Demand::default())).collect();
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
    assert_eq!(stage.queue.stopped(), Some(StopReason::Interrupted));
    let late = stage.queue.settle(&call(0, 99, Demand::default()), Hooks::NONE).await;
    assert_eq!(late, Settlement::Returned { attempts: vec![] });
}

#[tokio::test(start_paused = true)]
async fn a_stop_at_once_leaves_attempts_that_may_be_billed() {
    let stage = Stage::set(in_flight(2), |_| (ms(60_000), yes()));
    let handles: Vec<_> = (0..5).map(|case| stage.hand_over(0, case, Demand::default())).collect();
    sleep(ms(100)).await;
    let begin = Instant::now();
    stage.queue.cancel(StopReason::Interrupted);
    let mut settlements = vec![];
    for handle in handles {
        settlements.push(handle.await.unwrap());
    }
    assert_eq!(begin.elapsed(), ms(0));
    assert_eq!((returned(&settlements), stage.sent().len()), (3, 2));
    for settled in settlements.into_iter().filter_map(|settlement| match settlement {
        Settlement::Ended(settled) => Some(settled),
        _ => None,
    }) {
        assert_eq!((settled.outcome, settled.failure), (Outcome::Cancelled, None));
        let [attempt] = settled.attempts.as_slice() else { panic!("{:?}", settled.attempts) };
        let AttemptEnd::Failed(failure) = &attempt.end else { panic!("{attempt:?}") };
        assert_eq!((failure.kind, failure.may_be_billed), (FailureKind::Cancelled, true));
        assert_eq!((attempt.duration_ms, attempt.cost), (100.0, None));
    }
    assert_eq!(stage.queue.stopped(), Some(StopReason::Interrupted));
    assert_eq!(stage.queue.status().in_flight, 0);
}

/// Answers from several threads at once, in real time, and refuses the key from one request on.
#[derive(Default)]
struct Threads {
    sent: AtomicU32,
    now: AtomicU32,
    most: AtomicU32,
}

impl Answering for Threads {
    async fn answer(&self, _: &Question) -> Result<Reply, Rejection> {
        let nth = self.sent.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        sleep(ms(u64::from(nth % 3))).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        match nth {
            2_000.. => unauthorized(),
            _ if nth.is_multiple_of(10) => unavailable(),
            _ => yes(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn places_are_never_exceeded_on_several_threads() {
    let settings =
        QueueSettings { retry: RetryPolicy { base_delay_ms: 1, ..RetryPolicy::default() }, ..in_flight(16) };
    let (sender, _events) = unbounded_channel();
    let threads = Arc::new(Threads::default());
    let queue = queue(&threads, settings, sender);
    let trials = (0..4_000).map(|case| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.settle(&call(0, case, Demand::default()), Hooks::NONE).await })
    });
    let mut settlements = vec![];
    for trial in trials.collect::<Vec<_>>() {
        settlements.push(trial.await.unwrap());
    }
    assert!(threads.most.load(Ordering::SeqCst) <= 16);
    assert!(threads.sent.load(Ordering::SeqCst) <= 2_000 + 2 * 16);
    assert_eq!(answered(&settlements) + returned(&settlements), 4_000);
    assert_eq!(answered(&settlements), 1_800);
}
