//! Trials as they are counted: one row type and one SELECT for all that count them, never an answer.
//!
//! A comparison of a million trials spends its time here; it reads a third fewer columns.

use rusqlite::params;

use crate::domain::{
    AnswerSource, CasePos, Cost, FailureKind, Outcome, PricePos, Repeat, RunRow, TargetPos, Tariff, Usage,
    UsageFlag, Verdict,
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
    /// What went wrong, when it failed; `None` in a lean row.
    pub failure: Option<FailureKind>,
    /// Tokens of the successful attempt; `None` when they are not known.
    pub usage: Option<Usage>,
    /// Why they are not to be trusted as they stand; `None` in a lean row.
    pub usage_flag: Option<UsageFlag>,
    /// What the successful attempt cost; `None` when that is not known.
    pub cost: Option<Cost>,
    /// The price row by which it costs that; `None` in a lean row, when its cost was told, and in what
    /// was stored before rows were.
    pub price: Option<PricePos>,
    /// At what it was served; `None` in a lean row.
    pub tariff: Option<Tariff>,
    /// The successful attempt's own time, in milliseconds.
    pub latency_ms: Option<f64>,
    /// Its time to first token, in milliseconds; `None` in a lean row.
    pub first_token_ms: Option<f64>,
    /// Time spent waiting for a place, in milliseconds; `None` in a lean row.
    pub queue_wait_ms: Option<f64>,
    /// Attempts made for it; `None` in a lean row.
    pub attempts: Option<u32>,
    /// Where its answer came from; `None` in a lean row.
    pub source: Option<AnswerSource>,
}

/// How much of each trial is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// All of it.
    Full,
    /// What comparisons count: no waits, first tokens, failures or sources.
    Lean,
}

impl Detail {
    fn columns(self) -> &'static str {
        match self {
            Self::Full => {
                "case_position, repeat, outcome, gradable, verdict,
                 input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output,
                 reasoning, cost_picodollars, latency_ms,
                 failure_kind, usage_flag, first_token_ms, queue_wait_ms, attempts, source, price, tariff"
            }
            Self::Lean => {
                "case_position, repeat, outcome, gradable, verdict,
                 input_uncached, cache_read, cache_write_5m, cache_write_30m, cache_write_1h, output,
                 NULL, cost_picodollars, latency_ms"
            }
        }
    }
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
        detail: Detail,
        mut each: impl FnMut(&TrialRow),
    ) -> Result<(), StoreError> {
        let failed = failed_to("read the trials");
        let query = format!(
            "SELECT {} FROM trial WHERE run = ? AND target = ? ORDER BY case_position, repeat",
            detail.columns()
        );
        let mut statement = self.connection.prepare_cached(&query).map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            each(&trial_row(&mut Columns::of(row), detail).map_err(&failed)?);
        }
        Ok(())
    }
}

fn trial_row(columns: &mut Columns<'_, '_>, detail: Detail) -> rusqlite::Result<TrialRow> {
    let lean = TrialRow {
        case: columns.take()?,
        repeat: columns.take()?,
        outcome: columns.name()?,
        gradable: columns.take()?,
        verdict: columns.optional_name()?,
        usage: columns.usage()?,
        cost: columns.cost()?,
        price: None,
        tariff: None,
        latency_ms: columns.take()?,
        failure: None,
        usage_flag: None,
        first_token_ms: None,
        queue_wait_ms: None,
        attempts: None,
        source: None,
    };
    if detail == Detail::Lean {
        return Ok(lean);
    }
    Ok(TrialRow {
        failure: columns.optional_name()?,
        usage_flag: columns.optional_name()?,
        first_token_ms: columns.take()?,
        queue_wait_ms: columns.take()?,
        attempts: columns.take()?,
        source: columns.optional_name()?,
        price: columns.take()?,
        tariff: Some(columns.tariff()?),
        ..lean
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        fixtures::{answered, key, store_with},
        write::insert::Inserts,
    };

    #[test]
    fn a_lean_row_says_the_same_of_what_it_says() {
        let (store, run) = store_with(2, 2);
        let mut inserts = Inserts::prepare(&store.connection).unwrap();
        for (case, repeat) in [(1, 1), (0, 2), (0, 1)] {
            inserts.trial(&answered(key(run.id, 0, case, repeat), "x")).unwrap();
        }
        drop(inserts);
        let read = |detail| {
            let mut rows = vec![];
            store.for_each_trial_row(run.id, TargetPos(0), detail, |row| rows.push(*row)).unwrap();
            rows
        };
        let (full, lean) = (read(Detail::Full), read(Detail::Lean));
        let places: Vec<(u32, u32)> = full.iter().map(|row| (row.case.0, row.repeat.0)).collect();
        assert_eq!(places, [(0, 1), (0, 2), (1, 1)]);
        for (full, lean) in full.iter().zip(&lean) {
            assert!(full.queue_wait_ms.is_some() && full.attempts.is_some() && full.source.is_some());
            assert_eq!((lean.queue_wait_ms, lean.attempts, lean.source), (None, None, None));
            let TrialRow { case, repeat, outcome, gradable, verdict, cost, latency_ms, .. } = *full;
            let usage = full.usage.map(|usage| Usage { reasoning: None, ..usage });
            let said =
                TrialRow { case, repeat, outcome, gradable, verdict, cost, latency_ms, usage, ..*lean };
            assert_eq!(*lean, said);
        }
        assert_eq!(full.len(), lean.len());
    }
}
