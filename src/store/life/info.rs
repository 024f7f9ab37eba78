//! How large a store is, by run and by kind.

use std::fs;

use crate::domain::RunId;
use crate::store::{
    error::{StoreError, failed_to},
    files::with_suffix,
    open::Store,
};

/// How large a store is.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreInfo {
    /// The schema's version.
    pub version: i64,
    /// The file's size in bytes.
    pub file_bytes: u64,
    /// The log's.
    pub log_bytes: u64,
    /// Bytes of the file that hold nothing: `compact` gives them back.
    pub free_bytes: u64,
    /// By kind of data, the largest first.
    pub kinds: Vec<KindSize>,
    /// By run, the latest first.
    pub runs: Vec<RunSize>,
}

/// The size of one kind of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindSize {
    /// The table.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its pages and those of its indexes, in bytes.
    pub bytes: u64,
}

/// The size of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSize {
    /// The run.
    pub name: RunId,
    /// Trials stored.
    pub trials: u64,
    /// The length of its answers, in bytes.
    pub answers: u64,
    /// What they take in the store; one that several trials or runs share counts once in each run.
    pub answers_stored: u64,
    /// An estimate of all else it takes: its rows by their tables' average.
    pub rest: u64,
}

impl Store {
    /// How large the store is, by run and by kind.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn info(&self) -> Result<StoreInfo, StoreError> {
        self.measure().map_err(failed_to("measure the store"))
    }

    fn measure(&self) -> rusqlite::Result<StoreInfo> {
        let pragma = |name: &str| -> rusqlite::Result<i64> {
            self.connection.pragma_query_value(None, name, |row| row.get(0))
        };
        let bytes = |path: &std::path::Path| fs::metadata(path).map_or(0, |file| file.len());
        let kinds = self.kinds()?;
        let runs = self.run_sizes(&kinds)?;
        Ok(StoreInfo {
            version: pragma("user_version")?,
            file_bytes: bytes(self.path()),
            log_bytes: bytes(&with_suffix(self.path(), "-wal")),
            free_bytes: (pragma("freelist_count")? * pragma("page_size")?).unsigned_abs(),
            kinds,
            runs,
        })
    }

    fn kinds(&self) -> rusqlite::Result<Vec<KindSize>> {
        let mut kinds: Vec<KindSize> = self
            .connection
            .prepare(
                "SELECT s.tbl_name, sum(d.pgsize) FROM dbstat d JOIN sqlite_schema s ON s.name = d.name
                 WHERE d.aggregate = TRUE GROUP BY s.tbl_name ORDER BY 2 DESC",
            )?
            .query_map([], |row| {
                Ok(KindSize { name: row.get(0)?, rows: 0, bytes: row.get::<_, i64>(1)?.unsigned_abs() })
            })?
            .collect::<rusqlite::Result<_>>()?;
        for kind in &mut kinds {
            let sql = format!("SELECT count(*) FROM \"{}\"", kind.name);
            kind.rows = self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0))?.unsigned_abs();
        }
        Ok(kinds)
    }

    fn run_sizes(&self, kinds: &[KindSize]) -> rusqlite::Result<Vec<RunSize>> {
        let mut answers = self.connection.prepare(
            "SELECT coalesce(sum(coalesce(a.bytes, octet_length(a.text))), 0),
                    coalesce(sum(coalesce(octet_length(a.zstd), octet_length(a.text))), 0)
             FROM answer a WHERE a.id IN (SELECT answer FROM trial WHERE run = ?)",
        )?;
        let names: Vec<(i64, String)> = self
            .connection
            .prepare("SELECT id, name FROM run WHERE deleted_at IS NULL ORDER BY id DESC")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut sizes = vec![];
        for (run, name) in names {
            let mut rest = 0;
            let mut trials = 0;
            for kind in kinds.iter().filter(|kind| PER_RUN.contains(&kind.name.as_str()) && kind.rows > 0) {
                let sql = format!("SELECT count(*) FROM {} WHERE run = ?", kind.name);
                let rows = self.connection.query_row(&sql, [run], |row| row.get::<_, i64>(0))?.unsigned_abs();
                rest += rows * kind.bytes / kind.rows;
                if kind.name == "trial" {
                    trials = rows;
                }
            }
            let (length, stored): (i64, i64) =
                answers.query_row([run], |row| Ok((row.get(0)?, row.get(1)?)))?;
            sizes.push(RunSize {
                name: name.into(),
                trials,
                answers: length.unsigned_abs(),
                answers_stored: stored.unsigned_abs(),
                rest,
            });
        }
        Ok(sizes)
    }
}

/// The tables that grow with a run.
const PER_RUN: [&str; 4] = ["trial", "attempt", "score", "run_case"];
