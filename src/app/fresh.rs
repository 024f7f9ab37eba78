//! The experiments that ask the flipped cases of two sides again.

use std::{collections::HashSet, sync::Arc};

use super::{
    AppError,
    new_run::{GoldenOrigin, store_run},
    ready::today,
    thaw::frozen,
};
use crate::{
    compare::{Flipped, Side, SideSource},
    config::{self, Experiment, Frozen, Gates},
    domain::{Aside, Case, CaseId, Cost, TargetPos},
    stats::SplitMix64,
    store::{CreatedRun, RunDetail, Store, StoreError},
};

/// One side with what is needed to ask it again.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) detail: RunDetail,
    pub(super) target: TargetPos,
}

/// A side that can be asked again.
pub(super) fn stored(side: SideSource) -> Result<Source, AppError> {
    match side {
        SideSource::Stored(detail, target) => Ok(Source { detail: *detail, target }),
        SideSource::Baseline(file) => Err(AppError::hinted(
            format!("{}: a committed baseline cannot be asked again", file.display()),
            "name the run it was made from, or another run of the store",
        )),
    }
}

/// What each side may spend: the whole, in proportion to what the flipped cases cost at first; by
/// halves where that is not known.
pub(super) fn budgets(max_cost: Option<Cost>, sides: [&Side; 2], flips: &[Flipped]) -> [Option<Cost>; 2] {
    let Some(whole) = max_cost else { return [None, None] };
    let ids: HashSet<&CaseId> = flips.iter().map(|flip| &flip.id).collect();
    let cost = |side: &Side| -> Option<f64> {
        side.cases.iter().filter(|case| ids.contains(&case.id)).map(|case| case.cost_usd).sum()
    };
    let share = match (cost(sides[0]), cost(sides[1])) {
        (Some(a), Some(b)) if a + b > 0.0 => a / (a + b),
        _ => 0.5,
    };
    #[expect(clippy::cast_precision_loss, reason = "a budget is split, and its parts add up to it")]
    #[expect(clippy::cast_possible_truncation, reason = "a share of the whole is no larger than it")]
    let first = Cost::from_picodollars((whole.picodollars() as f64 * share) as i64).min(whole);
    [Some(first), Some(whole.saturating_sub(first))]
}

/// The experiment that asks one side's flipped cases again, with the settings its run froze; `draw`
/// numbers its draws among those of the same seed.
pub(super) fn again(
    store: &Store,
    source: &Source,
    flips: &[Flipped],
    repeats: u32,
    max_cost: Option<Cost>,
    draw: u64,
) -> Result<Experiment, AppError> {
    let Frozen { mut settings, prices } = frozen(&source.detail)?;
    let at = source.target.index();
    let target = settings.targets.swap_remove(at);
    if target.outputs.is_some() {
        return Err(AppError::hinted(
            format!("target `{}` replays recorded outputs: it has no fresh answers", target.name),
            "confirm runs of a target that can be asked",
        ));
    }
    settings.providers.retain(|provider| provider.name == target.provider);
    settings.targets = vec![target];
    settings.name = Aside::Confirmation.beside(&source.detail.row.experiment);
    settings.repeats = repeats;
    settings.max_cost = max_cost;
    settings.gates = Gates::default();
    settings.shard = None;
    settings.seed = SplitMix64::stream(settings.seed, draw).next_u64();
    let ids: HashSet<&CaseId> = flips.iter().map(|flip| &flip.id).collect();
    let mut cases: Vec<Arc<Case>> = vec![];
    store.for_each_whole_case::<StoreError>(source.detail.row.id, |mut case| {
        if ids.contains(&case.id) {
            case.repeats = Some(repeats);
            cases.push(Arc::new(case));
        }
        Ok(())
    })?;
    let prices = prices.into_iter().nth(at).unwrap_or_default();
    let experiment = Experiment::prepare(settings, vec![config::since(prices, today())], cases, None)?;
    experiment.check_budget(&[])?;
    Ok(experiment)
}

/// Makes the run of one side in the store.
pub(super) fn create(
    store: &mut Store,
    source: &Source,
    experiment: &Experiment,
) -> Result<CreatedRun, AppError> {
    let row = &source.detail.row;
    let selected: Vec<Arc<Case>> = experiment.cases.iter().map(|planned| Arc::clone(&planned.case)).collect();
    let origin = GoldenOrigin {
        fingerprint: row.golden_fingerprint,
        path: &source.detail.golden_path,
        name: &row.golden_name,
        selected: &selected,
    };
    store_run(store, experiment, origin)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::app::{compare::sides, testing::Stored};

    #[test]
    fn a_budget_is_divided_whole() {
        let stored = Stored::new();
        let texts = ["latest:good".to_owned(), "latest:poor".to_owned()];
        let sides = sides(Some(&stored.open()), &texts).unwrap();
        let shares = budgets("1.01".parse().ok(), [&sides[0], &sides[1]], &[]);
        assert_eq!(shares.into_iter().flatten().sum::<Cost>(), "1.01".parse().unwrap());
        assert_eq!(budgets(None, [&sides[0], &sides[1]], &[]), [None, None]);
    }

    #[test]
    fn a_committed_baseline_cannot_be_asked_again() {
        let error = stored(SideSource::Baseline(PathBuf::from("old.json"))).unwrap_err().to_string();
        assert!(error.starts_with("old.json: a committed baseline cannot be asked again"), "{error}");
    }
}
