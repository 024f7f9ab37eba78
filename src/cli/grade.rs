//! `caseload grade`: grade stored answers again; no provider is called.

use clap::Args;
use rayon::prelude::*;

use super::{
    error::CliError,
    exit_status::ExitStatus,
    output,
    session::print_scorecard,
    store_argument::{StoreArgument, find_run},
    stored_experiment::thaw,
};
use crate::{
    config::Experiment,
    domain::RunRow,
    report::count,
    runner::{Graded, Ungraded},
    store::{Store, StoreError, StoreWriter, ToGrade, Write},
};

/// How many answers are graded at a time.
const BATCH: usize = 4_096;

/// Grade a run's stored answers again
///
/// No provider is called: after a grader was mended, or where grading broke off, the answers that were
/// paid for are graded with the graders of the run as this program has them.
#[derive(Debug, Args)]
pub(super) struct GradeArgs {
    /// The run: its name, the beginning of it, `latest` or `latest~1`
    run: String,

    /// Print the scorecard as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgument,
}

/// Does `caseload grade`.
pub(super) fn grade(arguments: &GradeArgs) -> Result<ExitStatus, CliError> {
    let store = arguments.store.open_to_write()?;
    let detail = find_run(&store, &arguments.run)?;
    let experiment = thaw(&store, &detail)?;
    let graded = grade_stored(store, detail.row.id, &experiment, ToGrade::All)?;
    output::note(&format!("{} answers graded again", count(graded)));
    print_scorecard(&arguments.store.open()?, detail.row.id, arguments.json)?;
    Ok(ExitStatus::Success)
}

/// Grades the stored answers of a run and stores their scores; how many.
pub(super) fn grade_stored(
    mut store: Store,
    run: RunRow,
    experiment: &Experiment,
    which: ToGrade,
) -> Result<u64, CliError> {
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
