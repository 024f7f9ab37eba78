//! The lane of earlier answers: they are looked up on a thread of its own, so that no file is read in
//! the coordinator's loop.

use std::{
    io,
    sync::mpsc as channel,
    task::{Context, Poll, ready},
    thread,
};

use tokio::sync::mpsc;

use super::{
    error::RunError,
    lane::{Flight, Landed, Landing, Lane},
    shutdown::Shutdown,
};
use crate::store::{RequestHash, Reusable};

/// How many calls may wait for the thread.
const WAITING: usize = 256;

/// The way to the thread that looks for earlier answers. It ends with this: nothing then has the store
/// open that nobody knows of.
pub(super) struct Reused {
    /// `None` once the thread is asked to end.
    asked: Option<channel::Sender<Flight>>,
    found: mpsc::UnboundedReceiver<Landed>,
    under_way: usize,
    thread: Option<thread::JoinHandle<()>>,
}

impl Reused {
    /// Starts the thread, which asks `find` for the answer of a request.
    pub(super) fn start(
        find: impl Fn(&RequestHash) -> Option<Reusable> + Send + 'static,
    ) -> io::Result<Self> {
        let (asked, flights) = channel::channel::<Flight>();
        let (tell, found) = mpsc::unbounded_channel();
        let thread = thread::Builder::new().name("earlier-answers".to_owned()).spawn(move || {
            for Flight { call, reservation, .. } in flights {
                let earlier = call.hash.as_ref().and_then(&find);
                let landing = earlier.map_or(Landing::NotFound, |answer| Landing::Earlier(Box::new(answer)));
                if tell.send(Landed { call, reservation, landing }).is_err() {
                    // The run has ended meanwhile.
                    return;
                }
            }
        })?;
        Ok(Self { asked: Some(asked), found, under_way: 0, thread: Some(thread) })
    }
}

impl Drop for Reused {
    /// Waits for one lookup at most.
    fn drop(&mut self) {
        self.found.close();
        drop(self.asked.take());
        // One that panicked was told by the poll after.
        self.thread.take().map(thread::JoinHandle::join);
    }
}

impl Lane for Reused {
    fn room(&self, _: usize) -> usize {
        WAITING.saturating_sub(self.under_way)
    }

    fn start(&mut self, flight: Flight) {
        self.under_way += 1;
        // A thread that is gone is told by the next poll.
        let _ = self.asked.as_ref().map(|asked| asked.send(flight));
    }

    fn poll_landed(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Landed, RunError>>> {
        if self.under_way == 0 {
            return Poll::Ready(None);
        }
        let landed = ready!(self.found.poll_recv(context));
        self.under_way -= 1;
        let gone = || RunError::Task("the thread that looks for earlier answers is gone".to_owned());
        Poll::Ready(Some(landed.ok_or_else(gone)))
    }

    /// Lookups end by themselves.
    fn stop(&mut self, _: Shutdown) {}
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        domain::{Begun, Call},
        runner::fixtures::{call, landed, reusable},
    };

    fn ask(lane: &mut Reused, case: u8) {
        let call = Call { hash: Some([case; 32]), ..(*call(u32::from(case))).clone() };
        lane.start(Flight { call: Arc::new(call), reservation: None, begun: Begun::NOBODY });
    }

    #[tokio::test]
    async fn what_an_earlier_run_answered_is_found() {
        let mut lane = Reused::start(|hash| (hash[0] < 2).then(|| reusable("from then"))).unwrap();
        assert!(landed(&mut lane).await.is_none());
        assert_eq!(lane.room(1_000), WAITING);
        (0..3).for_each(|case| ask(&mut lane, case));
        assert_eq!(lane.room(0), WAITING - 3);
        let mut found = vec![];
        while let Some(back) = landed(&mut lane).await {
            let Landed { call, reservation, landing } = back.unwrap();
            assert!(reservation.is_none());
            found.push((call.hash.unwrap()[0], matches!(landing, Landing::Earlier(_))));
        }
        assert_eq!(found, [(0, true), (1, true), (2, false)]);
    }

    #[tokio::test]
    async fn a_thread_that_panicked_is_an_error_and_no_silence() {
        let mut lane = Reused::start(|_| panic!("a fault of ours")).unwrap();
        (0..2).for_each(|case| ask(&mut lane, case));
        assert!(landed(&mut lane).await.unwrap().is_err());
        assert!(landed(&mut lane).await.unwrap().is_err());
        assert!(landed(&mut lane).await.is_none());
    }
}
