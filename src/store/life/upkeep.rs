//! Keeping a store small and sound: compaction, backups and checks.

use std::{fs, path::Path};

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};

use crate::store::{
    error::{StoreError, failed_to},
    files::{copy_to, part_of, with_suffix},
    open::Store,
    write::packed::{hash_of, pack, unpack},
};

/// How many old rows one transaction packs.
const PACKED_A_STEP: u32 = 500;

/// What a compaction came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// The size of the file and its log before, in bytes.
    pub before: u64,
    /// The same after.
    pub after: u64,
}

impl Store {
    /// Packs what older versions stored plain, drops what nothing refers to, and gives the free space
    /// back to the system. When it fails, as on a full disk, everything is as it was.
    ///
    /// # Errors
    /// When a run is being worked on, or the store cannot be written.
    pub fn compact(&mut self) -> Result<Compacted, StoreError> {
        self.refuse_while_running()?;
        let before = self.size();
        self.finish_deletions()?;
        self.pack_old_rows().map_err(failed_to("pack old rows"))?;
        self.connection
            .execute_batch(
                "DELETE FROM answer WHERE NOT EXISTS (SELECT 1 FROM trial WHERE trial.answer = answer.id);
                 DELETE FROM case_content
                 WHERE NOT EXISTS (SELECT 1 FROM run_case WHERE content = case_content.id);
                 CREATE TEMP TABLE unused AS SELECT id FROM dictionary
                 WHERE name NOT IN (SELECT substr(zstd, 1, 8) FROM answer WHERE zstd IS NOT NULL);
                 DELETE FROM dictionary_case WHERE dictionary IN (SELECT id FROM unused);
                 DELETE FROM dictionary WHERE id IN (SELECT id FROM unused);
                 DROP TABLE unused;",
            )
            .map_err(failed_to("drop what nothing refers to"))?;
        self.vacuum()?;
        Ok(Compacted { before, after: self.size() })
    }

    /// Writes the file anew without free pages, and empties the log.
    pub(super) fn vacuum(&self) -> Result<(), StoreError> {
        self.connection.execute_batch("VACUUM").map_err(|source| StoreError::NotCompacted { source })?;
        self.empty_log()
    }

    /// Moves everything from the log into the file and cuts the log to nothing.
    fn empty_log(&self) -> Result<(), StoreError> {
        let busy: i64 = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(|source| StoreError::NotCompacted { source })?;
        if busy == 0 { Ok(()) } else { Err(StoreError::LogInUse) }
    }

    /// Refuses while a live process works on any run: it would wait too long for the store.
    pub(super) fn refuse_while_running(&self) -> Result<(), StoreError> {
        for run in self.list_runs()? {
            if self.is_worked_on(run.id)? {
                return Err(StoreError::Busy { run: run.name });
            }
        }
        Ok(())
    }

    fn size(&self) -> u64 {
        let log = with_suffix(self.path(), "-wal");
        [self.path(), &log].iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum()
    }

    fn pack_old_rows(&mut self) -> rusqlite::Result<()> {
        loop {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let packed = pack_old_answers(&transaction)? + pack_old_contents(&transaction)?;
            transaction.commit()?;
            if packed == 0 {
                return Ok(());
            }
        }
    }

    /// Writes a copy of the store to `file`, compacted, as it is at this moment; a run may go on
    /// meanwhile. The file appears when it is whole, or not at all.
    ///
    /// # Errors
    /// When `file` is there already or cannot be written.
    pub fn backup(&self, file: &Path) -> Result<(), StoreError> {
        if file.exists() {
            return Err(StoreError::BackupExists { path: file.to_owned() });
        }
        // A copy writes nothing into the store; SQLite takes it for a write nevertheless.
        let failed = failed_to("copy the store");
        let reads: bool =
            self.connection.pragma_query_value(None, "query_only", |row| row.get(0)).map_err(&failed)?;
        self.connection.pragma_update(None, "query_only", false).map_err(&failed)?;
        let copied = copy_to(&self.connection, file, &part_of(file));
        self.connection.pragma_update(None, "query_only", reads).map_err(&failed)?;
        copied
    }

    /// What is wrong with the store: damage, broken references, rows that nothing refers to, and
    /// texts that are not what their hash says. Empty when all is well.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        let failed = failed_to("check the store");
        let mut found = damage(&self.connection).map_err(&failed)?;
        if found.is_empty() {
            found.extend(orphans(&self.connection).map_err(&failed)?);
            found.extend(wrong_texts(&self.connection).map_err(&failed)?);
        }
        Ok(found)
    }
}

fn texts(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<(i64, String)>> {
    connection
        .prepare_cached(sql)?
        .query_map([PACKED_A_STEP], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

fn pack_old_answers(connection: &Connection) -> rusqlite::Result<usize> {
    let old = texts(connection, "SELECT id, text FROM answer WHERE hash IS NULL LIMIT ?")?;
    let mut find = connection.prepare_cached("SELECT id FROM answer WHERE hash = ?")?;
    for (id, text) in &old {
        let packed = pack(text, None);
        let equal: Option<i64> = find.query_row([packed.hash], |row| row.get(0)).optional()?;
        match equal {
            Some(equal) => {
                connection.execute("UPDATE trial SET answer = ? WHERE answer = ?", [equal, *id])?;
                connection.execute("DELETE FROM answer WHERE id = ?", [id])?;
            }
            None => {
                let plain = if packed.zstd.is_some() { "" } else { text };
                connection.execute(
                    "UPDATE answer SET hash = ?, text = ?, zstd = ?, bytes = ? WHERE id = ?",
                    params![packed.hash, plain, packed.zstd, packed.bytes, id],
                )?;
            }
        }
    }
    Ok(old.len())
}

fn pack_old_contents(connection: &Connection) -> rusqlite::Result<usize> {
    let old = texts(
        connection,
        "SELECT id, content FROM case_content WHERE length(content) >= 1024 AND zstd IS NULL LIMIT ?",
    )?;
    let mut packed = 0;
    for (id, text) in old {
        // Some texts cannot be made smaller, and stay.
        if let Some(zstd) = pack(&text, None).zstd {
            packed += 1;
            connection
                .execute("UPDATE case_content SET content = '', zstd = ? WHERE id = ?", params![zstd, id])?;
        }
    }
    Ok(packed)
}

/// What SQLite itself finds.
fn damage(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let integrity: rusqlite::Result<Vec<String>> = connection
        .prepare("PRAGMA integrity_check(20)")
        .and_then(|mut check| check.query_map([], |row| row.get(0))?.collect());
    let mut found = match integrity {
        Ok(lines) => lines,
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            return Ok(vec![error.to_string()]);
        }
        Err(error) => return Err(error),
    };
    found.retain(|line| line != "ok");
    let mut broken = connection.prepare(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY \"table\", parent",
    )?;
    let mut rows = broken.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        found.push(format!("{count} rows of `{table}` refer to rows of `{parent}` that are not there"));
    }
    Ok(found)
}

/// Rows that nothing refers to.
fn orphans(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    const QUERIES: [(&str, &str); 3] = [
        (
            "answers belong to no trial; `caseload store compact` drops them",
            "SELECT count(*) FROM answer a WHERE NOT EXISTS (SELECT 1 FROM trial WHERE answer = a.id)",
        ),
        (
            "contents belong to no case; `caseload store compact` drops them",
            "SELECT count(*) FROM case_content k
             WHERE NOT EXISTS (SELECT 1 FROM run_case WHERE content = k.id)",
        ),
        (
            "deleted runs are not quite gone; `caseload store compact` finishes them",
            "SELECT count(*) FROM run WHERE deleted_at IS NOT NULL",
        ),
    ];
    let mut found = vec![];
    for (what, sql) in QUERIES {
        let count: i64 = connection.query_row(sql, [], |row| row.get(0))?;
        if count > 0 {
            found.push(format!("{count} {what}"));
        }
    }
    Ok(found)
}

/// Texts that cannot be read, or are not what their hash says.
fn wrong_texts(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut wrong = 0_u64;
    let mut answers = connection.prepare("SELECT text, zstd, hash FROM answer WHERE hash IS NOT NULL")?;
    let mut rows = answers.query([])?;
    while let Some(row) = rows.next()? {
        let (plain, zstd): (String, Option<Vec<u8>>) = (row.get(0)?, row.get(1)?);
        let hash: [u8; 16] = row.get(2)?;
        let text = zstd.map_or(Some(plain), |packed| unpack(&packed).ok());
        let is_right = text.is_some_and(|text| text.is_empty() || hash_of(&text) == hash);
        wrong += u64::from(!is_right);
    }
    let mut contents = connection.prepare("SELECT zstd FROM case_content WHERE zstd IS NOT NULL")?;
    let mut rows = contents.query([])?;
    while let Some(row) = rows.next()? {
        wrong += u64::from(unpack(&row.get::<_, Vec<u8>>(0)?).is_err());
    }
    Ok(if wrong == 0 { vec![] } else { vec![format!("{wrong} texts are not what was stored")] })
}
