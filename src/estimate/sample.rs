//! A seeded, stratified sample of the cases: what a pilot asks.

use std::collections::BTreeMap;

use crate::{config::PlannedCase, stats::SplitMix64};

/// The positions of `size` of the `cases`, in ascending order: from each combination of segments its
/// share, rounded by largest remainder, drawn with `seed`. All of them if there are no more.
pub fn stratified_sample(cases: &[PlannedCase], size: usize, seed: u64) -> Vec<usize> {
    if size >= cases.len() {
        return (0..cases.len()).collect();
    }
    let mut strata: BTreeMap<Vec<(&str, &str)>, Vec<usize>> = BTreeMap::new();
    for (at, planned) in cases.iter().enumerate() {
        let segments = planned.case.segment.iter();
        let key = segments.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        strata.entry(key).or_default().push(at);
    }
    let mut shares: Vec<(usize, usize, Vec<usize>)> = strata
        .into_values()
        .map(|members| {
            let exact = members.len() * size;
            (exact / cases.len(), exact % cases.len(), members)
        })
        .collect();
    let given: usize = shares.iter().map(|(share, _, _)| share).sum();
    // Stable, so that equal remainders go by the order of the segments.
    shares.sort_by_key(|(_, remainder, _)| std::cmp::Reverse(*remainder));
    let mut rng = SplitMix64::new(seed);
    let mut sample = Vec::with_capacity(size);
    for (place, (share, _, mut members)) in shares.into_iter().enumerate() {
        let share = (share + usize::from(place < size - given)).min(members.len());
        for at in 0..share {
            let other = at + rng.below(members.len() - at);
            members.swap(at, other);
        }
        sample.extend(&members[..share]);
    }
    sample.sort_unstable();
    sample
}
