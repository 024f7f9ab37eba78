//! Stores and runs by the names that people give them.

use std::{env, path::Path};

use super::AppError;
use crate::{
    config::{DEFAULT_STORE, STORE_VARIABLE},
    store::{RunDetail, Store},
};

/// Opens the store at `path` to read it.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn open_to_read(path: &Path) -> Result<Store, AppError> {
    Ok(Store::open_to_read(path)?)
}

/// Opens the store at `path` to write to it; it must exist.
///
/// # Errors
/// There is none, or it cannot be used.
pub fn open_to_write(path: &Path) -> Result<Store, AppError> {
    // A missing store is told as such, and not made.
    drop(Store::open_to_read(path)?);
    Ok(Store::open(path)?)
}

/// The run that `text` means, with all that was frozen.
///
/// # Errors
/// No run or several are meant, or the store cannot be read.
pub fn find_run(store: &Store, text: &str) -> Result<RunDetail, AppError> {
    let row = store.find_run(text)?;
    Ok(store.run_detail(row.id)?)
}

/// ` --store FILE`, or nothing when commands find that store by themselves.
pub fn store_flag(store: &Path) -> String {
    let by_variable = env::var_os(STORE_VARIABLE).is_some_and(|path| path == store.as_os_str());
    if by_variable || store == Path::new(DEFAULT_STORE) {
        String::new()
    } else {
        format!(" --store {}", shell_word(store))
    }
}

/// A path as one word for a shell: in quotes where it holds what a shell would read otherwise.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |character: char| character.is_alphanumeric() || "/._-+=:@%,".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::testing::Stored, store::StoreError};

    #[test]
    fn a_run_is_found_by_its_name_and_by_its_beginning() {
        let stored = Stored::new();
        for text in ["test-1", "latest", "test"] {
            assert_eq!(find_run(&stored.open(), text).unwrap().row.name.as_str(), "test-1", "{text}");
        }
        assert!(find_run(&stored.open(), "other").is_err());
    }

    #[test]
    fn a_missing_store_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.db");
        assert!(matches!(open_to_write(&path), Err(AppError::Store(StoreError::Missing { .. }))));
        assert!(!path.exists());
    }

    #[test]
    fn the_usual_store_needs_no_flag() {
        assert_eq!(store_flag(Path::new(DEFAULT_STORE)), "");
        assert_eq!(store_flag(Path::new("other.db")), " --store other.db");
    }

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(shell_word(Path::new("results/a-1.db")), "results/a-1.db");
        assert_eq!(shell_word(Path::new("sp ace/a'b.db")), r"'sp ace/a'\''b.db'");
    }
}
