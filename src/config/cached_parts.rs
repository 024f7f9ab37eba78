//! What a target's cached parts come to over all cases, before anything is sent.

use std::collections::HashMap;

use super::experiment::Experiment;
use crate::{
    domain::{CasePos, Fingerprint, PromptCache, Repeat, TargetPos},
    providers::{cache_minimum, tokens_of},
};

/// The parts of a target's prompts that it asks to be cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedParts {
    /// What the target asks for.
    pub cache: PromptCache,
    /// How many different parts there are: each is written once.
    pub prefixes: usize,
    /// Tokens of the smallest and of the largest, by estimate.
    pub tokens: [u64; 2],
    /// Cases whose prompt has no text in that part.
    pub without: usize,
    /// The fewest tokens that the model caches, where that is known.
    pub minimum: Option<u64>,
    /// Parts that are, by estimate, smaller: the provider silently caches nothing there.
    pub too_small: usize,
}

impl Experiment {
    /// The cached parts of the target at `position`; `None` when it asks for none.
    pub fn cached_parts(&self, position: TargetPos) -> Option<CachedParts> {
        let settings = &self.targets[position.index()].settings;
        let cache = settings.parameters.cache?;
        let minimum = cache_minimum(settings.model.as_str());
        let mut sizes: HashMap<Fingerprint, u64> = HashMap::new();
        let mut without = 0;
        for case in (0..self.cases.len()).map(CasePos::at) {
            let prompt = self.question(position, case, Repeat::FIRST).prompt;
            let Some(part) = prompt.cached_prefix(&settings.model, cache.at) else {
                without += 1;
                continue;
            };
            sizes.entry(part).or_insert_with(|| {
                let turns = prompt.messages.iter().take(prompt.cached_messages(cache.at));
                let system = prompt.system.as_deref().map_or(0, tokens_of);
                system + turns.map(|turn| tokens_of(turn.content.text())).sum::<u64>()
            });
        }
        let sizes: Vec<u64> = sizes.into_values().collect();
        let bounds = [sizes.iter().min(), sizes.iter().max()];
        Some(CachedParts {
            cache,
            prefixes: sizes.len(),
            tokens: bounds.map(|tokens| tokens.copied().unwrap_or(0)),
            without,
            minimum,
            too_small: sizes.iter().filter(|&&tokens| minimum.is_some_and(|least| tokens < least)).count(),
        })
    }
}
