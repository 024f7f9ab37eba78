//! What went through a provider's prompt cache, and what that saved.

use crate::{
    domain::{AnswerSource, Cost, Price, Usage},
    store::TrialRow,
};

/// Sums over the answers that went through a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caching {
    /// Tokens read from it.
    pub read: u64,
    /// Tokens written to it.
    pub written: u64,
    /// What the answers cost less than without a cache, in picodollars, as far as it is known.
    pub saved_picodollars: i64,
    /// Answers of which that is known.
    pub known: u64,
    /// Answers of which that is not known.
    pub unknown: u64,
}

impl Caching {
    pub(super) fn note(&mut self, trial: &TrialRow, prices: &[Price]) {
        let (Some(usage), Some(AnswerSource::Live)) = (&trial.usage, trial.source) else { return };
        if usage.cache_read + usage.cache_writes() == 0 {
            return;
        }
        self.read += usage.cache_read;
        self.written += usage.cache_writes();
        match trial.cost.and_then(|cost| saved(usage, cost, prices)) {
            Some(picodollars) => {
                self.known += 1;
                self.saved_picodollars = self.saved_picodollars.saturating_add(picodollars);
            }
            None => self.unknown += 1,
        }
    }
}

/// What an answer would have cost more without a cache, in picodollars; `None` when none of `prices`
/// is the row under which it cost `cost`.
fn saved(usage: &Usage, cost: Cost, prices: &[Price]) -> Option<i64> {
    let uncached = Usage { input_uncached: usage.input_total(), output: usage.output, ..Usage::default() };
    // A run that was resumed later may have used two rows of one model.
    let price = prices.iter().find(|price| price.cost(usage) == Some(cost))?;
    Some(price.cost(&uncached)?.picodollars() - cost.picodollars())
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::{
        domain::{Rates, Tariff},
        evidence::trial::tests::answer,
    };

    const DOLLAR: i64 = 1_000_000_000_000;

    fn price() -> Price {
        let per_token = |picodollars| Cost::from_picodollars(picodollars);
        Price {
            model: "m".into(),
            effective_from: Date::constant(2026, 1, 1),
            tariff: Tariff::Standard,
            source: "test".into(),
            rates: Rates {
                input: per_token(3_000_000),
                output: per_token(15_000_000),
                cache_read: Some(per_token(300_000)),
                cache_write_5m: Some(per_token(3_750_000)),
                cache_write_30m: None,
                cache_write_1h: Some(per_token(6_000_000)),
            },
            tiers: vec![],
            batch_half: false,
        }
    }

    fn trial(read: u64, written: u64, cost: Option<Cost>) -> TrialRow {
        let usage = Usage {
            input_uncached: 20,
            cache_read: read,
            cache_write_5m: written,
            output: 5,
            ..Usage::default()
        };
        TrialRow { usage: Some(usage), cost: cost.or_else(|| price().cost(&usage)), ..answer(0, true) }
    }

    fn sums(trials: &[TrialRow]) -> Caching {
        let mut caching = Caching::default();
        trials.iter().for_each(|trial| caching.note(trial, &[price()]));
        caching
    }

    #[test]
    fn one_write_and_many_reads_save_most_of_the_prefix() {
        let mut trials = vec![trial(0, 10_000, None)];
        trials.extend(vec![trial(10_000, 0, None); 49]);
        let caching = sums(&trials);
        assert_eq!((caching.read, caching.written, caching.known), (490_000, 10_000, 50));
        // 50 × 10,000 tokens at $3 a million are $1.50; the write and the reads cost $0.1845.
        assert_eq!(caching.saved_picodollars, DOLLAR * 13_155 / 10_000);
    }

    #[test]
    fn writes_that_nobody_reads_are_a_loss() {
        let caching = sums(&[trial(0, 10_000, None), trial(0, 10_000, None)]);
        assert_eq!(caching.saved_picodollars, -DOLLAR * 15 / 1_000);
    }

    #[test]
    fn what_went_through_no_cache_or_has_no_price_is_left_out() {
        assert_eq!(sums(&[trial(0, 0, None)]), Caching::default());
        let answered_before = TrialRow { source: Some(AnswerSource::Cache), ..trial(500, 0, None) };
        assert_eq!(sums(&[answered_before]), Caching::default());
        let caching = sums(&[trial(500, 0, Some(Cost::from_picodollars(1)))]);
        assert_eq!((caching.known, caching.unknown), (0, 1));
    }
}
