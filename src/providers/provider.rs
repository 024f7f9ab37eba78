//! Who answers the calls of one account.

use futures_util::future::BoxFuture;

use super::Rejection;
use crate::domain::{Begun, Bounds, Outgoing, Prompt, Question, Reply};

/// Output tokens that an answer is taken to have at most where its question sets no limit and no model
/// stands behind it.
const DEFAULT_OUTPUT_TOKENS: u64 = 1_024;

/// Tokens that a protocol puts around each message, at most.
const PER_MESSAGE: u64 = 16;

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
pub(super) fn handed_over(question: Question) -> (Outgoing, Bounds) {
    let bounds = bounds_by_prompt(&question);
    (Outgoing::Question(Box::new(question)), bounds)
}

/// The most that an answer can be billed for where no model stands behind it.
pub fn bounds_by_prompt(question: &Question) -> Bounds {
    let said_output = question.parameters.max_tokens.map(u64::from);
    let output = said_output.or(Some(DEFAULT_OUTPUT_TOKENS));
    Bounds { input: Some(most_input(&question.prompt)), output, said_output }
}

/// A token has at least one byte.
fn most_input(prompt: &Prompt) -> u64 {
    let system = prompt.system.as_ref().map_or(0, |text| text.len() as u64);
    let turns = prompt.messages.iter().map(|message| message.content.text().len() as u64 + PER_MESSAGE);
    system + turns.sum::<u64>()
}

/// The question that [`handed_over`] made of it.
pub(super) fn question_of(outgoing: &Outgoing) -> &Question {
    outgoing.as_question().expect("who answers by case is handed its own questions")
}
