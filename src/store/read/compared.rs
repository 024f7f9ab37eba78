//! What a comparison counts: the leanest rows there are, so that a million of them are read at once.

use rusqlite::params;

use crate::domain::{CasePos, Cost, GraderPos, Outcome, Repeat, RunRow, TargetPos};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// One trial, as a comparison counts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedTrial {
    /// The case's position in the run's golden set.
    pub case: CasePos,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether it is to be graded.
    pub gradable: bool,
    /// Whether its graders passed it; `None` when it was not graded or is unscored.
    pub passed: Option<bool>,
    /// What the successful attempt cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// The successful attempt's own time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Tokens of the whole input; `None` when they are not known.
    pub input_tokens: Option<u32>,
    /// Tokens of it that were read from a cache.
    pub cached_tokens: Option<u32>,
    /// Tokens of the output.
    pub output_tokens: Option<u32>,
}

/// One grader's verdict, as a comparison counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparedScore {
    /// The case's position in the run's golden set.
    pub case: CasePos,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// The grader's row in [`Store::graders`].
    pub grader: GraderPos,
    /// Whether it passed; `None` when it could not be scored.
    pub passed: Option<bool>,
}

impl Store {
    /// Calls `each` with every stored trial of a target, by case position and repeat.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn for_each_compared_trial(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(ComparedTrial),
    ) -> Result<(), StoreError> {
        let failed = failed_to("read the trials");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT case_position, outcome, gradable,
                    CASE verdict WHEN 'pass' THEN 1 WHEN 'fail' THEN 0 END,
                    cost_picodollars, latency_ms,
                    input_uncached + cache_read + cache_write_5m + cache_write_30m + cache_write_1h,
                    cache_read, output
                 FROM trial WHERE run = ? AND target = ? ORDER BY case_position, repeat",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || {
                Ok(ComparedTrial {
                    case: columns.take()?,
                    outcome: columns.name()?,
                    gradable: columns.take()?,
                    passed: columns.take()?,
                    cost: columns.cost()?,
                    latency_ms: columns.take()?,
                    input_tokens: columns.take()?,
                    cached_tokens: columns.take()?,
                    output_tokens: columns.take()?,
                })
            };
            each(read().map_err(&failed)?);
        }
        Ok(())
    }

    /// Calls `each` with every score of a target, by case position and repeat.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn for_each_compared_score(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(ComparedScore),
    ) -> Result<(), StoreError> {
        let failed = failed_to("read the scores");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT case_position, repeat, grader,
                    CASE verdict WHEN 'pass' THEN 1 WHEN 'fail' THEN 0 END
                 FROM score WHERE run = ? AND target = ? ORDER BY case_position, repeat, position",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            let mut columns = Columns::of(row);
            let mut read = || {
                Ok(ComparedScore {
                    case: columns.take()?,
                    repeat: columns.take()?,
                    grader: columns.take()?,
                    passed: columns.take()?,
                })
            };
            each(read().map_err(&failed)?);
        }
        Ok(())
    }
}
