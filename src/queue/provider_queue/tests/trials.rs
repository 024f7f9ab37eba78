//! How single trials end.

use super::*;
use crate::domain::ReplyLatency;

#[tokio::test(start_paused = true)]
async fn without_retries_each_case_is_asked_once() {
    let stage = Stage::set(retries(0, in_flight(8)), |_| (ms(50), too_many(None)));
    let settlements = stage.run(100, Demand::default()).await;
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
async fn there_is_one_retry_layer() {
    let stage = Stage::set(retries(3, settings()), |_| (ms(50), unavailable()));
    let settled = stage.run_one().await;
    assert_eq!(stage.sent().len(), 4);
    assert_eq!(settled.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(settled.failure.unwrap().status, Some(503));
}

#[tokio::test(start_paused = true)]
async fn a_repeated_trial_ends_once_with_its_attempts_beneath() {
    let stage =
        Stage::set(settings(), |sent| (ms(50), if sent.nth_of_case == 0 { too_many(None) } else { yes() }));
    let settlements = stage.run(4, Demand::default()).await;
    for settlement in settlements {
        let settled = ended(settlement);
        assert_eq!(settled.outcome, Outcome::Answered);
        let [first, second] = settled.attempts.as_slice() else { panic!("{:?}", settled.attempts) };
        assert_eq!((first.number, first.status, first.request_id.as_deref()), (1, Some(429), Some("req-1")));
        assert_eq!((second.number, &second.end), (2, &AttemptEnd::Answered));
    }
    let again = Call { first_attempt: 3, ..call(0, 0, Demand::default()) };
    let settled = ended(stage.queue.settle(&again, Hooks::NONE).await);
    assert_eq!(settled.attempts[0].number, 3);
}

#[tokio::test(start_paused = true)]
async fn latency_is_the_answered_attempts_own() {
    let stage = Stage::set(in_flight(1), |sent| match sent.nth {
        0 => (ms(3_000), yes()),
        1 => (ms(200), too_many(Some(ms(5_000)))),
        _ => (ms(1_200), yes()),
    });
    let settled = ended(stage.run(2, Demand::default()).await.remove(1));
    assert_eq!(settled.latency_ms, Some(1_200.0));
    assert_eq!(settled.attempts.len(), 2);
    assert_eq!(settled.backoff_wait_ms, 5_000.0);
    assert_eq!(settled.queue_wait_ms, 3_000.0);
    assert_eq!((settled.attempts[0].duration_ms, settled.attempts[1].backoff_ms), (200.0, 5_000.0));
}

#[tokio::test(start_paused = true)]
async fn the_providers_own_latency_wins() {
    let own =
        Reply { latency: ReplyLatency::Known(70.0), first_token_ms: Some(20.0), ..Reply::answered("yes") };
    let stage = Stage::set(settings(), move |_| (ms(1), Ok(own.clone())));
    let settled = stage.run_one().await;
    assert_eq!((settled.latency_ms, settled.first_token_ms), (Some(70.0), Some(20.0)));
    assert_eq!(settled.attempts[0].duration_ms, 1.0);
}

#[tokio::test(start_paused = true)]
async fn every_case_may_fail_once() {
    let stage =
        Stage::set(settings(), |sent| (ms(100), if sent.nth_of_case == 0 { unavailable() } else { yes() }));
    let settlements = stage.run(1_000, Demand::default()).await;
    assert_eq!(answered(&settlements), 1_000);
    assert_eq!(stage.sent().len(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_this_trial_ends_it_at_once() {
    let stage = Stage::set(settings(), |sent| {
        let bad = no(ErrorClass::ThisTrial, FailureKind::ContextTooLong, 400, None);
        (ms(100), if sent.case == 0 { bad } else { yes() })
    });
    let settlements = stage.run(10, Demand::default()).await;
    assert_eq!((answered(&settlements), stage.sent().len()), (9, 10));
    assert_eq!(ended(settlements[0].clone()).failure.unwrap().kind, FailureKind::ContextTooLong);
}
