//! Whole trials: what is shown of one case, with its attempts and scores.

use rusqlite::{Connection, Row, params};

use super::{
    columns::{Columns, failure},
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{Attempt, AttemptEnd, Metered, Score, TrialKey, TrialRecord, Verdict};

/// A trial as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTrial {
    /// All that was recorded of it.
    pub record: TrialRecord,
    /// What its graders said together; `None`: not graded, or not to be graded.
    pub verdict: Option<Verdict>,
}

/// The columns of a whole trial `t` with its answer `a`, for [`stored_trial`].
pub(super) const TRIAL: &str = "t.run, t.target, t.case_position, t.repeat, t.outcome, t.verdict,
    t.failure_class, t.failure_kind,
    t.input_uncached, t.cache_read, t.cache_write_5m, t.cache_write_30m, t.cache_write_1h, t.output,
    t.reasoning, t.usage_flag, t.cost_picodollars, t.latency_ms, t.first_token_ms, t.queue_wait_ms,
    t.backoff_wait_ms, t.attempts, t.source, t.started_at, t.finished_at, t.stop_reason, t.request_id,
    t.model_returned, t.system_fingerprint, t.failure_status, t.failure_retry_after_ms,
    t.failure_may_be_billed, t.failure_message, t.usage_raw, a.text";

/// Reads [`TRIAL`].
pub(super) fn stored_trial(row: &Row<'_>) -> rusqlite::Result<StoredTrial> {
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
    columns.text()?.clone_into(&mut record.answer);
    Ok(StoredTrial { record, verdict })
}

impl Store {
    /// All trials of one case, by target and repeat.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn trials_of_case(&self, run: i64, case: u32) -> Result<Vec<StoredTrial>, StoreError> {
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
                    reasoning, usage_flag, usage_raw, cost_picodollars, request_id
                 FROM attempt WHERE run = ? AND target = ? AND case_position = ? AND repeat = ?
                 ORDER BY number",
            )
            .and_then(|mut statement| {
                statement.query_map(params![key.run, key.target, key.case, key.repeat], attempt)?.collect()
            })
            .map_err(failed_to("read the trial's attempts"))
    }
}

pub(super) fn scores(connection: &Connection, key: TrialKey) -> rusqlite::Result<Vec<Score>> {
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
    let trial = columns.key()?;
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
        trial,
        number,
        started_at,
        duration_ms,
        backoff_ms,
        end: failure.map_or(AttemptEnd::Answered, AttemptEnd::Failed),
        status,
        metered: Metered { usage: columns.usage()?, flag: columns.optional_name()?, raw: columns.take()? },
        cost: columns.cost()?,
        request_id: columns.take()?,
    })
}
