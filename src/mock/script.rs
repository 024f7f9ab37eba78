//! An answer that comes in pieces, with silences between them.

use std::{convert::Infallible, io, time::Duration};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::time::sleep;

use super::visit::Visit;

/// One step of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Send(Bytes),
    Wait(Duration),
    /// Nothing more comes, until the client goes away.
    Hang,
    /// The connection breaks.
    Break,
}

/// The steps of an answer whose pieces come `gap` apart, with `fault` in its middle.
pub(super) fn steps(pieces: Vec<String>, gap: Duration, mut fault: Option<Vec<Step>>) -> Vec<Step> {
    let middle = pieces.len() / 2;
    let mut steps = Vec::with_capacity(2 * pieces.len());
    for (at, piece) in pieces.into_iter().enumerate() {
        if at == middle
            && let Some(fault) = fault.take()
        {
            let ends = fault.iter().any(|step| matches!(step, Step::Hang | Step::Break | Step::Send(_)));
            steps.extend(fault);
            // What an error says, and a broken connection, end an answer; a pause does not.
            if ends {
                return steps;
            }
        }
        if at > 0 && !gap.is_zero() {
            steps.push(Step::Wait(gap));
        }
        steps.push(Step::Send(piece.into()));
    }
    steps
}

/// A body that follows `steps`. `visit` ends when it is through or the client goes away.
pub(super) fn body(steps: Vec<Step>, visit: Visit) -> Body {
    let state = (steps.into_iter(), visit);
    Body::from_stream(stream::unfold(state, |(mut steps, mut visit)| async move {
        loop {
            match steps.next() {
                Some(Step::Send(bytes)) => return Some((Ok(bytes), (steps, visit))),
                Some(Step::Wait(time)) => sleep(time).await,
                Some(Step::Hang) => match std::future::pending::<Infallible>().await {},
                Some(Step::Break) => {
                    visit.went_out();
                    let broken = io::Error::from(io::ErrorKind::ConnectionReset);
                    return Some((Err(broken), (vec![].into_iter(), visit)));
                }
                None => {
                    visit.went_out();
                    return None;
                }
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(text: &'static str) -> Step {
        Step::Send(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn a_fault_strikes_in_the_middle() {
        let pieces = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let gap = Duration::from_millis(5);
        assert_eq!(
            steps(pieces(), gap, None),
            [send("a"), Step::Wait(gap), send("b"), Step::Wait(gap), send("c")]
        );
        assert_eq!(steps(pieces(), Duration::ZERO, Some(vec![Step::Break])), [send("a"), Step::Break]);
        let pause = Step::Wait(Duration::from_secs(1));
        assert_eq!(
            steps(pieces(), Duration::ZERO, Some(vec![pause.clone()])),
            [send("a"), pause, send("b"), send("c")]
        );
    }
}
