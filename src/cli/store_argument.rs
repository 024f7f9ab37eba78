//! `--store`, the same for every command that reads one.

use std::path::PathBuf;

use clap::Args;

use super::{error::CliError, output};
use crate::{
    config::{DEFAULT_STORE, STORE_VARIABLE},
    store::{RunDetail, Store},
};

/// Which store to read.
#[derive(Clone, Debug, Args)]
pub(super) struct StoreArgument {
    /// Read this store
    #[arg(long, value_name = "FILE", env = STORE_VARIABLE, default_value = DEFAULT_STORE, hide_env_values = true)]
    pub(super) store: PathBuf,
}

impl StoreArgument {
    /// Opens it for reading.
    pub(super) fn open(&self) -> Result<Store, CliError> {
        let store = Store::open_to_read(&self.store)?;
        if let Some(version) = store.newer_version() {
            output::note(&format!(
                "`{}` was written by a newer caseload (version {version}); it is only read",
                self.store.display()
            ));
        }
        Ok(store)
    }

    /// Opens it for writing; it must exist.
    pub(super) fn open_to_write(&self) -> Result<Store, CliError> {
        // A missing store is told as such, and not made.
        drop(Store::open_to_read(&self.store)?);
        Ok(Store::open(&self.store)?)
    }

    /// How to name this store to another command: nothing when it would find it by itself.
    pub(super) fn flag(&self) -> String {
        flag(&self.store)
    }
}

/// ` --store FILE`, or nothing when commands find that store by themselves.
pub(super) fn flag(store: &std::path::Path) -> String {
    let by_variable = std::env::var_os(STORE_VARIABLE).is_some_and(|path| path == store.as_os_str());
    if by_variable || store == std::path::Path::new(DEFAULT_STORE) {
        String::new()
    } else {
        format!(" --store {}", store.display())
    }
}

/// The run that `text` means, with all that was frozen.
pub(super) fn find_run(store: &Store, text: &str) -> Result<RunDetail, CliError> {
    let row = store.find_run(text)?;
    Ok(store.run_detail(row.id)?)
}
