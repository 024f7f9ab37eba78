//! Answers, each text kept once.

use rusqlite::{Connection, Statement, params};

use super::packed::Packed;
use crate::domain::AnswerKeeping;

/// SQL that is true of an answer `a` whose text is not kept: it was stored as a hash, or forgotten.
pub(in crate::store) const NOT_KEPT: &str = "(a.id IS NOT NULL AND a.text = '' AND a.zstd IS NULL)";

/// Finds, adds and drops answers.
pub(in crate::store) struct Answers<'connection> {
    find: Statement<'connection>,
    add: Statement<'connection>,
    fill: Statement<'connection>,
    drop_unused: Statement<'connection>,
}

impl<'connection> Answers<'connection> {
    pub(in crate::store) fn prepare(connection: &'connection Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare("SELECT id, text = '' AND zstd IS NULL FROM answer WHERE hash = ?")?,
            add: connection.prepare(
                "INSERT INTO answer (hash, text, zstd, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING",
            )?,
            fill: connection.prepare("UPDATE answer SET text = ?, zstd = ? WHERE id = ?")?,
            drop_unused: connection.prepare(
                "DELETE FROM answer WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM trial WHERE answer = ?1)",
            )?,
        })
    }

    /// The row of that answer, added when it is new; an empty one has none.
    pub(in crate::store) fn id_of(
        &mut self,
        text: &str,
        packed: &Packed,
        keeping: AnswerKeeping,
    ) -> rusqlite::Result<Option<i64>> {
        if text.is_empty() { Ok(None) } else { self.row_of(text, packed, keeping).map(Some) }
    }

    /// The row of that answer, added when it is new.
    pub(in crate::store) fn row_of(
        &mut self,
        text: &str,
        packed: &Packed,
        keeping: AnswerKeeping,
    ) -> rusqlite::Result<i64> {
        let (plain, zstd) = match (keeping, &packed.zstd) {
            (AnswerKeeping::Hash, _) => ("", None),
            (AnswerKeeping::Full, Some(zstd)) => ("", Some(zstd.as_slice())),
            (AnswerKeeping::Full, None) => (text, None),
        };
        // Most answers are new: what is there already is looked for only where it is in the way.
        match self.add.insert(params![packed.hash, plain, zstd, packed.bytes]) {
            Err(rusqlite::Error::StatementChangedRows(0)) => {}
            added => return added,
        }
        let (id, is_empty): (i64, bool) =
            self.find.query_row([packed.hash], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if is_empty && keeping == AnswerKeeping::Full {
            self.fill.execute(params![plain, zstd, id])?;
        }
        Ok(id)
    }

    /// Drops the answer if no trial has it.
    pub(in crate::store) fn drop_unused(&mut self, id: i64) -> rusqlite::Result<()> {
        self.drop_unused.execute([id]).map(drop)
    }
}
