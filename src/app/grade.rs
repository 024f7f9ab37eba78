//! Stored answers graded again; no provider is called.

use std::path::Path;

use rayon::prelude::*;

use super::{
    AppError,
    find_run::{find_run, open_to_write},
    thaw::thaw,
};
use crate::{
    config::Experiment,
    domain::RunRow,
    runner::{Graded, Ungraded},
    store::{Store, StoreError, StoreWriter, ToGrade, Write},
};

/// How many answers are graded at a time.
const BATCH: usize = 4_096;

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
/// There is no such run, another process works on it, or the store fails.
pub fn grade(path: &Path, text: &str) -> Result<Regraded, AppError> {
    let store = open_to_write(path)?;
    let detail = find_run(&store, text)?;
    let experiment = thaw(&store, &detail)?;
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
    let reader = Store::open_to_read(store.path())?;
    let claim = store.claim_run(run)?;
    let writer = StoreWriter::start(store, claim, None)?;
    let mut graded = 0;
    let mut batch = Vec::with_capacity(BATCH);
    reader.for_each_to_grade::<StoreError>(run, which, |key, outcome, answer| {
        if outcome.is_graded(answer) {
            let case = experiment.cases[key.case.index()].clone();
            batch.push(Ungraded {
                key,
                answer: answer.to_owned(),
                retrieved: reader.retrieved(key)?,
                case,
                retrieval_k: experiment.settings.retrieval_k,
            });
            graded += 1;
        }
        if batch.len() == BATCH { store_scores(&writer, &mut batch) } else { Ok(()) }
    })?;
    store_scores(&writer, &mut batch)?;
    writer.finish()?;
    Ok(graded)
}

/// Grades a batch and hands its scores to the writer.
fn store_scores(writer: &StoreWriter, batch: &mut Vec<Ungraded>) -> Result<(), StoreError> {
    let graded: Vec<_> = std::mem::take(batch).into_par_iter().map(Ungraded::grade).collect();
    for Graded { key, scores, verdict, retrieval } in graded {
        writer.blocking_send(Write::Scores { key, scores, verdict })?;
        if let Some(score) = retrieval {
            writer.blocking_send(Write::Retrieval { key, score })?;
        }
    }
    Ok(())
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
    fn a_run_that_is_not_there_is_not_graded() {
        assert!(grade(&Stored::new().path(), "test-9").is_err());
    }
}
