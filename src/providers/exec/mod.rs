//! A program as a provider: one process a trial, or long-lived ones that speak JSON lines.
//!
//! What is written to and read from a program stands in `protocol`; one process a trial in
//! `once`, long-lived ones in `worker`. No program is a child of the runner: a [`supervisor`]
//! between them sees to it that nothing is left behind, however the runner ends.

mod failure;
mod launch;
mod once;
mod output;
mod protocol;
mod settings;
pub mod supervisor;
mod worker;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use self::{launch::Launch, worker::Worker};
pub use self::{
    launch::find_program,
    settings::{ExecMode, ExecSettings, ExitCodes},
};
use futures_util::future::BoxFuture;

use super::{
    Provider, Rejection,
    provider::{bounds_of_application, handed_over, question_of},
};
use crate::domain::{Begun, Bounds, Outgoing, Question, Reply};

/// A program that answers.
#[derive(Debug)]
pub struct Exec {
    launch: Arc<Launch>,
    seats: Vec<Seat>,
    /// Numbers what is asked, so that an answer to an earlier attempt is not taken for this one's.
    asked: AtomicU64,
}

/// The place of one long-lived worker; it is started when it is first needed, and again when it died.
#[derive(Debug, Default)]
struct Seat {
    busy: AtomicU32,
    worker: Mutex<Option<Arc<Worker>>>,
}

/// Counts a trial into a seat for as long as it is asked.
struct Busy<'a>(&'a AtomicU32);

impl<'a> Busy<'a> {
    fn at(seat: &'a Seat) -> Self {
        seat.busy.fetch_add(1, Ordering::Relaxed);
        Self(&seat.busy)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Provider for Exec {
    fn prepare(&self, question: Question) -> (Outgoing, Bounds) {
        let bounds = bounds_of_application(&question);
        handed_over(question, bounds)
    }

    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        _begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>> {
        Box::pin(self.answer(question_of(outgoing)))
    }
}

impl Exec {
    /// Makes the program ready; nothing is started yet.
    ///
    /// # Errors
    /// The program does not exist or cannot be executed.
    pub fn new(settings: ExecSettings) -> Result<Self, String> {
        let seats = match settings.mode {
            ExecMode::PerTrial => 0,
            ExecMode::Persistent => settings.workers,
        };
        let seats = (0..seats).map(|_| Seat::default()).collect();
        Ok(Self { launch: Arc::new(Launch::new(settings)?), seats, asked: AtomicU64::new(0) })
    }

    /// Asks the program once.
    ///
    /// # Errors
    /// It could not be started, ended, hung, wrote too much, or answered what is no answer.
    pub async fn answer(&self, question: &Question) -> Result<Reply, Rejection> {
        self.launch.secrets.conceal_all(self.ask(question).await)
    }

    async fn ask(&self, question: &Question) -> Result<Reply, Rejection> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}#{}.{number}", question.asked.case.id, question.asked.repeat);
        let line = protocol::question(&id, question);
        let Some(seat) = self.seats.iter().min_by_key(|seat| seat.busy.load(Ordering::Relaxed)) else {
            return once::ask(&self.launch, &line).await;
        };
        let _busy = Busy::at(seat);
        let worker = {
            let mut held = seat.worker.lock().unwrap_or_else(PoisonError::into_inner);
            match held.as_ref().filter(|worker| worker.is_alive()) {
                Some(worker) => Arc::clone(worker),
                None => Arc::clone(held.insert(Arc::new(Worker::start(&self.launch)?))),
            }
        };
        worker.ask(id, line).await
    }
}
