//! Refusals for being too much, and the waits that servers ask for.

use super::*;

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
async fn one_refusal_pauses_all_and_they_come_back_a_few_at_a_time() {
    let mut stage = Stage::set(in_flight(64), |sent| {
        (ms(100), if sent.nth == 40 { too_many(Some(ms(5_000))) } else { yes() })
    });
    let settlements = stage.run(1_000, Demand::default()).await;
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
    let settlements = stage.run(100, Demand::default()).await;
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
    stage.run(2, Demand::default()).await;
    assert_eq!(stage.start_times_ms()[1], 2_100);
    assert_eq!(stage.queue.concurrency_history().len(), 1, "trouble of the server is no pressure");
}

#[tokio::test(start_paused = true)]
async fn a_server_error_without_it_delays_its_own_trial_only() {
    let stage = Stage::set(in_flight(1), |sent| (ms(100), if sent.nth == 0 { unavailable() } else { yes() }));
    stage.run(2, Demand::default()).await;
    let sent = stage.sent();
    assert_eq!((sent[1].case, sent[1].at_ms), (1, 100));
    assert_eq!(sent[2].case, 0);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_capacity_delays_its_own_trial_only() {
    let overloaded = || no(ErrorClass::RetrySlow, FailureKind::Overloaded, 503, None);
    let stage =
        Stage::set(in_flight(1), move |sent| (ms(100), if sent.nth == 0 { overloaded() } else { yes() }));
    stage.run(2, Demand::default()).await;
    let sent = stage.sent();
    assert_eq!((sent[1].case, sent[1].at_ms), (1, 100));
    assert_eq!(stage.queue.concurrency_history().len(), 1, "trouble of the server is no pressure");
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
    let stage = Stage::set(in_flight(8), move |_| (ms(100), too_many(Some(wait))));
    let begin = Instant::now();
    let settlements = stage.run(100, Demand::default()).await;
    assert_eq!(returned(&settlements), 100);
    assert!(begin.elapsed() <= ms(101));
    let stop = stage.queue.stopped().unwrap();
    let StopReason::WaitTooLong { wait: asked, until, .. } = stop else { panic!("{stop:?}") };
    assert_eq!(asked, wait);
    assert!(until.0 > UnixMillis::now().0 + 86_000_000);
    assert!(stop.to_string().contains("it could go on at "), "{stop}");
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
