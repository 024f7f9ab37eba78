//! Where calls go.
//!
//! A [`Lane`] takes a call, and gives it back with what became of it: a queue that asks a provider, a
//! thread that looks for earlier answers. The coordinator knows lanes by these methods alone.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use super::{error::RunError, shutdown::Shutdown};
use crate::{
    domain::{Begun, Call, Settlement},
    spend::Reservation,
    store::Reusable,
};

/// A call on its way, with what must come back with it.
#[derive(Debug)]
pub(super) struct Flight {
    /// What is asked.
    pub(super) call: Arc<Call>,
    /// What is reserved for it; `None` where nothing can be billed.
    pub(super) reservation: Option<Reservation>,
    /// Told when its answer begins.
    pub(super) begun: Begun,
}

/// A call that is back.
#[derive(Debug)]
pub(super) struct Landed {
    /// What was asked.
    pub(super) call: Arc<Call>,
    /// What is still reserved for it.
    pub(super) reservation: Option<Reservation>,
    /// What became of it.
    pub(super) landing: Landing,
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum Landing {
    /// An account's queue has settled it.
    Settled(Settlement),
    /// An earlier run got this answer.
    Earlier(Box<Reusable>),
    /// No earlier run got an answer: it is to be asked.
    NotFound,
}

/// Where calls go. A few plain methods, so that lanes of all kinds stand in one list.
pub(super) trait Lane: Send {
    /// How many more calls it takes now, where so many of its calls ended and are not yet committed.
    fn room(&self, uncommitted: usize) -> usize;

    /// Ready once there may be more room than [`room`](Self::room) said, though nothing has landed.
    fn poll_room(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    /// Takes a call. It comes back by [`poll_landed`](Self::poll_landed), whatever becomes of it.
    fn start(&mut self, flight: Flight);

    /// The next call that is back; `None`: nothing is under way. Nothing is lost between two polls.
    ///
    /// An error is a fault of ours (a task panicked): the run ends with it.
    fn poll_landed(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Landed, RunError>>>;

    /// Told when the user stops the run, and once more when at once: what is under way then comes back
    /// soon.
    fn stop(&mut self, how: Shutdown);
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A lane that takes one call and never gets it back.
    struct Silent(Option<Flight>);

    impl Lane for Silent {
        fn room(&self, _: usize) -> usize {
            usize::from(self.0.is_none())
        }

        fn start(&mut self, flight: Flight) {
            self.0 = Some(flight);
        }

        fn poll_landed(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Landed, RunError>>> {
            Poll::Pending
        }

        fn stop(&mut self, _: Shutdown) {}
    }

    #[test]
    fn a_lane_gets_room_by_landings_alone_unless_it_says_otherwise() {
        let mut lane: Box<dyn Lane> = Box::new(Silent(None));
        let mut context = Context::from_waker(Waker::noop());
        assert!(
            lane.poll_room(&mut context).is_pending(),
            "a lane that is always ready would be asked without end"
        );
        let call = crate::runner::fixtures::call(0);
        lane.start(Flight { call, reservation: None, begun: Begun::NOBODY });
        assert!(lane.poll_room(&mut context).is_pending());
    }
}
