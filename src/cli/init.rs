//! `caseload init`: a first experiment to edit.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{error::CliError, exit_status::ExitStatus, output};

/// The files of a new project, by path.
const FILES: [(&str, &str); 2] = [
    ("config/experiment.toml", include_str!("init/experiment.toml")),
    ("golden/cases.jsonl", include_str!("init/cases.jsonl")),
];

/// Make a first experiment and golden set to edit
///
/// Writes `config/experiment.toml` and `golden/cases.jsonl` into a folder. They run as they are,
/// offline, against the simulator. Nothing is overwritten.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The folder
    #[arg(default_value = ".")]
    folder: PathBuf,
}

/// Does `caseload init`.
pub(super) fn init(arguments: &InitArgs) -> Result<ExitStatus, CliError> {
    let paths: Vec<PathBuf> = FILES.iter().map(|(path, _)| arguments.folder.join(path)).collect();
    let existing: Vec<String> =
        paths.iter().filter(|path| path.exists()).map(|path| format!("`{}`", path.display())).collect();
    if !existing.is_empty() {
        return Err(CliError::hinted(
            format!("already there: {}", existing.join(", ")),
            "give another folder, or move them away: nothing is overwritten",
        ));
    }
    for (path, (_, content)) in paths.iter().zip(FILES) {
        write_new(path, content)
            .map_err(|error| CliError::usage(format!("`{}` cannot be written: {error}", path.display())))?;
        output::data(&format!("wrote {}", path.display()))?;
    }
    output::note(&format!("next:\n  caseload check {0}\n  caseload run {0}", paths[0].display()));
    Ok(ExitStatus::Success)
}

fn write_new(path: &Path, content: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content.as_bytes())
}
