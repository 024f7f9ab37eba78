//! Limits, pauses and shares that change while the queue works.

use crate::domain::{LiveLimits, PerDimension, QueueControl};

use super::*;

fn a_minute(requests: u64) -> QueueSettings {
    QueueSettings {
        limits: Limits { requests_per_minute: Some(requests), ..Limits::default() },
        ..QueueSettings::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_starts_nothing_until_it_goes_on() {
    let stage = Stage::set(in_flight(2), |_| (ms(100), yes()));
    let handles: Vec<_> = (0..10).map(|case| stage.hand_over(0, case, Demand::default())).collect();
    sleep(ms(150)).await;
    stage.queue.pause();
    sleep(ms(60_000)).await;
    assert_eq!((stage.sent().len(), stage.queue.status().in_flight), (4, 0));
    stage.queue.go_on();
    for handle in handles {
        handle.await.unwrap();
    }
    assert_eq!(stage.sent().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_higher_ceiling_is_climbed_to_and_a_lower_one_holds_at_once() {
    let stage = Stage::set(in_flight(2), |_| (ms(1_000), yes()));
    let handles: Vec<_> = (0..200).map(|case| stage.hand_over(0, case, Demand::default())).collect();
    let limits = |max| LiveLimits { max_in_flight: Some(max), ..LiveLimits::default() };
    sleep(ms(1_500)).await;
    stage.queue.steer(QueueControl { paused: false, limits: limits(16) });
    sleep(ms(6_000)).await;
    assert_eq!((stage.queue.status().in_flight, stage.queue.max_in_flight()), (16, 16));
    stage.queue.set_limits(&limits(3));
    sleep(ms(1_500)).await;
    assert_eq!((stage.queue.status().in_flight, stage.queue.status().concurrency_limit), (3, 3));
    for handle in handles {
        handle.abort();
    }
    assert!(stage.queue.record().concurrency.iter().any(|step| step.why == "set" && step.limit == 3));
}

#[tokio::test(start_paused = true)]
async fn other_requests_a_minute_hold_from_then_on() {
    let stage = Stage::set(a_minute(60), |_| (ms(1), yes()));
    let handles: Vec<_> = (0..500).map(|case| stage.hand_over(0, case, Demand::default())).collect();
    sleep(ms(10_500)).await;
    assert_eq!(stage.sent().len(), 11);
    let limits = LiveLimits {
        per_minute: PerDimension { requests: Some(600), ..PerDimension::default() },
        ..LiveLimits::default()
    };
    stage.queue.set_limits(&limits);
    sleep(ms(10_000)).await;
    let sent = stage.sent().len();
    assert!((110..=125).contains(&sent), "{sent}");
    for handle in handles {
        handle.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn shares_add_up_to_the_limit_whenever_they_change() {
    let stages = [0, 1].map(|_| Stage::set(a_minute(600), |_| (ms(1), yes())));
    let [first, second] = &stages;
    let begin = Instant::now();
    let mut handles: Vec<_> = (0..400).map(|case| first.hand_over(0, case, Demand::default())).collect();
    first.queue.line.share(1, false);
    sleep(ms(5_000)).await;
    // The second joins, is seen a quarter of a second later, and is gone after twenty seconds.
    second.queue.line.share(2, true);
    handles.extend((0..400).map(|case| second.hand_over(0, case, Demand::default())));
    sleep(ms(250)).await;
    assert_eq!(second.sent().len(), 0);
    first.queue.line.share(2, false);
    second.queue.line.share(2, false);
    sleep(ms(20_000)).await;
    second.queue.stop(StopReason::Interrupted);
    first.queue.line.share(1, false);
    sleep(ms(5_000)).await;
    for handle in handles {
        handle.abort();
    }
    // A server that holds ten and refills ten a second never refuses one of them.
    let mut starts: Vec<f64> = stages
        .iter()
        .flat_map(|stage| stage.sent().into_iter().map(|sent| sent.at_ms as f64 / 1e3))
        .collect();
    starts.sort_by(f64::total_cmp);
    let (mut level, mut last) = (10.0_f64, 0.0);
    for start in &starts {
        level = (level + (start - last) * 10.0).min(10.0) - 1.0;
        assert!(level > -0.05, "refused at {start} s");
        last = *start;
    }
    let each = second.sent().len();
    assert!((95..=105).contains(&each), "the second sent {each} in twenty seconds");
    let ideal = begin.elapsed().as_secs_f64() * 10.0 + 10.0;
    assert!(starts.len() as f64 > 0.93 * ideal, "{} of {ideal}", starts.len());
}

#[tokio::test(start_paused = true)]
async fn a_trials_time_covers_its_attempts_and_its_own_waits_but_no_pause() {
    let settings = QueueSettings {
        attempt_timeout_s: 10.0,
        trial_timeout_s: Some(25.0),
        retry: RetryPolicy { base_delay_ms: 1, max_delay_ms: 1, ..RetryPolicy::default() },
        ..QueueSettings::default()
    };
    let stage = Stage::set(settings, |sent| match sent.nth {
        0 => (ms(10), too_many(Some(ms(60_000)))),
        _ => (ms(3_600_000), yes()),
    });
    let settled = stage.run_one().await;
    assert_eq!(settled.outcome, Outcome::Failed);
    // 10 ms, then a pause that is not its own, then 10 s, 10 s and what is left of 25.
    assert_eq!(stage.sent().len(), 4);
    let took: f64 = settled.attempts.iter().map(|attempt| attempt.duration_ms).sum();
    assert!((24_900.0..=25_000.0).contains(&took), "{took}");
}
