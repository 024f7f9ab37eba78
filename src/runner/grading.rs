//! Grading off the asynchronous threads.

use std::task::{Context, Poll};

use rayon::prelude::*;
use tokio::sync::mpsc;

use crate::{
    config::PlannedCase,
    domain::{RetrievalScore, Retrieved, Score, TrialKey, Verdict},
    grading::{grade_all_with, retrieval_score, trial_verdict},
};

/// A stored answer on its way to its graders.
#[derive(Debug)]
pub struct Ungraded {
    /// Which trial it answers.
    pub key: TrialKey,
    /// The answer.
    pub answer: String,
    /// What the application retrieved for it, where it told.
    pub retrieved: Option<Vec<Retrieved>>,
    /// The case, with its graders.
    pub case: PlannedCase,
    /// The cut-off of retrieval scores.
    pub retrieval_k: u32,
}

/// What the graders said of one answer.
#[derive(Debug)]
pub struct Graded {
    /// Which trial it is about.
    pub key: TrialKey,
    /// One score a grader.
    pub scores: Vec<Score>,
    /// What they come to.
    pub verdict: Verdict,
    /// What its retrieval was worth; `None` where none was told or the case labels no source.
    pub retrieval: Option<RetrievalScore>,
}

impl Ungraded {
    /// Asks the graders.
    pub fn grade(self) -> Graded {
        let case = &self.case.case;
        let retrieved = self.retrieved.as_deref();
        let scores = grade_all_with(&self.case.graders, &self.answer, case, retrieved);
        let verdict = trial_verdict(&scores);
        let retrieval = retrieved.and_then(|passages| retrieval_score(case, passages, self.retrieval_k));
        Graded { key: self.key, scores, verdict, retrieval }
    }
}

/// Batches of answers being graded on the processor's threads.
#[derive(Debug)]
pub(super) struct GradingPool {
    sender: mpsc::UnboundedSender<(usize, Vec<Graded>)>,
    receiver: mpsc::UnboundedReceiver<(usize, Vec<Graded>)>,
    batches: usize,
    /// What all answers under way take in memory.
    bytes: usize,
}

/// Answers that may wait for their graders, in bytes: what is asked faster than it can be graded would
/// otherwise pile up in memory.
const MAX_WAITING: usize = 16 << 20;

impl GradingPool {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver, batches: 0, bytes: 0 }
    }

    /// Whether so much waits that nothing new should be asked.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_WAITING
    }

    /// Hands a batch over.
    pub(super) fn grade(&mut self, batch: Vec<Ungraded>) {
        if batch.is_empty() {
            return;
        }
        self.batches += 1;
        let bytes = batch.iter().map(|ungraded| size_of::<Ungraded>() + ungraded.answer.len()).sum();
        self.bytes += bytes;
        let sender = self.sender.clone();
        rayon::spawn(move || {
            let graded = batch.into_par_iter().with_min_len(8).map(Ungraded::grade).collect();
            // The run may be over already: then nobody waits for it.
            let _ = sender.send((bytes, graded));
        });
    }

    /// The next batch that is graded; `None`: none is under way.
    pub(super) fn poll_graded(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Graded>>> {
        if self.batches == 0 {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(context).map(|graded| {
            let (bytes, graded) = graded?;
            self.batches -= 1;
            self.bytes -= bytes;
            Some(graded)
        })
    }
}
