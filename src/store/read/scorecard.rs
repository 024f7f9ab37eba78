//! What scorecards and comparisons count: lean rows in a fixed order, never an answer.

use rusqlite::{Connection, params};

use crate::domain::{
    AnswerSource, CasePos, Cost, FailureKind, GraderName, GraderPos, Outcome, Repeat, RunRow, TargetPos,
    Usage, UsageFlag, Verdict,
};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// One trial, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The case's position in the run's golden set.
    pub case: CasePos,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it is to be graded.
    pub gradable: bool,
    /// What its graders said together; `None`: not graded (yet), or not to be graded.
    pub verdict: Option<Verdict>,
    /// What went wrong, when it failed.
    pub failure: Option<FailureKind>,
    /// Tokens of the successful attempt; `None` when they are not known.
    pub usage: Option<Usage>,
    /// Why they are not to be trusted as they stand.
    pub usage_flag: Option<UsageFlag>,
    /// What the successful attempt cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// The successful attempt's own time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Its time to first token, in milliseconds.
    pub first_token_ms: Option<f64>,
    /// Time spent waiting for a place, in milliseconds.
    pub queue_wait_ms: f64,
    /// Time spent in back-off, in milliseconds.
    pub backoff_wait_ms: f64,
    /// Attempts made for it.
    pub attempts: u32,
    /// Where its answer came from.
    pub source: AnswerSource,
}

/// One grader's verdict, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRow<'row> {
    /// The case's position in the run's golden set.
    pub case: CasePos,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// The score's place in the case's list of graders.
    pub position: u32,
    /// The grader's row in [`Store::graders`].
    pub grader: GraderPos,
    /// Pass, fail or unscored.
    pub verdict: Verdict,
    /// The value behind it.
    pub value: Option<f64>,
    /// What was missing or found.
    pub reason: &'row str,
}

/// A grader whose scores a run holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraderRow {
    /// Its position, by which scores name it.
    pub position: GraderPos,
    /// The name its scores are reported under.
    pub name: GraderName,
    /// Whether its failures are hard ones.
    pub hard: bool,
    /// Which grader it is; `None` for one that only a case names.
    pub kind: Option<String>,
    /// The version of its rules; `None` for one that only a case names.
    pub version: Option<String>,
}

/// What the failed attempts of a target cost beyond its trials' own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptTotals {
    /// All requests made.
    pub attempts: u64,
    /// Those that failed.
    pub failed: u64,
    /// Known cost of those that failed.
    pub failed_cost: Cost,
    /// Failed ones that may have been billed at an unknown cost.
    pub failed_unpriced: u64,
}

impl Store {
    /// Calls `each` with every stored trial of a target, by case position and repeat.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_measured<E: From<StoreError>>(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(Measured) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read the trials");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT case_position, repeat, outcome, gradable, verdict, failure_kind,
                    input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output,
                    reasoning, usage_flag, cost_picodollars, latency_ms, first_token_ms, queue_wait_ms,
                    backoff_wait_ms, attempts, source
                 FROM trial WHERE run = ? AND target = ? ORDER BY case_position, repeat",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            each(measured(&mut Columns::of(row)).map_err(&failed)?)?;
        }
        Ok(())
    }

    /// Calls `each` with every score of a target, by case position, repeat and the case's order.
    ///
    /// # Errors
    /// When the store cannot be read, and the first error of `each`.
    pub fn for_each_score<E: From<StoreError>>(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(ScoreRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = failed_to("read the scores");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT case_position, repeat, position, grader, verdict, value, reason
                 FROM score WHERE run = ? AND target = ? ORDER BY case_position, repeat, position",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || {
                Ok(ScoreRow {
                    case: columns.take()?,
                    repeat: columns.take()?,
                    position: columns.take()?,
                    grader: columns.take()?,
                    verdict: columns.name()?,
                    value: columns.take()?,
                    reason: columns.text()?,
                })
            };
            each(read().map_err(&failed)?)?;
        }
        Ok(())
    }

    /// The graders whose scores a run holds or expects, by position.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn graders(&self, run: RunRow) -> Result<Vec<GraderRow>, StoreError> {
        graders(&self.connection, run).map_err(failed_to("read the run's graders"))
    }

    /// What a run has spent as far as it is known: the cost of all its attempts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn spent(&self, run: RunRow) -> Result<Cost, StoreError> {
        self.connection
            .prepare_cached("SELECT coalesce(sum(cost_picodollars), 0) FROM attempt WHERE run = ?")
            .and_then(|mut statement| {
                statement.query_row([run], |row| Ok(Columns::of(row).cost()?.unwrap_or_default()))
            })
            .map_err(failed_to("read what the run has spent"))
    }

    /// What a target's attempts came to, the failed ones apart.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn attempt_totals(&self, run: RunRow, target: TargetPos) -> Result<AttemptTotals, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT count(*), count(class), coalesce(sum(cost_picodollars) FILTER (WHERE class IS NOT NULL), 0),
                    count(*) FILTER (WHERE may_be_billed AND cost_picodollars IS NULL)
                 FROM attempt WHERE run = ? AND target = ?",
            )
            .and_then(|mut statement| {
                statement.query_row(params![run, target], |row| {
                    let mut columns = Columns::of(row);
                    Ok(AttemptTotals {
                        attempts: columns.count()?,
                        failed: columns.count()?,
                        failed_cost: columns.cost()?.unwrap_or_default(),
                        failed_unpriced: columns.count()?,
                    })
                })
            })
            .map_err(failed_to("read the attempts"))
    }
}

fn measured(columns: &mut Columns<'_, '_>) -> rusqlite::Result<Measured> {
    Ok(Measured {
        case: columns.take()?,
        repeat: columns.take()?,
        outcome: columns.name()?,
        gradable: columns.take()?,
        verdict: columns.optional_name()?,
        failure: columns.optional_name()?,
        usage: columns.usage()?,
        usage_flag: columns.optional_name()?,
        cost: columns.cost()?,
        latency_ms: columns.take()?,
        first_token_ms: columns.take()?,
        queue_wait_ms: columns.take()?,
        backoff_wait_ms: columns.take()?,
        attempts: columns.take()?,
        source: columns.name()?,
    })
}

fn graders(connection: &Connection, run: RunRow) -> rusqlite::Result<Vec<GraderRow>> {
    connection
        .prepare_cached(
            "SELECT position, name, hard, kind, version FROM grader WHERE run = ? ORDER BY position",
        )?
        .query_map([run], |row| {
            let mut columns = Columns::of(row);
            Ok(GraderRow {
                position: columns.take()?,
                name: columns.take::<String>()?.into(),
                hard: columns.take()?,
                kind: columns.take()?,
                version: columns.take()?,
            })
        })?
        .collect()
}
