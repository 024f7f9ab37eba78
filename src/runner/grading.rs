//! Grading: at once where that takes no time, else off the asynchronous threads.

use std::{
    task::{Context, Poll},
    time::{Duration, Instant},
};

use rayon::prelude::*;
use tokio::sync::mpsc;

use crate::{
    config::PlannedCase,
    domain::{RetrievalScore, Retrieved, Score, TrialKey, Verdict},
    grading::{grade_all_with, retrieval_score, trial_verdict},
};

/// A stored answer on its way to its graders.
#[derive(Debug)]
pub(super) struct Ungraded {
    /// Which trial it answers.
    pub(super) key: TrialKey,
    /// The answer.
    pub(super) answer: String,
    /// What the application retrieved for it, where it told.
    pub(super) retrieved: Option<Vec<Retrieved>>,
    /// The case, with its graders.
    pub(super) case: PlannedCase,
    /// The cut-off of retrieval scores.
    pub(super) retrieval_k: u32,
}

/// What the graders said of one answer.
#[derive(Debug)]
pub(super) struct Graded {
    /// Which trial it is about.
    pub(super) key: TrialKey,
    /// One score a grader.
    pub(super) scores: Vec<Score>,
    /// What they come to.
    pub(super) verdict: Verdict,
    /// What its retrieval was worth; `None` where none was told or the case labels no source.
    pub(super) retrieval: Option<RetrievalScore>,
}

impl Ungraded {
    /// Asks the graders.
    pub(super) fn grade(self) -> Graded {
        let case = &self.case.case;
        let retrieved = self.retrieved.as_deref();
        let scores = grade_all_with(&self.case.graders, &self.answer, case, retrieved);
        let verdict = trial_verdict(&scores);
        let retrieval = retrieved.and_then(|passages| retrieval_score(case, passages, self.retrieval_k));
        Graded { key: self.key, scores, verdict, retrieval }
    }
}

/// Batches of answers being graded, most of them at once: to hand a batch to the processor's threads and
/// to be told of it costs more than most graders take.
#[derive(Debug)]
pub(super) struct GradingPool {
    /// Graded at once, and not yet taken.
    at_once: Vec<Graded>,
    /// What an answer took in the last batch.
    each: Duration,
    sender: mpsc::UnboundedSender<Batch>,
    receiver: mpsc::UnboundedReceiver<Batch>,
    batches: usize,
    /// What all answers under way take in memory.
    bytes: usize,
}

/// A batch that was graded elsewhere.
#[derive(Debug)]
struct Batch {
    graded: Vec<Graded>,
    /// What its answers took in memory.
    bytes: usize,
    took: Duration,
}

/// Answers that may wait for their graders, in bytes: what is asked faster than it can be graded would
/// otherwise pile up in memory.
const MAX_WAITING: usize = 16 << 20;

/// So long the graders of one batch may keep the thread on which everything else waits, ...
const AT_ONCE: Duration = Duration::from_millis(2);

/// ... and those of one answer, by what they took last.
const LIGHT: Duration = Duration::from_micros(200);

impl GradingPool {
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { at_once: vec![], each: Duration::ZERO, sender, receiver, batches: 0, bytes: 0 }
    }

    /// Whether so much waits that nothing new should be asked.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= MAX_WAITING
    }

    /// Grades a batch at once, or hands over what of it takes too long.
    pub(super) fn grade(&mut self, batch: Vec<Ungraded>) {
        let (count, began) = (batch.len(), Instant::now());
        let mut batch = batch.into_iter();
        while self.each <= LIGHT
            && began.elapsed() < AT_ONCE
            && let Some(ungraded) = batch.next()
        {
            self.at_once.push(ungraded.grade());
        }
        self.note(count - batch.len(), began.elapsed());
        self.hand_over(batch.collect());
    }

    /// What so many answers took says where the next ones are graded.
    fn note(&mut self, answers: usize, took: Duration) {
        if let Ok(answers @ 1..) = u32::try_from(answers) {
            self.each = took / answers;
        }
    }

    fn hand_over(&mut self, batch: Vec<Ungraded>) {
        if batch.is_empty() {
            return;
        }
        self.batches += 1;
        let bytes = batch.iter().map(|ungraded| size_of::<Ungraded>() + ungraded.answer.len()).sum();
        self.bytes += bytes;
        let sender = self.sender.clone();
        rayon::spawn(move || {
            let began = Instant::now();
            let graded = batch.into_par_iter().with_min_len(8).map(Ungraded::grade).collect();
            // The run may be over already: then nobody waits for it.
            let _ = sender.send(Batch { graded, bytes, took: began.elapsed() });
        });
    }

    /// The next batch that is graded; `None`: none is under way.
    pub(super) fn poll_graded(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<Graded>>> {
        if !self.at_once.is_empty() {
            return Poll::Ready(Some(std::mem::take(&mut self.at_once)));
        }
        if self.batches == 0 {
            return Poll::Ready(None);
        }
        self.receiver.poll_recv(context).map(|batch| {
            let Batch { graded, bytes, took } = batch?;
            self.batches -= 1;
            self.bytes -= bytes;
            self.note(graded.len(), took);
            Some(graded)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::runner::fixtures::{EXPERIMENT_OF_TESTS, key};

    fn answers(cases: std::ops::Range<u32>) -> Vec<Ungraded> {
        let ungraded = |case: u32| Ungraded {
            key: key(0, case, 1),
            answer: if case == 0 { "yes" } else { "no" }.to_owned(),
            retrieved: None,
            case: EXPERIMENT_OF_TESTS.cases[case as usize].clone(),
            retrieval_k: 10,
        };
        cases.map(ungraded).collect()
    }

    fn verdicts(graded: Vec<Graded>) -> Vec<(TrialKey, Verdict)> {
        graded.into_iter().map(|graded| (graded.key, graded.verdict)).collect()
    }

    /// What is graded next; `None` where nothing is under way.
    async fn next(pool: &mut GradingPool) -> Option<Vec<(TrialKey, Verdict)>> {
        poll_fn(|context| pool.poll_graded(context)).await.map(verdicts)
    }

    #[tokio::test]
    async fn light_graders_are_asked_at_once_and_those_that_took_long_elsewhere() {
        let expected = [(key(0, 0, 1), Verdict::Pass), (key(0, 1, 1), Verdict::Fail)];
        let mut pool = GradingPool::new();
        pool.grade(answers(0..2));
        assert_eq!((pool.batches, next(&mut pool).await.unwrap()), (0, expected.to_vec()));
        assert!(next(&mut pool).await.is_none());

        pool.each = Duration::from_secs(1);
        pool.grade(answers(0..2));
        assert_eq!((pool.batches, pool.at_once.len()), (1, 0));
        assert!(pool.bytes > 0);
        assert_eq!(next(&mut pool).await.unwrap(), expected);
        assert_eq!((pool.batches, pool.bytes), (0, 0));
        assert!(pool.each < Duration::from_secs(1), "measured anew");
        assert!(next(&mut pool).await.is_none());
    }
}
