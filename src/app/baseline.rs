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
