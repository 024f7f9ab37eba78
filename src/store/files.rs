//! Files beside the store's own: their names, and whole copies of it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

use rusqlite::Connection;

use super::error::StoreError;

/// Writes a copy of the store to `file` by way of the temporary `part` beside it, which is the caller's
/// alone. What is there already stays.
pub(super) fn copy_to(connection: &Connection, file: &Path, part: &Path) -> Result<(), StoreError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => StoreError::BackupExists { path: file.to_owned() },
        _ => StoreError::Backup { path: file.to_owned(), source },
    };
    let copied = remove_if_there(part)
        .map_err(failed)
        .and_then(|()| {
            connection
                .execute("VACUUM INTO ?", [part.to_string_lossy()])
                .map_err(|source| StoreError::BackupSql { path: file.to_owned(), source })
        })
        .and_then(|_| {
            File::open(part)
                .and_then(|whole| whole.sync_all())
                .and_then(|()| rename_to_new(part, file))
                .map_err(failed)
        });
    if copied.is_err() {
        // Nothing of it is of use; that it cannot be removed either changes nothing.
        let _ = remove_if_there(part);
        let _ = remove_if_there(&with_suffix(part, "-journal"));
    }
    copied
}

/// A name beside `file` that no other process, here or on another machine, gives to anything.
pub(super) fn part_of(file: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    with_suffix(file, &format!(".part-{}-{now}", process::id()))
}

/// Renames, and never replaces: a second name is refused where one is there, a rename is not.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system knows second names.
        Err(_) if to.exists() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The path with something added to its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
