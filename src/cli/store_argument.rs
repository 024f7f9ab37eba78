//! `--store`, the same for every command that reads one.

use std::path::PathBuf;

use clap::Args;

use super::{error::CliError, output};
use crate::app::{AppError, DEFAULT_STORE, STORE_VARIABLE, Store, find_run::store_flag};

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
        let store = Store::open_to_read(&self.store).map_err(AppError::from)?;
        if let Some(version) = store.newer_version() {
            output::note(&format!(
                "`{}` was written by a newer caseload (version {version}); it is only read",
                self.store.display()
            ));
        }
        Ok(store)
    }

    /// How to name this store to another command: nothing when it would find it by itself.
    pub(super) fn flag(&self) -> String {
        store_flag(&self.store)
    }
}
