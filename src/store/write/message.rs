//! What can be written while a run goes on.

use tokio::sync::oneshot;

use crate::{
    domain::{
        Attempt, QueueRecord, RetrievalScore, RunRow, RunStatus, Score, TrialKey, TrialRecord, Verdict,
    },
    store::{RequestHash, Reusable},
};

/// One thing to be written.
#[derive(Debug)]
pub enum Write {
    /// A trial that ended, and the requests that were made for it, all in one commit. A failed trial of the
    /// same key makes room for it; one with an answer stays.
    Trial(Box<TrialRecord>, Vec<Attempt>),
    /// A request that was made for a trial that goes on being to do.
    Attempt {
        /// The trial that it was made for.
        key: TrialKey,
        /// What is kept of it.
        attempt: Box<Attempt>,
    },
    /// What the graders said of a stored trial; replaces what they said before.
    Scores {
        /// The trial.
        key: TrialKey,
        /// One score a grader, in the case's order.
        scores: Vec<Score>,
        /// What follows for the trial.
        verdict: Verdict,
    },
    /// What a stored trial's retrieval was worth; replaces what was said before.
    Retrieval {
        /// The trial.
        key: TrialKey,
        /// What it was worth.
        score: RetrievalScore,
    },
    /// Where a run stands.
    Status {
        /// The run's row.
        run: RunRow,
        /// Its status.
        status: RunStatus,
        /// Why it ended before all was done.
        stop_reason: Option<String>,
    },
    /// What a stored trial was asked, where answers may be used again, and which answer it was given.
    Asked {
        /// The trial.
        key: TrialKey,
        /// Its request.
        hash: RequestHash,
        /// The answer of an earlier run that it got, if any.
        reused: Option<Box<Reusable>>,
    },
    /// How a run's queues ran in this session.
    Queues {
        /// The run's row.
        run: RunRow,
        /// One record a queue.
        records: Vec<QueueRecord>,
    },
    /// Answers once all that was sent before is committed.
    Flush(oneshot::Sender<()>),
}
