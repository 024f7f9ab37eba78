//! The lane of one account: a task a call, all before the account's queue.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{Sleep, sleep},
};

use super::{
    error::RunError,
    lane::{Flight, Landed, Landing, Lane},
    record,
    shutdown::Shutdown,
};
use crate::{
    domain::{Attempt, Call, Settlement, StopReason, UnixMillis},
    queue::{Hooks, ProviderQueue},
};

/// How long what flies may take to end by itself once it is told to stop at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Places beside those on the wire in which calls stand ready, so that none of those is ever empty.
const MOST_READY: usize = 16;

/// One account's calls under way.
pub(super) struct Live {
    queue: Arc<ProviderQueue>,
    tasks: JoinSet<Landed>,
    /// What each task carries, and since when: one that is aborted tells nothing itself.
    carried: HashMap<Id, (Arc<Call>, UnixMillis)>,
    /// When tasks that do not listen are aborted.
    patience: Option<Pin<Box<Sleep>>>,
}

impl Live {
    pub(super) fn new(queue: Arc<ProviderQueue>) -> Self {
        Self { queue, tasks: JoinSet::new(), carried: HashMap::new(), patience: None }
    }

    fn carry(&mut self, call: Arc<Call>, landing: impl Future<Output = Landed> + Send + 'static) {
        let task = self.tasks.spawn(landing);
        self.carried.insert(task.id(), (call, UnixMillis::now()));
    }

    /// What a task came to. One that was aborted was on its way; one that panicked is a fault of ours.
    fn landed(&mut self, joined: Result<(Id, Landed), JoinError>) -> Result<Landed, RunError> {
        match joined {
            Ok((id, landed)) => {
                self.carried.remove(&id);
                Ok(landed)
            }
            Err(error) => {
                let carried = self.carried.remove(&error.id()).filter(|_| error.is_cancelled());
                let (call, since) = carried.ok_or_else(|| RunError::Task(error.to_string()))?;
                let landing =
                    Landing::Settled(Settlement::Ended(Box::new(record::aborted(call.first_attempt, since))));
                Ok(Landed { call, reservation: None, landing })
            }
        }
    }
}

impl Lane for Live {
    /// A few more calls than fit on the wire stand ready; sent and not yet committed are never more than
    /// twice the wire's.
    fn room(&self, uncommitted: usize) -> usize {
        let wire = self.queue.max_in_flight() as usize;
        let ready = wire + wire.div_ceil(4).min(MOST_READY);
        let flying = self.tasks.len();
        let sent = flying + uncommitted;
        ready.saturating_sub(flying).min((2 * wire.max(1)).saturating_sub(sent))
    }

    fn start(&mut self, flight: Flight) {
        let Flight { call, reservation, begun } = flight;
        let (queue, carried) = (Arc::clone(&self.queue), Arc::clone(&call));
        self.carry(carried, async move {
            let may_repeat = |attempt: &Attempt| {
                reservation.as_ref().is_none_or(|reservation| reservation.allows_repeat(attempt))
            };
            let hooks = Hooks { may_repeat: &may_repeat, begun: &begun };
            let settlement = queue.settle(&call, hooks).await;
            Landed { call, reservation, landing: Landing::Settled(settlement) }
        });
    }

    fn poll_landed(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Landed, RunError>>> {
        if let Poll::Ready(joined) = self.tasks.poll_join_next_with_id(context) {
            return Poll::Ready(joined.map(|joined| self.landed(joined)));
        }
        if let Some(patience) = &mut self.patience
            && patience.as_mut().poll(context).is_ready()
        {
            self.patience = None;
            self.tasks.abort_all();
        }
        Poll::Pending
    }

    fn stop(&mut self, how: Shutdown) {
        match how {
            Shutdown::No => {}
            Shutdown::Drain => self.queue.stop(StopReason::Interrupted),
            Shutdown::Now => {
                self.queue.cancel(StopReason::Interrupted);
                self.patience.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;
    use crate::{
        domain::{AttemptEnd, Begun, FailureKind, Outcome, Reply, Settled},
        runner::fixtures::{call, landed, queue},
    };

    /// A lane of at most four on the wire, before a provider that answers after so many seconds; a case
    /// of 13 makes it panic.
    fn lane(seconds: u64) -> Live {
        Live::new(queue(4, move |question| {
            assert_ne!(question.asked.case.id.as_str(), "13", "an unlucky case");
            (Duration::from_secs(seconds), Ok(Reply::answered("yes")))
        }))
    }

    fn start(lane: &mut Live, case: u32) {
        lane.start(Flight { call: call(case), reservation: None, begun: Begun::NOBODY });
    }

    fn ended(landed: Landed) -> Settled {
        match landed.landing {
            Landing::Settled(Settlement::Ended(settled)) => *settled,
            other => panic!("it did not end: {other:?}"),
        }
    }

    /// The one attempt of a cancelled call.
    fn cancelled(landed: Landed) -> Attempt {
        let mut settled = ended(landed);
        assert_eq!((settled.outcome, settled.attempts.len()), (Outcome::Cancelled, 1));
        settled.attempts.remove(0)
    }

    #[tokio::test]
    async fn there_is_room_for_a_few_more_than_the_wire_takes_and_never_for_twice_as_many() {
        let mut lane = lane(1);
        assert_eq!((lane.room(0), lane.room(3), lane.room(4), lane.room(8), lane.room(9)), (5, 5, 4, 0, 0));
        for case in 0..4 {
            start(&mut lane, case);
        }
        assert_eq!((lane.room(0), lane.room(3), lane.room(4)), (1, 1, 0));
        start(&mut lane, 4);
        assert_eq!(lane.room(0), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn every_call_comes_back_with_its_answer() {
        let mut lane = lane(1);
        (0..5).for_each(|case| start(&mut lane, case));
        for _ in 0..5 {
            let settled = ended(landed(&mut lane).await.unwrap().unwrap());
            assert_eq!(settled.reply.unwrap().text, "yes");
        }
        assert!(landed(&mut lane).await.is_none() && lane.carried.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_ends_the_run_and_loses_nothing_that_came_before() {
        let mut lane = lane(1);
        start(&mut lane, 13);
        let error = landed(&mut lane).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("an unlucky case"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_flies_is_finished_and_what_waits_goes_back() {
        let mut lane = lane(60);
        (0..5).for_each(|case| start(&mut lane, case));
        tokio::time::sleep(Duration::from_secs(1)).await;
        lane.stop(Shutdown::Drain);
        let back = landed(&mut lane).await.unwrap().unwrap();
        assert!(
            matches!(back.landing, Landing::Settled(Settlement::Returned { attempts }) if attempts.is_empty())
        );
        for _ in 0..4 {
            assert_eq!(ended(landed(&mut lane).await.unwrap().unwrap()).outcome, Outcome::Answered);
        }
        assert!(landed(&mut lane).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn stopped_at_once_what_flies_is_cancelled_and_may_be_billed() {
        let mut lane = lane(60);
        (0..4).for_each(|case| start(&mut lane, case));
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = Instant::now();
        lane.stop(Shutdown::Now);
        for _ in 0..4 {
            let attempt = cancelled(landed(&mut lane).await.unwrap().unwrap());
            let AttemptEnd::Failed(failure) = attempt.end else { panic!("it failed") };
            assert_eq!((failure.kind, failure.may_be_billed), (FailureKind::Cancelled, true));
        }
        assert!(landed(&mut lane).await.is_none());
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_listen_is_aborted_after_two_seconds_and_leaves_an_attempt() {
        let mut lane = lane(60);
        let deaf = call(1);
        lane.carry(Arc::clone(&deaf), pending());
        let began = Instant::now();
        lane.stop(Shutdown::Now);
        lane.stop(Shutdown::Now);
        let back = landed(&mut lane).await.unwrap().unwrap();
        assert_eq!(began.elapsed().as_secs(), 2);
        assert_eq!(back.call, deaf);
        let attempt = cancelled(back);
        let AttemptEnd::Failed(failure) = attempt.end else { panic!("it failed") };
        assert_eq!((attempt.number, attempt.cost, failure.may_be_billed), (1, None, true));
        assert!(landed(&mut lane).await.is_none());
    }
}
