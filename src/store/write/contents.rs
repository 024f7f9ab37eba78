//! The contents of cases, each kept once.

use rusqlite::{Connection, OptionalExtension, Statement, params};

use super::packed::compressed;
use crate::store::error::{StoreError, failed_to};

/// Finds and adds contents of cases.
pub(in crate::store) struct Contents<'connection> {
    find: Statement<'connection>,
    add: Statement<'connection>,
    restore: Statement<'connection>,
}

impl<'connection> Contents<'connection> {
    pub(in crate::store) fn prepare(connection: &'connection Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            find: connection.prepare(
                "SELECT id, content = '' AND zstd IS NULL FROM case_content WHERE fingerprint = ?",
            )?,
            add: connection
                .prepare("INSERT INTO case_content (content, zstd, fingerprint) VALUES (?, ?, ?)")?,
            restore: connection.prepare("UPDATE case_content SET content = ?, zstd = ? WHERE id = ?")?,
        })
    }

    /// The row of that content, added when it is new. A content that was forgotten and is asked again
    /// is there again.
    pub(in crate::store) fn id_of(
        &mut self,
        fingerprint: &[u8],
        content: impl FnOnce() -> Result<String, StoreError>,
    ) -> Result<i64, StoreError> {
        let failed = failed_to("store a case's content");
        let found: Option<(i64, bool)> = self
            .find
            .query_row([fingerprint], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(&failed)?;
        if let Some((id, false)) = found {
            return Ok(id);
        }
        let content = content()?;
        let zstd = compressed(&content, None);
        let plain = if zstd.is_some() { "" } else { content.as_str() };
        match found {
            Some((id, _)) => self.restore.execute(params![plain, zstd, id]).map(|_| id),
            None => self.add.insert(params![plain, zstd, fingerprint]),
        }
        .map_err(&failed)
    }
}
