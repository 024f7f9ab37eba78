//! A new run's rows in the store.

use std::{collections::HashMap, sync::Arc};

use super::{AppError, Ready};
use crate::{
    config::{Experiment, Frozen, stored_gates, stored_target},
    domain::{Case, CaseId, CasePos, Fingerprint},
    grading,
    store::{CreatedRun, NewGrader, NewRun, NewTarget, Store},
};

/// Makes the run's rows in the store.
pub(super) fn create_run(store: &mut Store, ready: &Ready) -> Result<CreatedRun, AppError> {
    let settings = &ready.experiment.settings;
    let path = settings.golden.display().to_string();
    let name =
        settings.golden.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let origin = GoldenOrigin {
        fingerprint: ready.golden.fingerprint,
        path: &path,
        name: &name,
        selected: &ready.selected,
    };
    store_run(store, &ready.experiment, origin)
}

/// Where a run's cases come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoldenOrigin<'a> {
    /// The whole golden set's fingerprint.
    pub(super) fingerprint: Fingerprint,
    /// Its file.
    pub(super) path: &'a str,
    /// Its name.
    pub(super) name: &'a str,
    /// The cases that are asked by all shards together.
    pub(super) selected: &'a [Arc<Case>],
}

/// Makes the run of an experiment in the store; nothing is asked yet.
pub(super) fn store_run(
    store: &mut Store,
    experiment: &Experiment,
    golden: GoldenOrigin<'_>,
) -> Result<CreatedRun, AppError> {
    let settings = &experiment.settings;
    let prices = experiment.targets.iter().map(|target| target.prices.rows().cloned().collect()).collect();
    let frozen = Frozen { settings: settings.clone(), prices }.to_stored();
    let targets: Vec<NewTarget> = experiment
        .targets
        .iter()
        .map(|target| NewTarget {
            name: target.name.clone(),
            provider: target.settings.provider.clone(),
            model: target.settings.model.clone(),
            config: stored_target(&target.settings),
        })
        .collect();
    let prices: Vec<_> = experiment.targets.iter().flat_map(|target| target.prices.rows().cloned()).collect();
    let gates = (!settings.gates.is_empty()).then(|| stored_gates(&settings.gates));
    let graders = graders_of(golden.selected);
    let places: HashMap<&CaseId, CasePos> =
        golden.selected.iter().map(|case| &case.id).zip((0..).map(CasePos)).collect();
    let golden_positions: Vec<CasePos> =
        experiment.cases.iter().map(|planned| places[&planned.case.id]).collect();
    let new = NewRun {
        experiment: &settings.name,
        seed: settings.seed,
        golden_fingerprint: golden.fingerprint,
        golden_path: golden.path,
        golden_name: golden.name,
        config: &frozen,
        gates: gates.as_ref(),
        graders: &graders,
        targets: &targets,
        prices: &prices,
        tool_version: env!("CARGO_PKG_VERSION"),
        git_commit: None,
        store_answers: settings.store_answers,
        shard: settings.shard,
        golden_positions: &golden_positions,
    };
    let cases = experiment.cases.iter().map(|planned| (&*planned.case, planned.repeats));
    Ok(store.create_run(&new, cases)?)
}

/// Every grader that a case names, once, with the version of its rules.
fn graders_of(cases: &[Arc<Case>]) -> Vec<NewGrader> {
    let versions = grading::grader_versions();
    let mut graders: Vec<NewGrader> = vec![];
    for spec in cases.iter().flat_map(|case| &case.graders) {
        if graders.iter().any(|known| known.name == spec.name && known.hard == spec.hard) {
            continue;
        }
        graders.push(NewGrader {
            name: spec.name.clone(),
            hard: spec.hard,
            kind: spec.kind.clone(),
            version: versions.get(spec.kind.as_str()).map(ToString::to_string).unwrap_or_default(),
        });
    }
    graders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn a_run_is_stored_with_all_that_it_will_need() {
        let stored = Stored::empty("");
        let ready = stored.ready();
        let mut store = Store::open(&ready.store).unwrap();
        let created = create_run(&mut store, &ready).unwrap();
        let detail = store.run_detail(created.id).unwrap();
        assert_eq!((created.name.as_str(), detail.golden_path.ends_with("golden.jsonl")), ("test-1", true));
        assert_eq!(Frozen::of_stored(&detail.config).unwrap().settings, ready.experiment.settings);
        assert_eq!((detail.targets.len(), detail.graders.len(), detail.gates), (2, 1, None));
    }
}
