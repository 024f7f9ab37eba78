//! Bringing a store to the present version: a list of steps with `user_version` as its index.

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use super::{version_1, version_2, version_3, version_4, version_5, version_6, version_7, version_8};
use crate::store::{
    error::{StoreError, failed_to},
    files,
};

/// Step *n* takes a store from version *n* to version *n + 1*. Steps are only ever appended.
const STEPS: [&str; 8] = [
    version_1::SQL,
    version_2::SQL,
    version_3::SQL,
    version_4::SQL,
    version_5::SQL,
    version_6::SQL,
    version_7::SQL,
    version_8::SQL,
];

/// What all steps make of an empty file, for a new store: each step that changes a table has SQLite read
/// the whole schema anew, which takes longer than everything else about a small run.
const NEWEST: &str = include_str!("newest.sql");

/// The version this build reads and writes.
pub(in crate::store) const VERSION: usize = STEPS.len();

/// Marks the file as ours: the bytes `CLOD` in SQLite's header.
const APPLICATION_ID: i64 = 0x434C_4F44;

/// How long an older store's lock is waited for: another process may be copying all of it.
const PATIENCE: Duration = Duration::from_secs(600);

/// Brings the store to [`VERSION`] and touches it, which fails on a disk that cannot be written:
/// before the first paid request rather than after it. Of several processes that open an older store
/// one does it, and the others wait and find it done.
///
/// # Errors
/// When the file is something else, is newer than this build, or cannot be written.
pub(in crate::store) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    // Before anything is written: a file of somebody else must stay as it is.
    check(connection, path)?;
    let transaction = lock(connection, path)?;
    // Again, now that no other process can migrate between the look and the step.
    let version = check(&transaction, path)?;
    if (1..VERSION).contains(&version) {
        keep_before(path)?;
    }
    let steps = if version == 0 { &[NEWEST] } else { &STEPS[version..] };
    for step in steps {
        transaction.execute_batch(step).map_err(failed_to("bring the store to the present version"))?;
    }
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .and_then(|()| {
            transaction.pragma_update(None, "user_version", i64::try_from(VERSION).unwrap_or(i64::MAX))
        })
        .and_then(|()| transaction.commit())
        .map_err(|source| StoreError::unwritten(path, source))
}

/// The store's lock. That of an older one is waited for as long as another process may need to bring it
/// up to date.
fn lock<'a>(connection: &'a Connection, path: &Path) -> Result<Transaction<'a>, StoreError> {
    let began = Instant::now();
    loop {
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < PATIENCE
                    && check(connection, path)? < VERSION => {}
            locked => return locked.map_err(|source| StoreError::unwritten(path, source)),
        }
    }
}

/// Keeps a copy of an older store beside it, `NAME.db.before-vN` by the version it is brought to, unless an
/// earlier try has. Whoever does so has the store's lock: no other process makes one, and what is left of one is a dead one's.
fn keep_before(path: &Path) -> Result<(), StoreError> {
    let copy = files::with_suffix(path, &format!(".before-v{VERSION}"));
    // A store in memory has no file.
    if copy.exists() || !path.exists() {
        return Ok(());
    }
    // One that is within a transaction cannot copy.
    let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
    files::copy_to(&reader, &copy, &files::with_suffix(&copy, ".part"))
}

/// The version of a store, once it is known to be one that this build can read or bring up to date.
///
/// # Errors
/// When the file is something else, or newer than this build.
pub(in crate::store) fn check(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
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

/// Whether a store of another version has every table and column of this one.
pub(in crate::store) fn reads_the_same(connection: &Connection) -> bool {
    let own = Connection::open_in_memory().and_then(|own| own.execute_batch(NEWEST).map(|()| own));
    let columns = own.and_then(|own| Ok((columns(&own)?, columns(connection)?)));
    columns.is_ok_and(|(own, theirs)| own.is_subset(&theirs))
}

/// The columns of every table and view.
fn columns(connection: &Connection) -> rusqlite::Result<HashSet<(String, String)>> {
    let mut columns = connection.prepare(
        "SELECT thing.name, found.name FROM sqlite_schema thing, pragma_table_xinfo(thing.name) found
         WHERE thing.type IN ('table', 'view')",
    )?;
    columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::store::Store;

    fn file_with(sql: &str) -> (TempDir, std::path::PathBuf) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        (folder, path)
    }

    /// Where this fails after a new step: `newest.sql` is what it prints.
    #[test]
    fn a_new_store_is_what_all_steps_make_of_an_empty_one() {
        let made_by = |steps: &[&str]| {
            let connection = Connection::open_in_memory().unwrap();
            steps.iter().for_each(|step| connection.execute_batch(step).unwrap());
            let mut all = connection
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")
                .unwrap();
            let all = all.query_map([], |row| row.get::<_, String>(0)).unwrap();
            all.map(|sql| format!("{};\n", sql.unwrap())).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(made_by(&STEPS), made_by(&[NEWEST]));
        assert_eq!(made_by(&STEPS), NEWEST);
    }

    #[test]
    fn a_later_store_is_read_only_where_it_has_all_that_this_version_knows() {
        let changed = |change: &str| {
            let (_folder, path) = file_with("");
            let store = Store::open(&path).unwrap();
            store.connection.execute_batch(change).unwrap();
            let later = i64::try_from(VERSION + 1).unwrap();
            store.connection.pragma_update(None, "user_version", later).unwrap();
            drop(store);
            Store::open_to_read(&path).map(|store| store.newer_version())
        };
        for more in ["", "CREATE TABLE judge_call (id INTEGER);", "ALTER TABLE trial ADD COLUMN judge TEXT;"]
        {
            assert_eq!(changed(more).unwrap(), Some(VERSION + 1), "{more}");
        }
        for less in [
            "ALTER TABLE trial RENAME COLUMN tariff TO tier;",
            "ALTER TABLE attempt RENAME COLUMN price TO row;",
            "DROP TABLE queue_log;",
            "DROP TABLE application;",
            "ALTER TABLE estimate RENAME TO forecast;",
        ] {
            assert!(matches!(changed(less), Err(StoreError::Newer { .. })), "{less}");
        }
    }

    #[test]
    fn a_file_of_version_0_is_brought_to_the_present_one() {
        let (_folder, path) = file_with("PRAGMA user_version = 0; VACUUM;");
        let store = Store::open(&path).unwrap();
        assert_eq!(check(&store.connection, &path).unwrap(), VERSION);
        drop(store);
        // Opening again changes nothing.
        assert!(Store::open(&path).unwrap().list_runs().unwrap().is_empty());
    }

    #[test]
    fn an_older_store_is_copied_and_then_brought_up_to_date() {
        let (_folder, path) = file_with(&format!(
            "PRAGMA application_id = 0x434C4F44; PRAGMA user_version = 1; {}
             INSERT INTO run VALUES (1, 'a-1', 'a', 1, 'complete', '1', zeroblob(32), 'g', 'g', '{{}}', NULL,
                '[]', '0.1.0', NULL, 5, 6, NULL);",
            version_1::SQL
        ));
        let runs = |store: &Store| store.list_runs().unwrap().len();
        // Reading brings it up to date, too.
        assert_eq!(runs(&Store::open_to_read(&path).unwrap()), 1);
        let copy = files::with_suffix(&path, &format!(".before-v{VERSION}"));
        let old = Connection::open(&copy).unwrap();
        assert_eq!(check(&old, &copy).unwrap(), 1);
        assert_eq!(runs(&Store::open(&path).unwrap()), 1);
    }

    #[test]
    fn a_newer_store_that_reads_the_same_is_read_and_not_written() {
        let (_folder, path) = file_with("");
        drop(Store::open(&path).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA user_version = 99; ALTER TABLE run ADD COLUMN mood TEXT;").unwrap();
        let store = Store::open_to_read(&path).unwrap();
        assert_eq!(store.newer_version(), Some(99));
        assert!(store.list_runs().unwrap().is_empty());
        assert!(matches!(Store::open(&path), Err(StoreError::Newer { found: 99, .. })));
        connection.execute_batch("ALTER TABLE run RENAME COLUMN status TO state").unwrap();
        assert!(matches!(Store::open_to_read(&path), Err(StoreError::Newer { found: 99, .. })));
    }

    #[test]
    fn a_newer_store_is_refused_and_left_as_it_is() {
        let (_folder, path) = file_with("PRAGMA application_id = 0x434C4F44; PRAGMA user_version = 99;");
        let before = std::fs::read(&path).unwrap();
        for error in [Store::open(&path).unwrap_err(), Store::open_to_read(&path).unwrap_err()] {
            assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }

    #[test]
    fn what_is_no_store_is_refused_and_left_as_it_is() {
        let (_folder, foreign) = file_with("CREATE TABLE recipe (name TEXT);");
        let text = foreign.with_extension("txt");
        std::fs::write(
            &text,
            "a letter to my landlord, longer than SQLite's header is, which has 100 bytes; \
            so that it is read as one and found to be none",
        )
        .unwrap();
        for path in [foreign, text] {
            let before = std::fs::read(&path).unwrap();
            let error = Store::open(&path).unwrap_err();
            assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }
}
