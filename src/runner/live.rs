//! The lane of one account: a task a call, all before the account's queue.

use std::{
    collections::HashMap,
    mem,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt};
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
    /// What each task carries: one that is aborted tells nothing itself.
    carried: HashMap<Id, Carried>,
    /// When tasks that do not listen are aborted.
    patience: Option<Pin<Box<Sleep>>>,
    /// Tells that the user has set another ceiling.
    steered: BoxStream<'static, ()>,
}

/// What is known of a call whose task tells nothing any more.
struct Carried {
    call: Arc<Call>,
    behind: Behind,
}

/// The attempts that a call under way has behind it, and since when it has no more.
#[derive(Clone)]
struct Behind(Arc<Mutex<(UnixMillis, Vec<Attempt>)>>);

impl Behind {
    fn none() -> Self {
        Self(Arc::new(Mutex::new((UnixMillis::now(), vec![]))))
    }

    fn push(&self, attempt: Attempt) {
        let (since, attempts) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *since = UnixMillis::now();
        attempts.push(attempt);
    }

    fn take(&self) -> (UnixMillis, Vec<Attempt>) {
        let (since, attempts) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (*since, mem::take(attempts))
    }
}

impl Live {
    pub(super) fn new(queue: Arc<ProviderQueue>) -> Self {
        let steered = stream::unfold(queue.watch_max_in_flight(), async |mut ceiling| {
            ceiling.changed().await.ok()?;
            Some(((), ceiling))
        });
        let steered = steered.boxed();
        Self { queue, tasks: JoinSet::new(), carried: HashMap::new(), patience: None, steered }
    }

    fn carry(
        &mut self,
        call: Arc<Call>,
        behind: Behind,
        landing: impl Future<Output = Landed> + Send + 'static,
    ) {
        let task = self.tasks.spawn(landing);
        self.carried.insert(task.id(), Carried { call, behind });
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
                let Carried { call, behind } = carried.ok_or_else(|| RunError::Task(error.to_string()))?;
                let (since, attempts) = behind.take();
                let aborted = record::aborted(call.first_attempt, attempts, since);
                let landing = Landing::Settled(Settlement::Ended(Box::new(aborted)));
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

    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.steered.poll_next_unpin(context).map(drop)
    }

    fn start(&mut self, flight: Flight) {
        let Flight { call, reservation, begun } = flight;
        let (queue, carried, behind) = (Arc::clone(&self.queue), Arc::clone(&call), Behind::none());
        self.carry(carried, behind.clone(), async move {
            let may_repeat = |attempt: &Attempt| {
                behind.push(attempt.clone());
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
        domain::{AttemptEnd, Begun, ErrorClass, Failure, FailureKind, Outcome, Reply, Settled},
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
        lane.carry(Arc::clone(&deaf), Behind::none(), pending());
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

    #[tokio::test(start_paused = true)]
    async fn what_is_aborted_keeps_the_attempts_that_it_had_behind_it() {
        let failure = Failure::new(ErrorClass::Retry, FailureKind::Server, "no");
        let mut lane = Live::new(queue(4, move |_| (Duration::from_secs(1), Err(failure.clone().into()))));
        start(&mut lane, 1);
        // It fails again and again; then its task is gone in the midst of a wait.
        tokio::time::sleep(Duration::from_secs(20)).await;
        lane.tasks.abort_all();
        let settled = ended(landed(&mut lane).await.unwrap().unwrap());
        assert_eq!(settled.outcome, Outcome::Cancelled);
        let told = settled.attempts.iter().map(|attempt| match &attempt.end {
            AttemptEnd::Failed(failure) => (attempt.number, failure.kind),
            AttemptEnd::Answered => panic!("nothing was answered"),
        });
        let mut told: Vec<_> = told.collect();
        let last = told.pop().unwrap();
        assert!(told.len() > 2, "{told:?}");
        assert_eq!(told, (1..last.0).map(|number| (number, FailureKind::Server)).collect::<Vec<_>>());
        assert_eq!(last.1, FailureKind::Cancelled);
    }
}
