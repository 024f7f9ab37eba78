//! Trials as they are counted: one row type and one SELECT for all that count them, never an answer.

use rusqlite::params;

use crate::domain::{
    AnswerSource, CasePos, Cost, FailureKind, Outcome, Repeat, RunRow, TargetPos, Usage, UsageFlag, Verdict,
};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// One trial, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRow {
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
    /// Attempts made for it.
    pub attempts: u32,
    /// Where its answer came from.
    pub source: AnswerSource,
}

impl Store {
    /// Calls `each` with every stored trial of a target, by case position and repeat.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn for_each_trial_row(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(&TrialRow),
    ) -> Result<(), StoreError> {
        let failed = failed_to("read the trials");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT case_position, repeat, outcome, gradable, verdict, failure_kind,
                    input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output,
                    reasoning, usage_flag, cost_picodollars, latency_ms, first_token_ms, queue_wait_ms,
                    attempts, source
                 FROM trial WHERE run = ? AND target = ? ORDER BY case_position, repeat",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            each(&trial_row(&mut Columns::of(row)).map_err(&failed)?);
        }
        Ok(())
    }
}

fn trial_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<TrialRow> {
    Ok(TrialRow {
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
        attempts: columns.take()?,
        source: columns.name()?,
    })
}
