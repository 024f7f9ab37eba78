//! The experiment of a stored run, made ready again from what was frozen.

use std::sync::Arc;

use super::error::CliError;
use crate::{
    config::{Experiment, Frozen},
    domain::Case,
    store::{RunDetail, Store, StoreError},
};

/// What a run froze of its settings, with the price of each target.
pub(super) fn frozen(detail: &RunDetail) -> Result<Frozen, CliError> {
    Frozen::of_stored(&detail.config).map_err(|error| CliError::Usage {
        message: format!("the settings of run `{}` cannot be read: {error}", detail.row.name),
        hint: Some(format!("it was made by caseload {}", detail.tool_version)),
    })
}

/// The experiment of a stored run, made ready again from what was frozen.
pub(super) fn thaw(store: &Store, detail: &RunDetail) -> Result<Experiment, CliError> {
    let Frozen { settings, prices } = frozen(detail)?;
    let mut cases: Vec<Arc<Case>> = vec![];
    store.for_each_whole_case::<StoreError>(detail.row.id, |case| {
        cases.push(Arc::new(case));
        Ok(())
    })?;
    Ok(Experiment::prepare(settings, prices, cases, None)?)
}
