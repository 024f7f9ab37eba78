//! Files beside the store's own: their names, and whole copies of it.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::error::StoreError;

/// Writes a copy of the store to `file` by way of a temporary one beside it.
pub(super) fn copy_to(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let part = with_suffix(file, ".part");
    let copied = remove_if_there(&part)
        .map_err(|source| StoreError::Backup { path: file.to_owned(), source })
        .and_then(|()| {
            connection
                .execute("VACUUM INTO ?", [part.to_string_lossy()])
                .map_err(|source| StoreError::BackupSql { path: file.to_owned(), source })
        })
        .and_then(|_| {
            File::open(&part)
                .and_then(|whole| whole.sync_all())
                .and_then(|()| fs::rename(&part, file))
                .map_err(|source| StoreError::Backup { path: file.to_owned(), source })
        });
    if copied.is_err() {
        // Nothing of it is of use; that it cannot be removed either changes nothing.
        let _ = remove_if_there(&part);
        let _ = remove_if_there(&with_suffix(&part, "-journal"));
    }
    copied
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
