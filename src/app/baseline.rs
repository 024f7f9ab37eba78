//! A side as a small file to be committed.

use std::{fs, path::Path};

use super::{AppError, compare::find_sides, find_run::shell_word};
use crate::{
    compare::{Side, SideSource, read_sides},
    store::Store,
};

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenBaseline {
    /// The side.
    pub label: String,
    /// Its cases.
    pub cases: usize,
    /// The side that stood there before.
    pub replaced: Option<String>,
}

/// Writes the side that `text` means to `file`: counts, verdicts, costs and latencies, no answers. An older
/// baseline of the same target and golden set makes room; whatever else stands there only where `replace`
/// says so.
///
/// # Errors
/// There is no such side, it cannot be read, something else stands in the file, or it cannot be written.
pub fn set(
    store: Option<&Store>,
    text: &str,
    file: &Path,
    replace: bool,
) -> Result<WrittenBaseline, AppError> {
    let sources = find_sides(store, &[text.to_owned()])?;
    let sides = read_sides(&sources, store.map_or(Path::new(""), Store::path))?;
    let side = sides.first().expect("one side was asked for");
    let replaced = if replace || !file.exists() { None } else { Some(successor_of(file, side)?) };
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
    Ok(WrittenBaseline { label: side.label.clone(), cases: side.cases.len(), replaced })
}

/// What stands in `file`, where `side` is its successor.
fn successor_of(file: &Path, side: &Side) -> Result<String, AppError> {
    let refused = |what: String| {
        let other = file.with_file_name(format!("baseline-{}.json", side.target));
        let hint =
            format!("keep this one beside it with `--file {}`, or say `--replace`", shell_word(&other));
        AppError::hinted(format!("{}: {what}", file.display()), hint)
    };
    let held = SideSource::Baseline(file.to_owned()).read(Path::new("")).map_err(|_| {
        refused("there is something that is no baseline as this version knows them".to_owned())
    })?;
    let before = format!("{}:{}", held.run, held.target);
    if (&held.target, &held.golden_name) == (&side.target, &side.golden_name) {
        return Ok(before);
    }
    Err(refused(format!(
        "it is the baseline of `{}` over `{}`, and `{}` over `{}` is another",
        before, held.golden_name, side.label, side.golden_name
    )))
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
        let written = set(Some(&stored.open()), "latest:good", &file, false).unwrap();
        assert_eq!((written.label.as_str(), written.cases), ("test-1:good", 8));
        let sides = [file.display().to_string(), "latest:good".to_owned()];
        let wanted = Wanted { sides: sides.to_vec(), ..Wanted::default() };
        assert!(compare(Some(&stored.open()), &wanted).unwrap().comparisons()[0].flips.rows.is_empty());
        assert!(!file.with_extension("json.tmp").exists());
    }

    #[test]
    fn a_baseline_makes_room_for_its_successor_and_for_nothing_else() {
        let stored = Stored::new();
        let file = stored.beside("results/baseline.json");
        let set = |side: &str, replace| set(Some(&stored.open()), side, &file, replace);
        assert_eq!(set("test-1:good", false).unwrap().replaced, None);
        stored.run();
        assert_eq!(set("test-2:good", false).unwrap().replaced.as_deref(), Some("test-1:good"));
        let held = fs::read_to_string(&file).unwrap();
        let error = set("test-2:poor", false).unwrap_err().to_string();
        assert!(error.contains("it is the baseline of `test-2:good`"), "{error}");
        assert!(error.contains("baseline-poor.json`, or say `--replace`"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), held);
        assert_eq!(set("test-2:poor", true).unwrap().label, "test-2:poor");
        for other in ["{}", "name = \"an experiment\"", "", &held.replace("baseline\": 1", "baseline\": 9")] {
            fs::write(&file, other).unwrap();
            assert!(set("test-2:good", false).unwrap_err().to_string().contains("no baseline"), "{other}");
            assert_eq!(fs::read_to_string(&file).unwrap(), other);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let stored = Stored::new();
        let file = stored.experiment().join("baseline.json");
        let error = set(Some(&stored.open()), "latest:good", &file, false).unwrap_err().to_string();
        assert!(error.contains("cannot be written") && error.contains("baseline.json"), "{error}");
    }
}
