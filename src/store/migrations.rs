//! Bringing a store to the present version: a list of steps with `user_version` as its index.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::{
    error::{StoreError, failed_to},
    schema,
};

/// Step *n* takes a store from version *n* to version *n + 1*. Steps are only ever appended.
const STEPS: [&str; 1] = [schema::VERSION_1];

/// The version this build reads and writes.
pub(super) const VERSION: usize = STEPS.len();

/// Marks the file as ours: the bytes `CLOD` in SQLite's header.
const APPLICATION_ID: i64 = 0x434C_4F44;

/// Brings the store to [`VERSION`] and touches it, which fails on a disk that cannot be written:
/// before the first paid request rather than after it.
///
/// # Errors
/// When the file is something else, is newer than this build, or cannot be written.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let not_writable = |source| StoreError::NotWritable { path: path.to_owned(), source };
    // Before anything is written: a file of somebody else must stay as it is.
    check(connection, path)?;
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(not_writable)?;
    // Again, now that no other process can migrate between the look and the step.
    let version = check(&transaction, path)?;
    for step in &STEPS[version..] {
        transaction.execute_batch(step).map_err(failed_to("bring the store to the present version"))?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| {
            transaction.pragma_update(None, "user_version", i64::try_from(VERSION).unwrap_or(i64::MAX))
        })
        .and_then(|()| transaction.commit())
        .map_err(not_writable)
}

/// The version of a store, once it is known to be one that this build can read or bring up to date.
///
/// # Errors
/// When the file is something else, or newer than this build.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let head = || -> rusqlite::Result<(i64, i64, i64)> {
        let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((number("application_id")?, number("user_version")?, tables))
    };
    let not_a_store = || StoreError::NotAStore { path: path.to_owned() };
    let (application, version, tables) = head().map_err(|source| match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => not_a_store(),
        _ => StoreError::Open { path: path.to_owned(), source },
    })?;
    let is_fresh = version == 0 && tables == 0;
    if application != APPLICATION_ID && !is_fresh {
        return Err(not_a_store());
    }
    let found = usize::try_from(version).map_err(|_| not_a_store())?;
    if found > VERSION {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: VERSION });
    }
    Ok(found)
}
