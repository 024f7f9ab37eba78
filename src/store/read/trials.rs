//! Whole trials: what is shown of one case, with its attempts and scores.

use rusqlite::{Connection, Row, params};

use crate::domain::{Attempt, AttemptEnd, CasePos, Metered, RunRow, Score, TrialKey, TrialRecord, Verdict};
use crate::store::{
    columns::{Columns, failure},
    error::{StoreError, failed_to},
    open::Store,
};

/// A trial as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTrial {
    /// All that was recorded of it.
    pub record: TrialRecord,
    /// What its graders said together; `None`: not graded, or not to be graded.
    pub verdict: Option<Verdict>,
    /// Whether its answer is the one it was given: `false` when only its hash was stored, or when it
    /// was forgotten.
    pub answer_kept: bool,
}

/// The columns of a whole trial `t` with its answer `a`, for [`stored_trial`].
pub(in crate::store) const TRIAL: &str = "t.run, t.target, t.case_position, t.repeat, t.outcome, t.verdict,
    t.failure_class, t.failure_kind,
    t.input_uncached, t.cache_read, t.cache_write_5m, t.cache_write_30m, t.cache_write_1h, t.output,
    t.reasoning, t.usage_flag, t.cost_picodollars, t.latency_ms, t.first_token_ms, t.queue_wait_ms,
    t.backoff_wait_ms, t.attempts, t.source, t.started_at, t.finished_at, t.stop_reason, t.request_id,
    t.model_returned, t.system_fingerprint, t.failure_status, t.failure_retry_after_ms,
    t.failure_may_be_billed, t.failure_message, t.usage_raw, a.text, a.zstd,
    (a.id IS NOT NULL AND a.text = '' AND a.zstd IS NULL),
    (SELECT p.retrieved FROM application p WHERE p.run = t.run AND p.target = t.target
        AND p.case_position = t.case_position AND p.repeat = t.repeat),
    (SELECT p.meta FROM application p WHERE p.run = t.run AND p.target = t.target
        AND p.case_position = t.case_position AND p.repeat = t.repeat)";

/// Reads [`TRIAL`].
pub(in crate::store) fn stored_trial(row: &Row<'_>) -> rusqlite::Result<StoredTrial> {
    let mut columns = Columns::of(row);
    let key = columns.key()?;
    let outcome = columns.name()?;
    let verdict = columns.optional_name()?;
    let (class, kind) = (columns.optional_name()?, columns.optional_name()?);
    let usage = columns.usage()?;
    let flag = columns.optional_name()?;
    let mut record = TrialRecord {
        key,
        outcome,
        failure: None,
        answer: String::new(),
        stop_reason: None,
        metered: Metered { usage, flag, raw: None },
        cost: columns.cost()?,
        latency_ms: columns.take()?,
        first_token_ms: columns.take()?,
        queue_wait_ms: columns.take()?,
        backoff_wait_ms: columns.take()?,
        attempts: columns.take()?,
        request_id: None,
        model_returned: None,
        system_fingerprint: None,
        retrieved: None,
        meta: None,
        source: columns.name()?,
        started_at: columns.instant()?,
        finished_at: columns.instant()?,
    };
    record.stop_reason = columns.take()?;
    record.request_id = columns.take()?;
    record.model_returned = columns.take()?;
    record.system_fingerprint = columns.take()?;
    record.failure = failure(class, kind, columns.take()?, columns.take()?, columns.take()?, columns.take()?);
    record.metered.raw = columns.take()?;
    record.answer = columns.packed_text()?.into_owned();
    let answer_kept = !columns.take::<bool>()?;
    record.retrieved = columns.optional_json()?;
    record.meta = columns.optional_json()?;
    Ok(StoredTrial { record, verdict, answer_kept })
}

impl Store {
    /// All trials of one case, by target and repeat.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trials_of_case(&self, run: RunRow, case: CasePos) -> Result<Vec<StoredTrial>, StoreError> {
        // By way of the targets, so that the primary key is used and no other case is looked at.
        let query = format!(
            "SELECT {TRIAL} FROM target g
             CROSS JOIN trial t ON t.run = g.run AND t.target = g.position
             LEFT JOIN answer a ON a.id = t.answer
             WHERE g.run = ? AND t.case_position = ? ORDER BY g.position, t.repeat"
        );
        self.connection
            .prepare_cached(&query)
            .and_then(|mut statement| statement.query_map(params![run, case], stored_trial)?.collect())
            .map_err(failed_to("read the case's trials"))
    }

    /// One trial; `None` when it is pending.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trial(&self, key: TrialKey) -> Result<Option<StoredTrial>, StoreError> {
        let query = format!(
            "SELECT {TRIAL} FROM trial t LEFT JOIN answer a ON a.id = t.answer
             WHERE t.run = ? AND t.target = ? AND t.case_position = ? AND t.repeat = ?"
        );
        self.connection
            .prepare_cached(&query)
            .and_then(|mut statement| {
                statement
                    .query_map(params![key.run, key.target, key.case, key.repeat], stored_trial)?
                    .next()
                    .transpose()
            })
            .map_err(failed_to("read the trial"))
    }

    /// What the graders said of one trial, in the case's order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn scores(&self, key: TrialKey) -> Result<Vec<Score>, StoreError> {
        scores(&self.connection, key).map_err(failed_to("read the trial's scores"))
    }

    /// The requests made for one trial, over all resumes, oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn attempts(&self, key: TrialKey) -> Result<Vec<Attempt>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT run, target, case_position, repeat, number, started_at, duration_ms, backoff_ms,
                    status, class, kind, retry_after_ms, may_be_billed, message,
                    input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output,
                    reasoning, usage_flag, usage_raw, cost_picodollars, request_id, stderr
                 FROM attempt WHERE run = ? AND target = ? AND case_position = ? AND repeat = ?
                 ORDER BY number",
            )
            .and_then(|mut statement| {
                statement.query_map(params![key.run, key.target, key.case, key.repeat], attempt)?.collect()
            })
            .map_err(failed_to("read the trial's attempts"))
    }
}

pub(in crate::store) fn scores(connection: &Connection, key: TrialKey) -> rusqlite::Result<Vec<Score>> {
    let mut statement = connection.prepare_cached(
        "SELECT g.name, g.hard, s.verdict, s.value, s.reason
         FROM score s JOIN grader g ON g.run = s.run AND g.position = s.grader
         WHERE s.run = ? AND s.target = ? AND s.case_position = ? AND s.repeat = ?
         ORDER BY s.position",
    )?;
    statement
        .query_map(params![key.run, key.target, key.case, key.repeat], |row| {
            let mut columns = Columns::of(row);
            Ok(Score {
                grader: columns.take::<String>()?.into(),
                hard: columns.take()?,
                verdict: columns.name()?,
                value: columns.take()?,
                reason: columns.take()?,
            })
        })?
        .collect()
}

fn attempt(row: &Row<'_>) -> rusqlite::Result<Attempt> {
    let mut columns = Columns::of(row);
    columns.key()?;
    let number = columns.take()?;
    let started_at = columns.instant()?;
    let duration_ms = columns.take()?;
    let backoff_ms = columns.take()?;
    let status = columns.take()?;
    let failure = failure(
        columns.optional_name()?,
        columns.optional_name()?,
        status,
        columns.take()?,
        columns.take()?,
        columns.take()?,
    );
    Ok(Attempt {
        number,
        started_at,
        duration_ms,
        backoff_ms,
        end: failure.map_or(AttemptEnd::Answered, AttemptEnd::Failed),
        status,
        metered: Metered { usage: columns.usage()?, flag: columns.optional_name()?, raw: columns.take()? },
        cost: columns.cost()?,
        request_id: columns.take()?,
        stderr: columns.take()?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::{option, prelude::*};
    use serde_json::Value;

    use super::*;
    use crate::{
        domain::{
            AnswerSource, Cost, ErrorClass, Failure, FailureKind, Outcome, Repeat, Retrieved, TargetPos,
            UnixMillis, Usage, UsageFlag,
        },
        store::{fixtures::store_with, write::insert::Inserts},
    };

    fn metered() -> impl Strategy<Value = Metered> {
        let count = 0..=i64::MAX.unsigned_abs();
        let usage = (
            [count.clone(), count.clone(), count.clone(), count.clone(), count.clone(), count.clone()],
            option::of(count),
        )
            .prop_map(|([input_uncached, cache_read, five, thirty, hour, output], reasoning)| Usage {
                input_uncached,
                cache_read,
                cache_write_5m: five,
                cache_write_30m: thirty,
                cache_write_1h: hour,
                output,
                reasoning,
            });
        let flag = prop::sample::select(vec![
            UsageFlag::Contradictory,
            UsageFlag::Incomplete,
            UsageFlag::LifetimeAssumed,
        ]);
        (option::of(usage), option::of(flag), option::of(".{0,9}")).prop_map(|(usage, flag, raw)| Metered {
            usage,
            flag,
            raw,
        })
    }

    fn failure() -> impl Strategy<Value = Failure> {
        let class = prop::sample::select(vec![
            ErrorClass::Retry,
            ErrorClass::RetrySlow,
            ErrorClass::ThisTrial,
            ErrorClass::StopTarget,
            ErrorClass::StopQueue,
        ]);
        let kind = prop::sample::select(vec![
            FailureKind::RateLimit,
            FailureKind::ContextTooLong,
            FailureKind::TooLarge,
            FailureKind::Application,
        ]);
        (class, kind, ".{0,20}", option::of(100..600_u16), option::of(0..u32::MAX), any::<bool>()).prop_map(
            |(class, kind, message, status, wait, may_be_billed)| Failure {
                class,
                kind,
                message,
                status,
                retry_after: wait.map(|wait| Duration::from_millis(wait.into())),
                may_be_billed,
            },
        )
    }

    fn retrieved() -> impl Strategy<Value = Vec<Retrieved>> {
        let passage = ("[a-z]{1,9}", option::of(".{0,9}"), ".{0,20}", option::of(-9_i32..9));
        let passage = passage.prop_map(|(doc, chunk, text, score)| Retrieved {
            doc,
            chunk,
            text,
            score: score.map(f64::from),
        });
        prop::collection::vec(passage, 0..3)
    }

    fn cost() -> impl Strategy<Value = Option<Cost>> {
        option::of((0..=i64::MAX).prop_map(Cost::from_picodollars))
    }

    prop_compose! {
        fn record(run: RunRow)(
            (target, case, repeat) in (0..2_u32, 0..3_u32, 1..5_u32),
            outcome in prop::sample::select(Outcome::ALL.to_vec()),
            failure in option::of(failure()),
            (answer, stop_reason, request_id) in (".{0,40}", option::of(".{0,9}"), option::of(".{0,9}")),
            (model_returned, system_fingerprint) in (option::of(".{0,9}"), option::of(".{0,9}")),
            (metered, cost) in (metered(), cost()),
            (latency_ms, first_token_ms) in (option::of(0.0..1e9), option::of(0.0..1e9)),
            (queue_wait_ms, backoff_wait_ms) in (0.0..1e9, 0.0..1e9),
            attempts in any::<u32>(),
            source in prop::sample::select(vec![AnswerSource::Live, AnswerSource::Cache]),
            (retrieved, meta) in (option::of(retrieved()), option::of(".{0,9}".prop_map(Value::String))),
            (started_at, finished_at) in (any::<i64>(), any::<i64>()),
        ) -> TrialRecord {
            TrialRecord {
                key: TrialKey { run, target: TargetPos(target), case: CasePos(case), repeat: Repeat(repeat) },
                outcome, failure, answer, stop_reason, metered, cost, latency_ms, first_token_ms,
                queue_wait_ms, backoff_wait_ms, attempts, request_id, model_returned, system_fingerprint,
                source, retrieved, meta,
                started_at: UnixMillis(started_at),
                finished_at: UnixMillis(finished_at),
            }
        }
    }

    proptest! {
        #[test]
        fn a_trial_comes_back_as_it_was_written(record in record(RunRow(1))) {
            let (store, _) = store_with(3, 5);
            Inserts::prepare(&store.connection).unwrap().trial(&record).unwrap();
            let stored = store.trial(record.key).unwrap();
            prop_assert_eq!(stored, Some(StoredTrial { record, verdict: None, answer_kept: true }));
        }

        #[test]
        fn an_attempt_comes_back_as_it_was_written(
            failure in option::of(failure()),
            metered in metered(),
            cost in cost(),
            number in 1..9_u32,
            (request_id, stderr) in (option::of(".{0,9}"), option::of(".{0,9}")),
        ) {
            let (store, run) = store_with(1, 1);
            let key = TrialKey { run: run.id, target: TargetPos(1), case: CasePos(0), repeat: Repeat(1) };
            let attempt = Attempt {
                number,
                started_at: UnixMillis(5),
                duration_ms: 1.5,
                backoff_ms: 0.0,
                status: failure.as_ref().map_or(Some(200), |failure| failure.status),
                end: failure.map_or(AttemptEnd::Answered, AttemptEnd::Failed),
                request_id,
                metered,
                cost,
                stderr,
            };
            Inserts::prepare(&store.connection).unwrap().attempt(key, &attempt).unwrap();
            prop_assert_eq!(store.attempts(key).unwrap(), vec![attempt]);
        }
    }

    #[test]
    fn the_trials_of_one_case_come_by_target_and_repeat() {
        let (store, run) = store_with(2, 2);
        let mut inserts = Inserts::prepare(&store.connection).unwrap();
        for (target, case, repeat) in [(1, 0, 1), (0, 0, 2), (0, 1, 1), (0, 0, 1)] {
            let key = TrialKey {
                run: run.id,
                target: TargetPos(target),
                case: CasePos(case),
                repeat: Repeat(repeat),
            };
            inserts.trial(&crate::store::fixtures::answered(key, "x")).unwrap();
        }
        let keys: Vec<(u32, u32)> = store
            .trials_of_case(run.id, CasePos(0))
            .unwrap()
            .iter()
            .map(|trial| (trial.record.key.target.0, trial.record.key.repeat.0))
            .collect();
        assert_eq!(keys, [(0, 1), (0, 2), (1, 1)]);
    }
}
