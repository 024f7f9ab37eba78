//! From what a queue settled to what is recorded.

use crate::{
    domain::{
        AnswerSource, Attempt, AttemptEnd, Cost, ErrorClass, Failure, FailureKind, Metered, Outcome, Settled,
        Tariff, TrialKey, TrialRecord, UnixMillis,
    },
    spend::Prices,
    store::Reusable,
};

/// The record of a trial that ended, and its attempts, priced.
pub(super) fn priced(
    key: TrialKey,
    first_attempt: u32,
    settled: Settled,
    prices: &Prices,
) -> (TrialRecord, Vec<Attempt>) {
    let mut attempts = settled.attempts;
    prices.put_on(&mut attempts);
    let made = u32::try_from(attempts.len()).expect("attempts are bounded by the retry policy");
    let answered = attempts.iter().find(|attempt| attempt.end == AttemptEnd::Answered);
    let cost = answered.and_then(|attempt| attempt.cost);
    let price = answered.and_then(|attempt| attempt.price);
    let tariff = answered.map(|attempt| attempt.tariff).unwrap_or_default();
    let reply = settled.reply;
    let record = TrialRecord {
        key,
        outcome: settled.outcome,
        failure: settled.failure,
        cost,
        price,
        tariff,
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
        price: None,
        tariff: Tariff::Standard,
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

/// What became of a call whose task was aborted since it did not listen when all was to stop. After the
/// `attempts` that it had behind it, one more may have been on its way `since` then.
pub(super) fn aborted(first_attempt: u32, mut attempts: Vec<Attempt>, since: UnixMillis) -> Settled {
    let number = attempts.last().map_or(first_attempt, |attempt| attempt.number + 1);
    attempts.push(Attempt { number, ..given_up(since) });
    let started_at = attempts[0].started_at;
    Settled {
        outcome: Outcome::Cancelled,
        failure: None,
        reply: None,
        attempts,
        latency_ms: None,
        first_token_ms: None,
        queue_wait_ms: 0.0,
        backoff_wait_ms: 0.0,
        started_at,
        finished_at: UnixMillis::now(),
    }
}

/// The attempt of a trial that did not listen when all was to stop: it may have been billed, and stays
/// beneath its trial whatever becomes of that.
fn given_up(started_at: UnixMillis) -> Attempt {
    let failure = Failure::new(ErrorClass::Retry, FailureKind::Cancelled, "stopped on its way");
    Attempt {
        number: 1,
        started_at,
        duration_ms: (UnixMillis::now().0 - started_at.0).max(0) as f64,
        backoff_ms: 0.0,
        end: AttemptEnd::Failed(Failure { may_be_billed: true, ..failure }),
        status: None,
        request_id: None,
        metered: Metered::default(),
        cost: None,
        price: None,
        tariff: Tariff::Standard,
        stderr: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{CasePos, Repeat, Reply, RunRow, TargetPos, Usage},
        store::StoredTrial,
    };

    fn key() -> TrialKey {
        TrialKey { run: RunRow(1), target: TargetPos(0), case: CasePos(2), repeat: Repeat(3) }
    }

    fn attempt(number: u32, end: AttemptEnd, cost: Option<Cost>) -> Attempt {
        Attempt { number, end, cost, ..given_up(UnixMillis(5)) }
    }

    fn settled(outcome: Outcome, reply: Option<Reply>, attempts: Vec<Attempt>) -> Settled {
        Settled {
            outcome,
            failure: None,
            reply,
            attempts,
            latency_ms: Some(12.5),
            first_token_ms: None,
            queue_wait_ms: 1.0,
            backoff_wait_ms: 2.0,
            started_at: UnixMillis(5),
            finished_at: UnixMillis(20),
        }
    }

    /// Five attempts of earlier sessions, then one that failed and one that was answered.
    #[test]
    fn a_trial_costs_what_its_answered_attempt_cost_and_counts_all_attempts() {
        let failed = attempt(6, given_up(UnixMillis(5)).end, None);
        let own = Some(Cost::from_picodollars(7));
        let answered = attempt(7, AttemptEnd::Answered, own);
        let reply = Reply::answered("yes");
        let ended = settled(Outcome::Answered, Some(reply), vec![failed, answered]);
        let (record, attempts) = priced(key(), 6, ended, &Prices::default());
        assert_eq!((record.key, record.outcome, record.answer.as_str()), (key(), Outcome::Answered, "yes"));
        assert_eq!((record.cost, record.attempts, record.latency_ms), (own, 7, Some(12.5)));
        assert_eq!(attempts.iter().map(|attempt| attempt.cost).collect::<Vec<_>>(), [None, own]);
    }

    #[test]
    fn what_was_given_up_may_be_billed_and_its_cost_is_not_known() {
        let given_up = given_up(UnixMillis(5));
        let AttemptEnd::Failed(failure) = &given_up.end else { panic!("it has no answer") };
        assert_eq!((failure.kind, failure.may_be_billed), (FailureKind::Cancelled, true));
        let mut attempts = [given_up];
        Prices::default().put_on(&mut attempts);
        assert_eq!(attempts[0].cost, None);
        let (record, attempts) = priced(key(), 3, aborted(3, vec![], UnixMillis(5)), &Prices::default());
        assert_eq!((record.outcome, record.cost, record.attempts), (Outcome::Cancelled, None, 3));
        assert_eq!((attempts.len(), attempts[0].number), (1, 3));
    }

    #[test]
    fn an_earlier_answer_costs_nothing_and_takes_no_time() {
        let usage = Usage { input_uncached: 10, output: 2, ..Usage::default() };
        let earlier = TrialRecord {
            key: TrialKey { run: RunRow(9), ..key() },
            outcome: Outcome::Answered,
            answer: "yes".to_owned(),
            metered: Metered::from(usage),
            cost: Some(Cost::from_picodollars(7)),
            latency_ms: Some(12.5),
            ..priced(key(), 1, aborted(1, vec![], UnixMillis(5)), &Prices::default()).0
        };
        let reusable = Reusable { trial: StoredTrial { record: earlier, verdict: None, answer_kept: true } };
        let record = reused(key(), 4, &reusable);
        assert_eq!((record.key, record.answer.as_str(), record.source), (key(), "yes", AnswerSource::Cache));
        assert_eq!((record.cost, record.latency_ms, record.attempts), (Some(Cost::ZERO), None, 3));
        assert_eq!(record.metered.usage, Some(usage));
    }
}
