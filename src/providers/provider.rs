//! Who answers the calls of one account.

use futures_util::future::BoxFuture;

use super::Rejection;
use crate::domain::{Begun, Bounds, Outgoing, Question, Reply};

/// Who answers the calls of one account: models, programs, endpoints, recordings, the simulator, and the
/// doubles of tests.
pub trait Provider: Send + Sync {
    /// What will be sent, and the most that one attempt can be billed for. Pure.
    fn prepare(&self, question: Question) -> (Outgoing, Bounds);

    /// Sends once. Never retries, never waits for a limit: that is the queue's.
    ///
    /// # Errors
    /// A [`Rejection`] when no answer came back. An answer that was truncated, refused or filtered
    /// is a reply, not an error.
    fn send<'a>(
        &'a self,
        outgoing: &'a Outgoing,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<Reply, Rejection>>;
}

/// A question that is handed over as it is, to whoever answers by case.
pub(super) fn handed_over(question: Question, bounds: Bounds) -> (Outgoing, Bounds) {
    (Outgoing::Question(Box::new(question)), bounds)
}

/// The bounds of an application's answer: there are none. Whom it asks on its way to an answer, how often
/// and with what prompts is its own affair, and `max_tokens` no more than a wish.
pub fn bounds_of_application(question: &Question) -> Bounds {
    Bounds { said_output: said_output(question), ..Bounds::default() }
}

/// The limit of output that a question says itself.
pub(super) fn said_output(question: &Question) -> Option<u64> {
    question.parameters.max_tokens.map(u64::from)
}

/// The question that [`handed_over`] made of it.
pub(super) fn question_of(outgoing: &Outgoing) -> &Question {
    outgoing.as_question().expect("who answers by case is handed its own questions")
}
