//! A side as a small file to be committed.

use std::{fs, path::Path};

use super::{AppError, compare::find_sides};
use crate::{compare::read_sides, store::Store};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBaseline {
    /// The side.
    pub label: String,
    /// Its cases.
    pub cases: usize,
}

/// Writes the side that `text` means to `file`: counts, verdicts, costs and latencies, no answers.
///
/// # Errors
/// There is no such side, it cannot be read, or the file not written.
pub fn set(store: Option<&Store>, text: &str, file: &Path) -> Result<WrittenBaseline, AppError> {
    let sources = find_sides(store, &[text.to_owned()])?;
    let sides = read_sides(&sources, store.map_or(Path::new(""), Store::path))?;
    let side = sides.first().expect("one side was asked for");
    let unwritable = |error: std::io::Error| {
        let message = format!("{}: cannot be written: {error}", file.display());
        AppError::hinted(message, "name another file with --file")
    };
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    // Written beside and moved over, so that an interruption leaves the old baseline whole.
    let beside = file.with_extension("json.tmp");
    fs::write(&beside, side.to_baseline()).and_then(|()| fs::rename(&beside, file)).map_err(unwritable)?;
    Ok(WrittenBaseline { label: side.label.clone(), cases: side.cases.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{
        compare::{Wanted, compare},
        testing::Stored,
    };

    #[test]
    fn a_side_is_written_whole_and_can_be_compared_with() {
        let stored = Stored::new();
        let file = stored.beside("results/baseline.json");
        let written = set(Some(&stored.open()), "latest:good", &file).unwrap();
        assert_eq!((written.label.as_str(), written.cases), ("test-1:good", 8));
        let sides = [file.display().to_string(), "latest:good".to_owned()];
        let wanted = Wanted { sides: sides.to_vec(), ..Wanted::default() };
        assert!(compare(Some(&stored.open()), &wanted).unwrap().comparisons()[0].flips.rows.is_empty());
        assert!(!file.with_extension("json.tmp").exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let stored = Stored::new();
        let file = stored.experiment().join("baseline.json");
        let error = set(Some(&stored.open()), "latest:good", &file).unwrap_err().to_string();
        assert!(error.contains("cannot be written") && error.contains("baseline.json"), "{error}");
    }
}
