//! What has stopped: the whole queue, or single askers of it; and whether what flies is cancelled.
//!
//! Whoever waits in the queue waits through [`Halts::unless_halted`], so that a stop wakes all of
//! them at once.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;

use crate::domain::{AskerPos, Failure, StopReason};

/// The call must not be sent: its queue or its asker has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Halted;

/// What has stopped.
#[derive(Debug, Default)]
pub(super) struct Halts {
    /// Whether anything has stopped at all: the cheap question before the exact one.
    any: AtomicBool,
    stopped: Mutex<Stopped>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Stopped {
    queue: Option<StopReason>,
    askers: BTreeMap<AskerPos, Failure>,
    cancelled: bool,
}

impl Halts {
    /// Stops the queue; whether it was still going. The first reason stands.
    pub(super) fn stop_queue(&self, reason: StopReason) -> bool {
        let mut stopped = self.lock();
        let first = stopped.queue.is_none();
        stopped.queue.get_or_insert(reason);
        self.tell(stopped);
        first
    }

    /// Stops one asker; whether it was still going.
    pub(super) fn stop_asker(&self, asker: AskerPos, failure: Failure) -> bool {
        let mut stopped = self.lock();
        let first = !stopped.askers.contains_key(&asker);
        stopped.askers.entry(asker).or_insert(failure);
        self.tell(stopped);
        first
    }

    /// Cancels what flies.
    pub(super) fn cancel(&self) {
        let mut stopped = self.lock();
        stopped.cancelled = true;
        self.tell(stopped);
    }

    /// Waits until what flies is cancelled.
    pub(super) async fn cancelled(&self) {
        loop {
            // Before the question, so that a word in between is not missed.
            let news = self.news.notified();
            if self.any.load(Ordering::Acquire) && self.lock().cancelled {
                return;
            }
            news.await;
        }
    }

    /// Why the queue has stopped, if it has.
    pub(super) fn queue(&self) -> Option<StopReason> {
        self.lock().queue.clone()
    }

    /// The provider's words at which an asker stopped, if it has.
    pub(super) fn asker(&self, asker: AskerPos) -> Option<Failure> {
        self.lock().askers.get(&asker).cloned()
    }

    /// Whether calls of `asker` may be sent.
    pub(super) fn check(&self, asker: AskerPos) -> Result<(), Halted> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let stopped = self.lock();
        let halted = stopped.queue.is_some() || stopped.askers.contains_key(&asker);
        if halted { Err(Halted) } else { Ok(()) }
    }

    /// Waits for `future`, but no longer than calls of `asker` may be sent.
    pub(super) async fn unless_halted<F: Future>(
        &self,
        asker: AskerPos,
        future: F,
    ) -> Result<F::Output, Halted> {
        let mut future = pin!(future);
        loop {
            // Before the question, so that a stop in between is not missed.
            let news = self.news.notified();
            self.check(asker)?;
            tokio::select! {
                biased;
                output = &mut future => {
                    self.check(asker)?;
                    return Ok(output);
                }
                () = news => {}
            }
        }
    }

    fn tell(&self, stopped: MutexGuard<'_, Stopped>) {
        self.any.store(true, Ordering::Release);
        drop(stopped);
        self.news.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Stopped> {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use crate::domain::{ErrorClass, FailureKind};

    use super::*;

    fn failure() -> Failure {
        Failure::new(ErrorClass::StopTarget, FailureKind::UnknownModel, "no such model")
    }

    #[tokio::test]
    async fn a_stopped_asker_leaves_its_neighbours() {
        let halts = Halts::default();
        assert!(halts.stop_asker(AskerPos(1), failure()));
        assert!(!halts.stop_asker(AskerPos(1), failure()));
        assert_eq!(halts.unless_halted(AskerPos(1), ready(7)).await, Err(Halted));
        assert_eq!(halts.unless_halted(AskerPos(0), ready(7)).await, Ok(7));
        assert_eq!(halts.asker(AskerPos(1)), Some(failure()));
        assert_eq!((halts.asker(AskerPos(0)), halts.queue()), (None, None));
    }

    #[tokio::test]
    async fn a_stop_wakes_everyone_and_the_first_reason_stands() {
        let halts = Halts::default();
        let stop = async {
            tokio::task::yield_now().await;
            assert!(halts.stop_queue(StopReason::Interrupted));
        };
        let (first, second, ()) = tokio::join!(
            halts.unless_halted(AskerPos(0), pending::<()>()),
            halts.unless_halted(AskerPos(9), pending::<()>()),
            stop
        );
        assert_eq!((first, second), (Err(Halted), Err(Halted)));
        let provider = "p".into();
        assert!(!halts.stop_queue(StopReason::QueueRefused { provider, failure: failure() }));
        assert_eq!(halts.queue(), Some(StopReason::Interrupted));
    }

    #[tokio::test]
    async fn waiting_goes_on_when_another_asker_stops() {
        let halts = Halts::default();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let stop = async {
            tokio::task::yield_now().await;
            halts.stop_asker(AskerPos(1), failure());
            tokio::task::yield_now().await;
            sender.send(7).unwrap();
        };
        let (waited, ()) = tokio::join!(halts.unless_halted(AskerPos(0), receiver), stop);
        assert_eq!(waited, Ok(Ok(7)));
    }
}
