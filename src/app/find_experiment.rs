//! Experiments and their targets by the names that people give them.

use super::AppError;
use crate::{
    domain::nearest,
    store::{ListedRun, Store, StoreError},
};

/// How many experiments a message offers.
const OFFERED: usize = 8;

/// The name of the experiment that `text` means, and its runs, the oldest first.
///
/// A text is the name of an experiment, the beginning of one, or the name of one of its runs, such as
/// `latest`; without a text the experiment of `latest` is meant.
pub(super) fn find_runs(store: &Store, text: Option<&str>) -> Result<(String, Vec<ListedRun>), AppError> {
    let mut runs = store.list_runs()?;
    if runs.is_empty() {
        return Err(StoreError::NoRuns.into());
    }
    runs.reverse();
    let name = match text {
        None => store.find_run("latest")?.experiment,
        Some(text) if text == "latest" || text.starts_with("latest~") => store.find_run(text)?.experiment,
        Some(text) => choose(text, &runs)?,
    };
    runs.retain(|run| run.experiment == name);
    Ok((name, runs))
}

fn choose(text: &str, runs: &[ListedRun]) -> Result<String, AppError> {
    if runs.iter().any(|run| run.experiment == text) {
        return Ok(text.to_owned());
    }
    if let Some(run) = runs.iter().find(|run| run.name.as_str() == text) {
        return Ok(run.experiment.clone());
    }
    let mut names: Vec<&str> = vec![];
    for run in runs.iter().rev() {
        if !names.contains(&run.experiment.as_str()) {
            names.push(&run.experiment);
        }
    }
    let begins: Vec<&str> = names.iter().copied().filter(|name| name.starts_with(text)).collect();
    let listed = |names: &[&str]| {
        names.iter().take(OFFERED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    match begins.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(AppError::Usage {
            message: format!("no experiment is called `{text}`"),
            hint: Some(match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("this store has {}", listed(&names)),
            }),
        }),
        several => Err(AppError::Usage {
            message: format!("several experiments begin with `{text}`"),
            hint: Some(format!("they are {}", listed(several))),
        }),
    }
}

/// The targets to look at: `wanted` alone, or all that the latest of the runs has.
pub(super) fn find_targets(
    store: &Store,
    experiment: &str,
    runs: &[ListedRun],
    wanted: Option<&str>,
) -> Result<Vec<String>, AppError> {
    let of = |run: &ListedRun| -> Result<Vec<String>, StoreError> {
        Ok(store.targets(run.id)?.iter().map(|target| target.name.to_string()).collect())
    };
    let Some(wanted) = wanted else {
        return runs.last().map_or(Ok(vec![]), |run| Ok(of(run)?));
    };
    let mut known: Vec<String> = vec![];
    for run in runs.iter().rev() {
        for target in of(run)? {
            if target == wanted {
                return Ok(vec![target]);
            }
            if !known.contains(&target) {
                known.push(target);
            }
        }
    }
    let near = nearest(wanted, known.iter().map(String::as_str));
    Err(AppError::Usage {
        message: format!("no run of `{experiment}` has a target `{wanted}`"),
        hint: Some(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its targets are `{}`", known.join("`, `")),
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn an_experiment_is_found_by_its_name_its_beginning_and_one_of_its_runs() {
        let stored = Stored::new();
        for text in [None, Some("test"), Some("te"), Some("test-1"), Some("latest"), Some("latest~0")] {
            let (name, runs) = find_runs(&stored.open(), text).unwrap();
            assert_eq!((name.as_str(), runs.len()), ("test", 1), "{text:?}");
        }
        let error = find_runs(&stored.open(), Some("tset")).unwrap_err().to_string();
        assert_eq!(error, "no experiment is called `tset`\n  hint: did you mean `test`?");
    }

    #[test]
    fn the_targets_are_those_of_the_latest_run_unless_one_is_named() {
        let stored = Stored::new();
        let store = stored.open();
        let (name, runs) = find_runs(&store, None).unwrap();
        assert_eq!(find_targets(&store, &name, &runs, None).unwrap(), ["good", "poor"]);
        assert_eq!(find_targets(&store, &name, &runs, Some("poor")).unwrap(), ["poor"]);
        let error = find_targets(&store, &name, &runs, Some("god")).unwrap_err().to_string();
        assert_eq!(error, "no run of `test` has a target `god`\n  hint: did you mean `good`?");
    }
}
