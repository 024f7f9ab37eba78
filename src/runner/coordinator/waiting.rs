//! Waiting for what happens next: every source of news is asked in turn, in one place.

use std::task::{Context, Poll};

use super::{Coordinator, Event};

impl Coordinator<'_> {
    /// What happened: calls that are back first, new work last.
    pub(super) fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        let mut is_idle = true;
        let mut landed = vec![];
        for lane in &mut self.work.lanes {
            loop {
                match lane.poll_landed(context) {
                    Poll::Ready(Some(back)) => landed.push(back),
                    Poll::Ready(None) => break,
                    Poll::Pending => {
                        is_idle = false;
                        break;
                    }
                }
            }
        }
        if !landed.is_empty() {
            return Poll::Ready(Event::Landed(landed));
        }
        if let Poll::Ready(Some((at, prefix))) = self.begun.poll_recv(context) {
            return Poll::Ready(Event::Begun(at, prefix));
        }
        if !self.uncommitted.is_empty() {
            match self.work.committed.poll_recv(context) {
                Poll::Ready(Some(keys)) => return Poll::Ready(Event::Committed(keys)),
                // The writer is gone: nothing more will be.
                Poll::Ready(None) => {}
                Poll::Pending => is_idle = false,
            }
        }
        match self.pool.poll_graded(context) {
            Poll::Ready(Some(graded)) => return Poll::Ready(Event::Graded(graded)),
            Poll::Ready(None) => {}
            Poll::Pending => is_idle = false,
        }
        if self.work.lanes.iter_mut().any(|lane| lane.poll_room(context).is_ready()) {
            return Poll::Ready(Event::Room);
        }
        self.poll_stored(context, is_idle)
    }

    /// Stored answers, as long as more may be graded.
    fn poll_stored(&mut self, context: &mut Context<'_>, mut is_idle: bool) -> Poll<Event> {
        if !self.work.progress.is_closed() && !self.pool.is_full() {
            for source in &mut self.work.sources {
                match source.poll_stored(context) {
                    Poll::Ready(answers) if answers.is_empty() => {}
                    Poll::Ready(answers) => return Poll::Ready(Event::Stored(answers)),
                    Poll::Pending => is_idle = false,
                }
            }
        }
        if is_idle { Poll::Ready(Event::Done) } else { Poll::Pending }
    }
}
