//! The experiment of a stored run, made ready again from what was frozen.

use std::sync::Arc;

use super::AppError;
use crate::{
    config::{Experiment, Frozen},
    domain::Case,
    store::{RunDetail, Store, StoreError},
};

/// What a run froze of its settings, with the price of each target.
pub(super) fn frozen(detail: &RunDetail) -> Result<Frozen, AppError> {
    Frozen::of_stored(&detail.config).map_err(|error| AppError::Usage {
        message: format!("the settings of run `{}` cannot be read: {error}", detail.row.name),
        hint: Some(format!("it was made by caseload {}", detail.tool_version)),
    })
}

/// The experiment of a stored run, made ready again from what was frozen.
pub(super) fn thaw(store: &Store, detail: &RunDetail) -> Result<Experiment, AppError> {
    let Frozen { settings, prices } = frozen(detail)?;
    let mut cases: Vec<Arc<Case>> = vec![];
    store.for_each_whole_case::<StoreError>(detail.row.id, |case| {
        cases.push(Arc::new(case));
        Ok(())
    })?;
    Ok(Experiment::prepare(settings, prices, cases, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{find_run::find_run, testing::Stored};

    #[test]
    fn what_was_frozen_is_the_experiment_again() {
        let stored = Stored::new();
        let store = stored.open();
        let thawed = thaw(&store, &find_run(&store, "latest").unwrap()).unwrap();
        let ready = stored.ready();
        assert_eq!(thawed.settings, ready.experiment.settings);
        let ids = |experiment: &Experiment| -> Vec<_> {
            experiment.cases.iter().map(|planned| planned.case.id.clone()).collect()
        };
        assert_eq!(ids(&thawed), ids(&ready.experiment));
    }

    #[test]
    fn settings_of_a_later_version_are_told_with_who_made_them() {
        let stored = Stored::new();
        let mut detail = find_run(&stored.open(), "latest").unwrap();
        detail.config["version"] = 9.into();
        let error = frozen(&detail).unwrap_err().to_string();
        assert!(
            error.starts_with("the settings of run `test-1` cannot be read: they are of version 9"),
            "{error}"
        );
        assert!(error.contains("hint: it was made by caseload "));
    }
}
