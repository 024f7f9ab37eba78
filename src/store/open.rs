//! Opening the store's file.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{
    error::{StoreError, failed_to},
    files::with_suffix,
    schema::migrations,
    write::dictionary,
};

/// How long a connection waits for another one's write to end.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it waits between two looks. SQLite's own handler backs off to 100 ms, at which a
/// process that writes without pause would starve the others.
pub(super) const BUSY_POLL: Duration = Duration::from_millis(2);

/// One connection to the store.
///
/// Durability: `synchronous = FULL` in WAL mode. What a commit has confirmed survives a crash of
/// the process and a loss of power alike. Commits are grouped (up to 1,000 rows), so that the one
/// `fsync` each costs little: an answer that was paid is worth more.
#[derive(Debug)]
pub struct Store {
    pub(super) connection: Connection,
    path: PathBuf,
    /// The version of a store that a later caseload wrote and this one can read.
    newer: Option<usize>,
}

impl Store {
    /// Opens the store at `path` for reading and writing, and makes it where there is none.
    ///
    /// # Errors
    /// When the folder cannot be made, the file cannot be opened or written, is not a store, or was
    /// written by a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let connection =
            Connection::open(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        Self::prepare(connection, path)
    }

    /// A store in memory, gone when it is dropped.
    ///
    /// # Errors
    /// When SQLite cannot provide one.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        let connection = Connection::open_in_memory()
            .map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        Self::prepare(connection, path)
    }

    /// Opens the store at `path` to read it; other processes may go on writing. An older one is brought
    /// up to date first; a newer one is read as far as it reads the same; one on a medium that cannot be
    /// written is taken as it stands.
    ///
    /// No statement of its writes. The file is nevertheless opened to be written, where it can be: SQLite
    /// moves what the log holds into the file, and removes the log, when the last connection closes, but
    /// for one that may not write. Readers outlive the writer, and after each orderly end the file alone
    /// is to be the whole store: it is what people copy.
    ///
    /// # Errors
    /// When there is no such file, it cannot be opened, is not a store, or has a version that cannot
    /// be read.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        match Self::reading(path, false) {
            Err(older @ StoreError::Older { .. }) => {
                let failure = Self::open(path).err();
                // Another process may have brought it up to date meanwhile.
                Self::reading(path, false).map_err(|_| match failure {
                    Some(failure) if !failure.is_of_the_place() => failure,
                    _ => older,
                })
            }
            // In WAL mode readers write, too: an index of the log beside the file. Where that cannot be
            // done nobody else can write either; what a log still holds could not be read, though.
            Err(StoreError::Open { .. }) if !has_log(path) => Self::reading(path, true),
            opened => opened,
        }
    }

    fn reading(path: &Path, immutable: bool) -> Result<Self, StoreError> {
        let connection = if immutable {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        } else {
            // SQLite itself opens a file that cannot be written to read it only.
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(path, flags)
        };
        let connection = connection.map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        wait_when_busy(&connection)?;
        connection
            .execute_batch("PRAGMA query_only = ON; PRAGMA synchronous = FULL;")
            .map_err(failed_to("set up the store"))?;
        let newer = match migrations::check(&connection, path) {
            Ok(0) => return Err(StoreError::NotAStore { path: path.to_owned() }),
            Ok(found) if found < migrations::VERSION => {
                return Err(StoreError::Older { path: path.to_owned(), found, known: migrations::VERSION });
            }
            Ok(_) => None,
            Err(StoreError::Newer { found, .. }) if migrations::reads_the_same(&connection) => Some(found),
            Err(error) => return Err(error),
        };
        dictionary::load(&connection).map_err(failed_to("read the store's dictionaries"))?;
        Ok(Self { connection, path: path.to_owned(), newer })
    }

    /// The version of the store, when a later caseload wrote it: it is only read.
    pub fn newer_version(&self) -> Option<usize> {
        self.newer
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn prepare(mut connection: Connection, path: &Path) -> Result<Self, StoreError> {
        wait_when_busy(&connection)?;
        migrations::check(&connection, path)?;
        use_wal(&connection).map_err(|source| StoreError::unwritten(path, source))?;
        connection
            .execute_batch(
                "PRAGMA foreign_keys = ON;
                 PRAGMA synchronous = FULL;
                 PRAGMA cache_size = -32000;
                 PRAGMA wal_autocheckpoint = 4000;
                 PRAGMA journal_size_limit = 67108864;",
            )
            .map_err(failed_to("set up the store"))?;
        migrations::migrate(&mut connection, path)?;
        dictionary::load(&connection).map_err(failed_to("read the store's dictionaries"))?;
        Ok(Self { connection, path: path.to_owned(), newer: None })
    }
}

/// Whether there is a log beside the file that holds something.
fn has_log(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// The file as a URI that promises SQLite that nobody writes to it.
fn immutable_uri(path: &Path) -> String {
    let escaped = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

fn wait_when_busy(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_handler(Some(wait_once)).map_err(failed_to("set up the store"))
}

/// Waits before look number `looks`; `false` gives up.
fn wait_once(looks: i32) -> bool {
    wait_up_to(BUSY_TIMEOUT, looks)
}

/// The same for one who waits for locks himself.
pub(super) fn wait_briefly(looks: i32) -> bool {
    wait_up_to(10 * BUSY_POLL, looks)
}

fn wait_up_to(timeout: Duration, looks: i32) -> bool {
    let waited = BUSY_POLL.saturating_mul(looks.unsigned_abs());
    let goes_on = waited < timeout;
    if goes_on {
        thread::sleep(BUSY_POLL);
    }
    goes_on
}

/// Turns write-ahead logging on: readers then never wait for the writer. The switch needs the file
/// alone, and SQLite does not call the busy handler for it.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && began.elapsed() < BUSY_TIMEOUT =>
            {
                thread::sleep(BUSY_POLL);
            }
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_missing_folder_is_made() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("deep/er/caseload.db");
        Store::open(&path).unwrap();
        assert!(Store::open_to_read(&path).unwrap().list_runs().unwrap().is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_written_fails_when_it_is_opened() {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("a-file");
        fs::write(&file, "not a folder").unwrap();
        assert!(matches!(Store::open(file.join("caseload.db")), Err(StoreError::Folder { .. })));
        assert!(matches!(Store::open(folder.path()), Err(StoreError::Open { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn a_read_only_folder_fails_when_it_is_opened() {
        use std::os::unix::fs::PermissionsExt;

        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        drop(Store::open(&path).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
        // The superuser may write everywhere; for everyone else opening must fail.
        let is_superuser = fs::write(folder.path().join("probe"), "").is_ok();
        let opened = Store::open(&path);
        assert_eq!(opened.is_ok(), is_superuser, "{opened:?}");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_store_that_nobody_can_write_is_read_as_it_stands() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("a ?#%.db");
        drop(Store::open(&path).unwrap());
        assert!(Store::reading(&path, true).unwrap().list_runs().unwrap().is_empty());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was written beside it");
    }

    #[test]
    fn the_last_reader_leaves_one_file_and_writes_nothing_of_its_own() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        let writer = Store::open(&path).unwrap();
        let reader = Store::open_to_read(&path).unwrap();
        writer.connection.execute_batch("CREATE TABLE late (x); INSERT INTO late VALUES (1)").unwrap();
        drop(writer);
        assert!(has_log(&path));
        assert!(reader.connection.execute_batch("DELETE FROM late").is_err());
        drop(reader);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the log was left");
        let alone = Store::reading(&path, true).unwrap();
        let rows: i64 =
            alone.connection.query_row("SELECT count(*) FROM late", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 1);
    }

    #[test]
    fn a_missing_store_is_told_with_a_hint_when_it_is_only_read() {
        let error = Store::open_to_read("no/such/caseload.db").unwrap_err();
        assert_eq!(
            error.to_string(),
            "no store at `no/such/caseload.db`\n  hint: run an experiment first, or give its place with --store"
        );
    }

    #[test]
    fn the_connection_is_durable_and_checks_references() {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path().join("caseload.db")).unwrap();
        let pragma = |name: &str| -> String {
            store
                .connection
                .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
                .map(|value| format!("{value:?}"))
                .unwrap()
        };
        assert_eq!(pragma("journal_mode"), r#"Text("wal")"#);
        assert_eq!(pragma("foreign_keys"), "Integer(1)");
        assert_eq!(pragma("synchronous"), "Integer(2)");
    }
}
