//! The experiment of a stored run, made ready again from what was frozen.

use std::sync::Arc;

use serde::Deserialize;

use super::error::CliError;
use crate::{
    config::{Experiment, Settings},
    domain::{Case, Price},
    store::{RunDetail, Store, StoreError},
};

/// What a run froze, as the store gives it back.
#[derive(Debug, Deserialize)]
struct Frozen {
    settings: Settings,
    prices: Vec<Option<Price>>,
}

/// What a run froze of its settings, with the price of each target.
pub(super) fn frozen(detail: &RunDetail) -> Result<(Settings, Vec<Option<Price>>), CliError> {
    let frozen: Frozen = serde_json::from_value(detail.config.clone()).map_err(|error| CliError::Usage {
        message: format!("the settings of run `{}` cannot be read: {error}", detail.row.name),
        hint: Some(format!("it was made by caseload {}", detail.tool_version)),
    })?;
    Ok((frozen.settings, frozen.prices))
}

/// The experiment of a stored run, made ready again from what was frozen.
pub(super) fn thaw(store: &Store, detail: &RunDetail) -> Result<Experiment, CliError> {
    let (settings, prices) = frozen(detail)?;
    let mut cases: Vec<Arc<Case>> = vec![];
    store.for_each_whole_case::<StoreError>(detail.row.id, |case| {
        cases.push(Arc::new(case));
        Ok(())
    })?;
    Ok(Experiment::prepare(settings, prices, cases, None)?)
}
