//! Input tokens: every prompt as it will be sent, counted.
//!
//! Of very many prompts a seeded sample is tokenised, and the rest follow by their length. What earlier
//! runs were charged corrects the count.

use rayon::prelude::*;

use super::{
    Range,
    history::{Basis, InputRatio, TargetHistory},
};
use crate::{
    config::Experiment,
    domain::{CaseId, CasePos, Fingerprint, TargetPos},
    providers::{Tokenizer, estimate_input_tokens},
    stats::SplitMix64,
};

/// Prompts that are tokenised one by one; of more than these a sample of as many.
const TOKENISED: usize = 1_000;

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

impl InputTokens {
    /// The upper end of all requests' input, as a multiple of what was counted.
    pub fn upper_share(&self) -> f64 {
        share_of(self.total.high, self.total.mid)
    }
}

/// Which share of the `counted` tokens so many are.
pub(super) fn share_of(tokens: f64, counted: f64) -> f64 {
    if counted > 0.0 { tokens / counted } else { 1.0 }
}

/// Counts the prompts of a target.
pub fn input_tokens(experiment: &Experiment, target: TargetPos, history: &TargetHistory) -> InputTokens {
    let place = target;
    let target = &experiment.targets[place.index()];
    let tokenizer = target.tokenizer();
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
        Some(InputRatio { ratio, se }) => {
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
    let shared_tokens = shared.as_deref().map_or(0, |text| tokenizer.count_system(text));
    let one = |case: usize| {
        let prompt = prompt(case);
        match &shared {
            // What all share is tokenised once.
            Some(_) => tokenizer.count_after(shared_tokens, &prompt),
            None => tokenizer.count(&prompt),
        }
    };
    if !tokenizer.is_slow() || n <= TOKENISED {
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

    #[test]
    fn a_spread_sample_meets_every_part() {
        let sample = spread_sample(1_000, 10, 7);
        for (stratum, case) in sample.into_iter().enumerate() {
            assert!((stratum * 100..(stratum + 1) * 100).contains(&case));
        }
    }
}
