//! What the provider's prompt cache did for one target.

use serde::Serialize;

use crate::{
    domain::{AnswerSource, Cost, Price, RunRow, TargetPos, Usage},
    store::{Measured, Store, StoreError},
};

/// Prompt caching over all answers of one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheCard {
    /// Of the input tokens that went through the cache, the share that was read from it; the rest was
    /// written to it.
    pub hit_rate: f64,
    /// Tokens read from the cache.
    pub tokens_read: u64,
    /// Tokens written to it.
    pub tokens_written: u64,
    /// What the same tokens would have cost without a cache, less what they cost, in dollars at the
    /// run's own price rows. Negative where writes were dearer than reads were cheap; `None` when no
    /// answer's cost is known.
    pub saved_usd: Option<String>,
    /// Answers for which that is not known.
    pub saved_unknown_trials: u64,
}

/// Sums over answers.
#[derive(Debug, Default)]
struct Caching {
    read: u64,
    written: u64,
    saved_picodollars: i64,
    known: u64,
    unknown: u64,
}

impl CacheCard {
    /// The card of the target at `target`, which asks `model`; `None` when nothing went through a
    /// cache.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn read(
        store: &Store,
        run: RunRow,
        target: TargetPos,
        model: &str,
    ) -> Result<Option<Self>, StoreError> {
        let mut prices: Vec<Price> = store.prices(run)?.into_iter().map(|(_, price)| price).collect();
        prices.retain(|price| price.model.as_str() == model);
        let mut caching = Caching::default();
        store.for_each_measured::<StoreError>(run, target, |trial| {
            caching.note(&trial, &prices);
            Ok(())
        })?;
        Ok(caching.card())
    }
}

impl Caching {
    fn note(&mut self, trial: &Measured, prices: &[Price]) {
        let (Some(usage), AnswerSource::Live) = (&trial.usage, trial.source) else { return };
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

    fn card(&self) -> Option<CacheCard> {
        let through = self.read + self.written;
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than a float has")]
        let hit_rate = (through > 0).then(|| self.read as f64 / through as f64)?;
        let amount = Cost::from_picodollars(self.saved_picodollars.saturating_abs());
        let sign = if self.saved_picodollars < 0 { "-" } else { "" };
        Some(CacheCard {
            hit_rate,
            tokens_read: self.read,
            tokens_written: self.written,
            saved_usd: (self.known > 0).then(|| format!("{sign}{amount}")),
            saved_unknown_trials: self.unknown,
        })
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
    use crate::domain::{CasePos, Outcome, Rates, Repeat, Tariff};

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

    fn trial(read: u64, written: u64, cost: Option<Cost>) -> Measured {
        let usage = Usage {
            input_uncached: 20,
            cache_read: read,
            cache_write_5m: written,
            output: 5,
            ..Usage::default()
        };
        Measured {
            case: CasePos(0),
            repeat: Repeat::FIRST,
            outcome: Outcome::Answered,
            gradable: true,
            verdict: None,
            failure: None,
            usage: Some(usage),
            usage_flag: None,
            cost: cost.or_else(|| price().cost(&usage)),
            latency_ms: None,
            first_token_ms: None,
            queue_wait_ms: 0.0,
            backoff_wait_ms: 0.0,
            attempts: 1,
            source: AnswerSource::Live,
        }
    }

    fn card(trials: &[Measured]) -> Option<CacheCard> {
        let mut caching = Caching::default();
        trials.iter().for_each(|trial| caching.note(trial, &[price()]));
        caching.card()
    }

    #[test]
    fn one_write_and_many_reads_save_most_of_the_prefix() {
        let mut trials = vec![trial(0, 10_000, None)];
        trials.extend(vec![trial(10_000, 0, None); 49]);
        let card = card(&trials).unwrap();
        assert_eq!((card.tokens_read, card.tokens_written), (490_000, 10_000));
        assert!((card.hit_rate - 0.98).abs() < 1e-12);
        // 50 × 10,000 tokens at $3 a million are $1.50; the write and the reads cost $0.1845.
        assert_eq!(card.saved_usd.as_deref(), Some("1.3155"));
    }

    #[test]
    fn writes_that_nobody_reads_are_a_loss() {
        let card = card(&[trial(0, 10_000, None), trial(0, 10_000, None)]).unwrap();
        assert_eq!((card.hit_rate, card.saved_usd.as_deref()), (0.0, Some("-0.015")));
    }

    #[test]
    fn what_went_through_no_cache_or_has_no_price_is_left_out() {
        assert_eq!(card(&[trial(0, 0, None)]), None);
        let answered_before = Measured { source: AnswerSource::Cache, ..trial(500, 0, None) };
        assert_eq!(card(&[answered_before]), None);
        let card = card(&[trial(500, 0, Some(Cost::from_picodollars(1)))]).unwrap();
        assert_eq!((card.saved_usd, card.saved_unknown_trials), (None, 1));
    }
}
