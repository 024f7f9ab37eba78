//! Scores as they are counted, and the graders that gave them.

use rusqlite::{Connection, params};

use crate::domain::{CasePos, GraderName, GraderPos, Repeat, RunRow, TargetPos, Verdict};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// One grader's verdict, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreRow {
    /// The case's position in the run's golden set.
    pub case: CasePos,
    /// Which repeat, from 1.
    pub repeat: Repeat,
    /// The grader's row in [`Store::graders`].
    pub grader: GraderPos,
    /// Pass, fail or unscored.
    pub verdict: Verdict,
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

impl Store {
    /// Calls `each` with every score of a target, by case position, repeat and the case's order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn for_each_score_row(
        &self,
        run: RunRow,
        target: TargetPos,
        mut each: impl FnMut(ScoreRow),
    ) -> Result<(), StoreError> {
        let failed = failed_to("read the scores");
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT case_position, repeat, grader, verdict
                 FROM score WHERE run = ? AND target = ? ORDER BY case_position, repeat, position",
            )
            .map_err(&failed)?;
        let mut rows = statement.query(params![run, target]).map_err(&failed)?;
        while let Some(row) = rows.next().map_err(&failed)? {
            each(score_row(&mut Columns::of(row)).map_err(&failed)?);
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
}

fn score_row(columns: &mut Columns<'_, '_>) -> rusqlite::Result<ScoreRow> {
    Ok(ScoreRow {
        case: columns.take()?,
        repeat: columns.take()?,
        grader: columns.take()?,
        verdict: columns.name()?,
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
