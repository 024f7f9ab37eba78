//! The statements of the writer, prepared once.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::{answers::Answers, packed::Packed, status};
use crate::domain::{
    AnswerKeeping, Attempt, AttemptEnd, GraderName, GraderPos, RetrievalScore, RunRow, RunStatus, Score,
    TrialKey, TrialRecord, Verdict,
};
use crate::store::{
    application,
    columns::{Binder, Columns, millis},
};

const TRIAL: &str = "INSERT INTO trial (run, target, case_position, repeat, outcome, gradable,
    failure_class, failure_kind,
    input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output, reasoning,
    usage_flag, cost_picodollars, latency_ms, first_token_ms, queue_wait_ms, backoff_wait_ms, attempts,
    source, started_at, finished_at, answer, stop_reason, request_id, model_returned,
    system_fingerprint, failure_status, failure_retry_after_ms, failure_may_be_billed,
    failure_message, usage_raw)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
    ?, ?, ?, ?)
    ON CONFLICT DO NOTHING";

const FORGET_FAILED: &str = "DELETE FROM trial WHERE run = ? AND target = ? AND case_position = ?
    AND repeat = ? AND outcome IN ('failed', 'cancelled') RETURNING answer";

const ATTEMPT: &str = "INSERT INTO attempt (run, target, case_position, repeat, number, started_at,
    duration_ms, backoff_ms, status, class, kind, retry_after_ms, may_be_billed,
    input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output, reasoning,
    usage_flag, cost_picodollars, request_id, message, usage_raw, stderr)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING";

const LAST_ATTEMPT: &str = "SELECT coalesce(max(number), 0) FROM attempt
    WHERE run = ? AND target = ? AND case_position = ? AND repeat = ?";

const FIRST_VERDICT: &str = "UPDATE trial SET verdict = ? WHERE run = ? AND target = ?
    AND case_position = ? AND repeat = ? AND verdict IS NULL";

const NEW_VERDICT: &str = "UPDATE trial SET verdict = ? WHERE run = ? AND target = ?
    AND case_position = ? AND repeat = ?";

const FORGET_SCORES: &str = "DELETE FROM score WHERE run = ? AND target = ? AND case_position = ?
    AND repeat = ?";

const SCORE: &str = "INSERT INTO score (run, target, case_position, repeat, position, grader, verdict,
    value, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// The statements of the writer.
pub(in crate::store) struct Inserts<'connection> {
    connection: &'connection Connection,
    answers: Answers<'connection>,
    trial: Statement<'connection>,
    forget_failed: Statement<'connection>,
    attempt: Statement<'connection>,
    last_attempt: Statement<'connection>,
    first_verdict: Statement<'connection>,
    new_verdict: Statement<'connection>,
    forget_scores: Statement<'connection>,
    score: Statement<'connection>,
    /// Where the graders of the runs written so far stand.
    graders: HashMap<RunRow, HashMap<(GraderName, bool), GraderPos>>,
    /// What they keep of their answers.
    keeping: HashMap<RunRow, AnswerKeeping>,
}

impl<'connection> Inserts<'connection> {
    pub(in crate::store) fn prepare(connection: &'connection Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            answers: Answers::prepare(connection)?,
            trial: connection.prepare(TRIAL)?,
            forget_failed: connection.prepare(FORGET_FAILED)?,
            attempt: connection.prepare(ATTEMPT)?,
            last_attempt: connection.prepare(LAST_ATTEMPT)?,
            first_verdict: connection.prepare(FIRST_VERDICT)?,
            new_verdict: connection.prepare(NEW_VERDICT)?,
            forget_scores: connection.prepare(FORGET_SCORES)?,
            score: connection.prepare(SCORE)?,
            graders: HashMap::new(),
            keeping: HashMap::new(),
        })
    }

    /// Writes a trial. A failed or cancelled one of that key makes room for it; one with an answer
    /// stays, and what came second is listed among its attempts only.
    #[cfg(test)]
    pub(in crate::store) fn trial(&mut self, trial: &TrialRecord) -> rusqlite::Result<()> {
        self.packed_trial(trial, &super::packed::pack(&trial.answer, None))
    }

    /// The same, its answer packed already.
    pub(super) fn packed_trial(&mut self, trial: &TrialRecord, packed: &Packed) -> rusqlite::Result<()> {
        let keeping = self.keeping(trial.key.run)?;
        let answer = self.answers.id_of(&trial.answer, packed, keeping)?;
        if self.insert_trial(trial, answer)? {
            return Ok(());
        }
        let TrialKey { run, target, case, repeat } = trial.key;
        let forgotten: Option<Option<i64>> =
            self.forget_failed.query_row(params![run, target, case, repeat], |row| row.get(0)).optional()?;
        let unused_answer = match forgotten {
            Some(old_answer) => {
                self.insert_trial(trial, answer)?;
                old_answer
            }
            None => answer,
        };
        if let Some(id) = unused_answer {
            self.answers.drop_unused(id)?;
        }
        Ok(())
    }

    /// Whether there was room for the trial.
    fn insert_trial(&mut self, trial: &TrialRecord, answer: Option<i64>) -> rusqlite::Result<bool> {
        let failure = trial.failure.as_ref();
        let mut row = Binder::of(&mut self.trial);
        row.key(trial.key)?;
        row.put(trial.outcome.as_str())?;
        row.put(trial.outcome.is_graded(&trial.answer))?;
        row.put(failure.map(|failure| failure.class.as_str()))?;
        row.put(failure.map(|failure| failure.kind.as_str()))?;
        row.usage(&trial.metered)?;
        row.put(trial.metered.flag.map(|flag| flag.as_str()))?;
        row.put(trial.cost.map(|cost| cost.picodollars()))?;
        row.put(trial.latency_ms)?;
        row.put(trial.first_token_ms)?;
        row.put(trial.queue_wait_ms)?;
        row.put(trial.backoff_wait_ms)?;
        row.put(trial.attempts)?;
        row.put(trial.source.as_str())?;
        row.put(trial.started_at.0)?;
        row.put(trial.finished_at.0)?;
        row.put(answer)?;
        row.put(trial.stop_reason.as_deref())?;
        row.put(trial.request_id.as_deref())?;
        row.put(trial.model_returned.as_deref())?;
        row.put(trial.system_fingerprint.as_deref())?;
        row.put(failure.and_then(|failure| failure.status))?;
        row.put(failure.and_then(|failure| failure.retry_after).map(millis))?;
        row.put(failure.map(|failure| failure.may_be_billed))?;
        row.put(failure.map(|failure| failure.message.as_str()))?;
        row.put(trial.metered.raw.as_deref())?;
        let stored = row.execute()? == 1;
        if stored {
            application::insert(self.connection, trial)?;
        }
        Ok(stored)
    }

    /// Writes an attempt. One whose number is taken, since a process died before it could tell how
    /// far it was, is written under the next number: no request that was made is forgotten.
    pub(in crate::store) fn attempt(&mut self, key: TrialKey, attempt: &Attempt) -> rusqlite::Result<()> {
        if self.insert_attempt(key, attempt, attempt.number)? {
            return Ok(());
        }
        let TrialKey { run, target, case, repeat } = key;
        let last: u32 = self.last_attempt.query_row(params![run, target, case, repeat], |row| row.get(0))?;
        self.insert_attempt(key, attempt, last + 1).map(drop)
    }

    fn insert_attempt(&mut self, key: TrialKey, attempt: &Attempt, number: u32) -> rusqlite::Result<bool> {
        let failure = match &attempt.end {
            AttemptEnd::Answered => None,
            AttemptEnd::Failed(failure) => Some(failure),
        };
        let mut row = Binder::of(&mut self.attempt);
        row.key(key)?;
        row.put(number)?;
        row.put(attempt.started_at.0)?;
        row.put(attempt.duration_ms)?;
        row.put(attempt.backoff_ms)?;
        row.put(attempt.status.or(failure.and_then(|failure| failure.status)))?;
        row.put(failure.map(|failure| failure.class.as_str()))?;
        row.put(failure.map(|failure| failure.kind.as_str()))?;
        row.put(failure.and_then(|failure| failure.retry_after).map(millis))?;
        row.put(failure.map(|failure| failure.may_be_billed))?;
        row.usage(&attempt.metered)?;
        row.put(attempt.metered.flag.map(|flag| flag.as_str()))?;
        row.put(attempt.cost.map(|cost| cost.picodollars()))?;
        row.put(attempt.request_id.as_deref())?;
        row.put(failure.map(|failure| failure.message.as_str()))?;
        row.put(attempt.metered.raw.as_deref())?;
        row.put(attempt.stderr.as_deref())?;
        Ok(row.execute()? == 1)
    }

    /// Writes what the graders said of a stored trial, in place of what they said before.
    pub(in crate::store) fn scores(
        &mut self,
        key: TrialKey,
        scores: &[Score],
        verdict: Verdict,
    ) -> rusqlite::Result<()> {
        let TrialKey { run, target, case, repeat } = key;
        let keeping = self.keeping(run)?;
        let verdict = params![verdict.as_str(), run, target, case, repeat];
        // There are scores only where there is a verdict, so a first one has nothing to take away.
        if self.first_verdict.execute(verdict)? == 0 {
            self.forget_scores.execute(params![run, target, case, repeat])?;
            // A trial that is not stored cannot be graded: an answer is kept before it is judged.
            self.new_verdict.execute(verdict).and_then(one_row)?;
        }
        for (position, score) in scores.iter().enumerate() {
            let grader = self.grader(run, score)?;
            let mut row = Binder::of(&mut self.score);
            row.key(key)?;
            row.put(i64::try_from(position).expect("a case has fewer than 2^63 graders"))?;
            row.put(grader)?;
            row.put(score.verdict.as_str())?;
            row.put(score.value)?;
            // A reason may quote the answer.
            row.put(if keeping == AnswerKeeping::Full { score.reason.as_str() } else { "" })?;
            row.execute()?;
        }
        Ok(())
    }

    /// What a run keeps of its answers.
    fn keeping(&mut self, run: RunRow) -> rusqlite::Result<AnswerKeeping> {
        if let Some(keeping) = self.keeping.get(&run) {
            return Ok(*keeping);
        }
        let keeping =
            self.connection.query_row("SELECT store_answers FROM run WHERE id = ?", [run], |row| {
                Columns::of(row).name()
            })?;
        self.keeping.insert(run, keeping);
        Ok(keeping)
    }

    /// The position of a score's grader in its run; a case's own grader gets the next one.
    fn grader(&mut self, run: RunRow, score: &Score) -> rusqlite::Result<GraderPos> {
        if !self.graders.contains_key(&run) {
            let known = read_graders(self.connection, run)?;
            self.graders.insert(run, known);
        }
        let known = self.graders.entry(run).or_default();
        let grader = (score.grader.clone(), score.hard);
        if let Some(position) = known.get(&grader) {
            return Ok(*position);
        }
        let position = known.values().max().map_or(GraderPos(0), |last| GraderPos(last.0 + 1));
        self.connection.execute(
            "INSERT INTO grader (run, position, name, hard) VALUES (?, ?, ?, ?)",
            params![run, position, score.grader.as_str(), score.hard],
        )?;
        known.insert(grader, position);
        Ok(position)
    }

    pub(in crate::store) fn connection(&self) -> &Connection {
        self.connection
    }

    /// Writes what a stored trial's retrieval was worth, in place of what was said before.
    pub(in crate::store) fn retrieval(&self, key: TrialKey, score: &RetrievalScore) -> rusqlite::Result<()> {
        application::score(self.connection, key, score)
    }

    pub(in crate::store) fn status(
        &self,
        run: RunRow,
        status: RunStatus,
        stop_reason: Option<&str>,
    ) -> rusqlite::Result<()> {
        status::set_status(self.connection, run, status, stop_reason)
    }
}

fn one_row(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

fn read_graders(
    connection: &Connection,
    run: RunRow,
) -> rusqlite::Result<HashMap<(GraderName, bool), GraderPos>> {
    connection
        .prepare("SELECT name, hard, position FROM grader WHERE run = ?")?
        .query_map([run], |row| Ok(((row.get::<_, String>(0)?.into(), row.get(1)?), row.get(2)?)))?
        .collect()
}
