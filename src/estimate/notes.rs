//! What an estimate does not know and what it assumed, one sentence each.

use super::{
    history::{Basis, History},
    output::OutputTokens,
};
use crate::config::Experiment;

/// The notes on an experiment, given the output projected for its targets from their history.
pub(super) fn notes(experiment: &Experiment, history: &History, outputs: &[OutputTokens]) -> Vec<String> {
    let mut notes = vec![];
    for ((target, past), of) in experiment.targets.iter().zip(&history.targets).zip(outputs) {
        if target.prices.standard().is_none() {
            notes.push(format!(
                "no price for model `{}`: the dollars of `{}` are unknown (add a `[[price]]` row)",
                target.settings.model, target.name
            ));
        }
        match of.basis {
            Basis::Nothing => notes.push(format!(
                "no earlier {} of `{}`: its output is a share of `max_tokens`, with wide bounds",
                if past.runs.is_empty() { "run" } else { "answer told the tokens" },
                target.name
            )),
            Basis::SameModel => notes.push(format!(
                "no earlier run of `{}`: other runs of model `{}` stand in, with wider bounds",
                target.name, target.settings.model
            )),
            Basis::SameTarget if of.past_cases < 30 => notes.push(format!(
                "only {} earlier cases of `{}`: an order of magnitude",
                of.past_cases, target.name
            )),
            Basis::SameTarget => {}
        }
    }
    for provider in &experiment.settings.providers {
        let limits = &provider.queue.limits;
        let unknown = limits.requests_per_minute.is_none()
            && limits.input_tokens_per_minute.is_none()
            && limits.output_tokens_per_minute.is_none()
            && limits.tokens_per_minute.is_none();
        if unknown && provider.kind.is_remote() {
            notes.push(format!(
                "limits of provider `{}` are unknown: only `max_in_flight` = {} is counted with",
                provider.name, limits.max_in_flight
            ));
        }
    }
    notes
}
