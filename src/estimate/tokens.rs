//! Input tokens: every prompt as it will be sent, counted.
//!
//! OpenAI's tokenizer is public and is used as it is; for the others a length of token by kind of
//! text stands in, corrected by what earlier runs were charged. Of very many prompts a seeded sample
//! is tokenised, and the rest follow by their length.

use std::sync::OnceLock;

use rayon::prelude::*;
use tiktoken_rs::CoreBPE;

use super::{
    Range,
    history::{Basis, TargetHistory},
};
use crate::{
    config::{Experiment, ProviderKind, Target},
    domain::{CaseId, CasePos, Fingerprint, Prompt, TargetPos},
    providers::{estimate_input_tokens, estimate_tokens::tokens_of},
    stats::SplitMix64,
};

/// Prompts that are tokenised one by one; of more than these a sample of as many.
const TOKENISED: usize = 1_000;

/// What OpenAI's chat format puts around each message, and around all of them.
const CHAT_PER_MESSAGE: u64 = 3;

/// Claude's tokens against the common tokenizers': these count 15 to 20 % too few of prose.
///
/// Source: Anthropic's documentation, "Token counting".
const CLAUDE_FACTOR: f64 = 1.2;

/// Who counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// OpenAI's `o200k_base`.
    O200k,
    /// Characters a token by kind of text, for Claude.
    ClaudeCharacters,
    /// Characters a token by kind of text.
    Characters,
}

impl Tokenizer {
    /// The one for a target.
    pub fn of(experiment: &Experiment, target: &Target) -> Self {
        let model = target.settings.model.as_str();
        let openai = ["gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "o1", "o3", "o4", "chatgpt-4o"];
        let bare = model.rsplit('/').next().unwrap_or(model);
        match experiment.settings.providers[target.provider].kind {
            ProviderKind::Openai if openai.iter().any(|prefix| bare.starts_with(prefix)) => Self::O200k,
            ProviderKind::Anthropic => Self::ClaudeCharacters,
            _ => Self::Characters,
        }
    }

    /// How it is told on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::O200k => "o200k tokenizer",
            Self::ClaudeCharacters => "characters a token, Claude",
            Self::Characters => "characters a token",
        }
    }

    /// How far off it may be when no earlier run corrects it: factors of the count.
    fn bounds(self) -> (f64, f64) {
        match self {
            Self::O200k => (0.97, 1.05),
            Self::ClaudeCharacters => (0.70, 1.50),
            Self::Characters => (0.70, 1.40),
        }
    }
}

/// The tokens of a prompt as `tokenizer` counts them.
pub fn count(tokenizer: Tokenizer, prompt: &Prompt) -> u64 {
    match tokenizer {
        Tokenizer::O200k => {
            let system = prompt.system.as_deref().map_or(0, |text| o200k(text) + CHAT_PER_MESSAGE);
            system + turns(prompt)
        }
        Tokenizer::ClaudeCharacters => scaled(estimate_input_tokens(prompt), CLAUDE_FACTOR),
        Tokenizer::Characters => estimate_input_tokens(prompt),
    }
}

fn turns(prompt: &Prompt) -> u64 {
    let turns: u64 = prompt.messages.iter().map(|message| o200k(&message.content) + CHAT_PER_MESSAGE).sum();
    turns + CHAT_PER_MESSAGE
}

/// The tokens of a text, by OpenAI's `o200k_base`; its table is loaded when it is first asked.
fn o200k(text: &str) -> u64 {
    static TABLE: OnceLock<Option<CoreBPE>> = OnceLock::new();
    match TABLE.get_or_init(|| tiktoken_rs::o200k_base().ok()) {
        Some(table) => table.encode_ordinary(text).len() as u64,
        None => tokens_of(text),
    }
}

/// A rounded product.
pub(super) fn scaled(tokens: u64, factor: f64) -> u64 {
    whole(tokens as f64 * factor)
}

/// A count from a float; nothing below 0.
pub(super) fn whole(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as meant")]
    let number = number.round() as u64;
    number
}

/// The input of all requests of one target.
#[derive(Clone, Debug)]
pub struct InputTokens {
    /// Input tokens of a request of each case, in the experiment's order.
    pub per_case: Vec<f64>,
    /// Of all requests together.
    pub total: Range,
    /// Tokens of the instructions that all requests begin with; 0 if they differ.
    pub shared_prefix: f64,
    /// Who counted.
    pub tokenizer: Tokenizer,
    /// Whether earlier runs corrected the count.
    pub corrected: bool,
}

/// Counts the prompts of a target.
pub fn input_tokens(experiment: &Experiment, target: TargetPos, history: &TargetHistory) -> InputTokens {
    let place = target;
    let target = &experiment.targets[place.index()];
    let tokenizer = Tokenizer::of(experiment, target);
    let (counted, shared) = count_all(experiment, place, tokenizer);
    let ratio = history.input_ratio;
    let factor = ratio.map_or(1.0, |ratio| ratio.ratio);
    let known = known_inputs(experiment, history);
    let mut per_case = Vec::with_capacity(counted.len());
    let (mut known_total, mut counted_total) = (0.0, 0.0);
    for ((planned, counted), known) in experiment.cases.iter().zip(&counted).zip(&known) {
        let repeats = f64::from(planned.repeats);
        match known {
            Some(tokens) => {
                known_total += repeats * tokens;
                per_case.push(*tokens);
            }
            None => {
                counted_total += repeats * counted * factor;
                per_case.push(counted * factor);
            }
        }
    }
    let bounds = match ratio {
        Some(InputRatioOf { ratio, se }) => {
            // Twice the standard error, and never surer than one in two hundred.
            let half = (2.0 * se / ratio).max(0.005);
            let half = if history.basis == Basis::SameTarget { half } else { half.max(0.05) };
            (1.0 - half, 1.0 + half)
        }
        None => tokenizer.bounds(),
    };
    let mid = known_total + counted_total;
    let total = Range {
        low: known_total + counted_total * bounds.0.max(0.0),
        mid,
        high: known_total + counted_total * bounds.1,
    };
    InputTokens { per_case, total, shared_prefix: shared * factor, tokenizer, corrected: ratio.is_some() }
}

use super::history::InputRatio as InputRatioOf;

/// The input of cases that earlier runs asked with the very same prompt.
fn known_inputs(experiment: &Experiment, history: &TargetHistory) -> Vec<Option<f64>> {
    if history.basis != Basis::SameTarget || !history.same_prompts {
        return vec![None; experiment.cases.len()];
    }
    let past: std::collections::HashMap<(&CaseId, Fingerprint), f64> = history
        .cases
        .iter()
        .filter(|case| !case.inputs.is_empty())
        .filter_map(|case| {
            let mean = case.inputs.iter().sum::<f64>() / case.inputs.len() as f64;
            Some(((case.id.as_ref()?, case.fingerprint?), mean))
        })
        .collect();
    let known = experiment
        .cases
        .iter()
        .map(|planned| past.get(&(&planned.case.id, planned.case.fingerprint)).copied());
    known.collect()
}

/// The count of every case's prompt, and of what all of them begin with.
fn count_all(experiment: &Experiment, place: TargetPos, tokenizer: Tokenizer) -> (Vec<f64>, f64) {
    let n = experiment.cases.len();
    let prompt = |case: usize| experiment.prompt(place, CasePos::at(case));
    let shared = shared_system(experiment, place);
    let shared_tokens = shared.as_deref().map_or(0, |text| match tokenizer {
        Tokenizer::O200k => o200k(text) + CHAT_PER_MESSAGE,
        Tokenizer::ClaudeCharacters => scaled(tokens_of(text), CLAUDE_FACTOR),
        Tokenizer::Characters => tokens_of(text),
    });
    let one = |case: usize| {
        let prompt = prompt(case);
        match (&shared, tokenizer) {
            // What all share is tokenised once.
            (Some(_), Tokenizer::O200k) => shared_tokens + turns(&prompt),
            _ => count(tokenizer, &prompt),
        }
    };
    if tokenizer != Tokenizer::O200k || n <= TOKENISED {
        return ((0..n).into_par_iter().map(|case| one(case) as f64).collect(), shared_tokens as f64);
    }
    let lengths: Vec<f64> =
        (0..n).into_par_iter().map(|case| estimate_input_tokens(&prompt(case)) as f64).collect();
    let sample = spread_sample(n, TOKENISED, experiment.settings.seed);
    let exact: f64 = sample.par_iter().map(|&case| one(case) as f64).sum();
    let by_length: f64 = sample.iter().map(|&case| lengths[case]).sum();
    let ratio = exact / by_length.max(1.0);
    (lengths.into_iter().map(|length| length * ratio).collect(), shared_tokens as f64)
}

/// One of each `n`/`size` neighbours, drawn with `seed`: all parts of a sorted set are met.
fn spread_sample(n: usize, size: usize, seed: u64) -> Vec<usize> {
    let mut rng = SplitMix64::new(seed);
    (0..size)
        .map(|stratum| {
            let (from, to) = (stratum * n / size, (stratum + 1) * n / size);
            from + rng.below((to - from).max(1))
        })
        .collect()
}

/// The instructions that every case of the target has, if they are the same.
fn shared_system(experiment: &Experiment, place: TargetPos) -> Option<std::sync::Arc<str>> {
    let system = |case: usize| experiment.prompt(place, CasePos::at(case)).system;
    let first = system(0)?;
    // A template without fields is rendered once: a look at a few cases tells.
    let looked = spread_sample(experiment.cases.len(), 16.min(experiment.cases.len()), 1);
    looked.into_iter().all(|case| system(case).as_deref() == Some(&*first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Message, Role};

    #[test]
    fn openai_prompts_are_counted_by_their_own_tokenizer() {
        assert_eq!(o200k("hello world"), 2);
        let message = Message { role: Role::User, content: "hello world".to_owned() };
        let prompt = Prompt { system: Some("hello world".into()), messages: vec![message] };
        assert_eq!(count(Tokenizer::O200k, &prompt), 2 + 3 + 2 + 3 + 3);
    }

    #[test]
    fn a_spread_sample_meets_every_part() {
        let sample = spread_sample(1_000, 10, 7);
        for (stratum, case) in sample.into_iter().enumerate() {
            assert!((stratum * 100..(stratum + 1) * 100).contains(&case));
        }
    }
}
