//! From what a queue settled to what is recorded: the one place where tokens become money.

use crate::{
    domain::{
        AnswerSource, Attempt, AttemptEnd, Cost, Metered, Outcome, Price, Settled, TrialKey, TrialRecord,
        UnixMillis, UsageFlag,
    },
    store::Reusable,
};

/// The record of a trial that ended, and its attempts, priced.
pub(super) fn priced(
    key: TrialKey,
    first_attempt: u32,
    settled: Settled,
    price: Option<&Price>,
) -> (TrialRecord, Vec<Attempt>) {
    let mut attempts = settled.attempts;
    price_attempts(&mut attempts, price);
    let made = u32::try_from(attempts.len()).expect("attempts are bounded by the retry policy");
    let answered = attempts.iter().find(|attempt| attempt.end == AttemptEnd::Answered);
    let cost = answered.and_then(|attempt| attempt.cost);
    let reply = settled.reply;
    let record = TrialRecord {
        key,
        outcome: settled.outcome,
        failure: settled.failure,
        cost,
        latency_ms: settled.latency_ms,
        first_token_ms: settled.first_token_ms,
        queue_wait_ms: settled.queue_wait_ms,
        backoff_wait_ms: settled.backoff_wait_ms,
        attempts: first_attempt - 1 + made,
        source: AnswerSource::Live,
        started_at: settled.started_at,
        finished_at: settled.finished_at,
        answer: reply.as_ref().map(|reply| reply.text.clone()).unwrap_or_default(),
        stop_reason: reply.as_ref().and_then(|reply| reply.stop_reason.clone()),
        request_id: reply.as_ref().and_then(|reply| reply.request_id.clone()),
        model_returned: reply.as_ref().and_then(|reply| reply.model.clone()),
        system_fingerprint: reply.as_ref().and_then(|reply| reply.system_fingerprint.clone()),
        retrieved: reply.as_ref().and_then(|reply| reply.retrieved.clone()),
        meta: reply.as_ref().and_then(|reply| reply.meta.clone()),
        metered: reply.map(|reply| reply.metered).unwrap_or_default(),
    };
    (record, attempts)
}

/// The record of a trial whose answer an earlier run got: nothing was asked, so it cost nothing and
/// took no time. What the answer cost and took then is kept beside it.
pub(super) fn reused(key: TrialKey, first_attempt: u32, reused: &Reusable) -> TrialRecord {
    let now = UnixMillis::now();
    TrialRecord {
        key,
        cost: Some(Cost::ZERO),
        latency_ms: None,
        first_token_ms: None,
        queue_wait_ms: 0.0,
        backoff_wait_ms: 0.0,
        attempts: first_attempt - 1,
        source: AnswerSource::Cache,
        started_at: now,
        finished_at: now,
        ..reused.trial.record.clone()
    }
}

/// The record of a trial that was cancelled in flight.
pub(super) fn cancelled(key: TrialKey, started_at: UnixMillis) -> TrialRecord {
    TrialRecord {
        key,
        outcome: Outcome::Cancelled,
        failure: None,
        answer: String::new(),
        stop_reason: None,
        metered: Metered::default(),
        cost: None,
        latency_ms: None,
        first_token_ms: None,
        queue_wait_ms: 0.0,
        backoff_wait_ms: 0.0,
        attempts: 1,
        request_id: None,
        model_returned: None,
        system_fingerprint: None,
        retrieved: None,
        meta: None,
        source: AnswerSource::Live,
        started_at,
        finished_at: UnixMillis::now(),
    }
}

/// Puts the price on attempts.
pub(super) fn price_attempts(attempts: &mut [Attempt], price: Option<&Price>) {
    for attempt in attempts {
        // An application knows best what it spent.
        attempt.cost = attempt.cost.or_else(|| attempt_cost(attempt, price));
    }
}

/// What one attempt cost: its usage at the price; nothing where nothing can have been billed;
/// otherwise unknown.
fn attempt_cost(attempt: &Attempt, price: Option<&Price>) -> Option<Cost> {
    match (&attempt.end, &attempt.metered.usage) {
        (AttemptEnd::Failed(failure), None) if !failure.may_be_billed => Some(Cost::ZERO),
        (_, Some(usage)) if attempt.metered.flag != Some(UsageFlag::Incomplete) => price?.cost(usage),
        _ => None,
    }
}

/// What attempts count against a budget: one whose cost is not known counts at its worst.
pub(super) fn spent_on(attempts: &[Attempt], worst: Cost) -> Cost {
    attempts.iter().map(|attempt| attempt.cost.unwrap_or(worst)).sum()
}
