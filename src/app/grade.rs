//! Stored answers graded again; no provider is called.

use std::{path::Path, thread};

use tokio::runtime;

use super::{
    AppError,
    find_run::{find_run, open_to_write},
    thaw::thaw,
};
use crate::{
    config::Experiment,
    domain::{AnswerKeeping, RunRow},
    runner::{self, RunError},
    store::{Store, StoreError, ToGrade},
};

/// A run whose answers were graded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regraded {
    /// The run's row.
    pub run: RunRow,
    /// Answers that were graded.
    pub answers: u64,
}

/// Grades the stored answers of the run that `text` means, with its graders as this program has them.
///
/// # Errors
/// There is no such run, it kept no answers, another process works on it, or the store fails.
pub fn grade(path: &Path, text: &str) -> Result<Regraded, AppError> {
    let store = open_to_write(path)?;
    let detail = find_run(&store, text)?;
    let experiment = thaw(&store, &detail)?;
    if experiment.settings.store_answers == AnswerKeeping::Hash {
        let name = &detail.row.name;
        return Err(AppError::hinted(
            format!("`{name}` kept only the hashes of its answers: there is nothing to grade again"),
            "run it anew, or with `store_answers = \"full\"` from now on",
        ));
    }
    let run = detail.row.id;
    Ok(Regraded { run, answers: grade_stored(store, run, &experiment, ToGrade::All)? })
}

/// Grades the stored answers of a run and stores their scores; how many.
pub(super) fn grade_stored(
    mut store: Store,
    run: RunRow,
    experiment: &Experiment,
    which: ToGrade,
) -> Result<u64, AppError> {
    let claim = store.claim_run(run)?;
    let runtime = runtime::Builder::new_current_thread().build().map_err(StoreError::Thread)?;
    let grading = runner::grade(store, claim, run, experiment, which);
    // On a thread of its own, since the caller may be within a runtime.
    let graded = thread::scope(|scope| scope.spawn(|| runtime.block_on(grading)).join());
    let panicked = |_| RunError::Task("grading panicked".to_owned());
    graded.map_err(panicked)?.map_err(|error| match error {
        RunError::Store(error) => error.into(),
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::Stored;

    #[test]
    fn every_answer_is_graded_again_and_says_the_same() {
        let stored = Stored::new();
        let verdicts = || {
            let store = stored.open();
            let detail = find_run(&store, "latest").unwrap();
            crate::app::failures::failures(&store, &detail).unwrap().failures
        };
        let before = verdicts();
        assert_eq!(grade(&stored.path(), "test-1").unwrap().answers, 32);
        assert_eq!(verdicts(), before);
    }

    #[test]
    fn answers_that_were_not_kept_cannot_be_graded_again() {
        let stored = Stored::empty("store_answers = \"hash\"\n");
        stored.run();
        let error = grade(&stored.path(), "latest").unwrap_err().to_string();
        assert!(error.starts_with("`test-1` kept only the hashes of its answers"), "{error}");
    }

    #[test]
    fn a_run_that_is_not_there_is_not_graded() {
        assert!(grade(&Stored::new().path(), "test-9").is_err());
    }
}
