//! What went through a provider's prompt cache, and what that saved.

use crate::{
    domain::{AnswerSource, Usage},
    spend::Prices,
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
    pub(super) fn note(&mut self, trial: &TrialRow, prices: &Prices) {
        let (Some(usage), Some(AnswerSource::Live)) = (&trial.usage, trial.source) else { return };
        if usage.cache_read + usage.cache_writes() == 0 {
            return;
        }
        self.read += usage.cache_read;
        self.written += usage.cache_writes();
        match saved(trial, usage, prices) {
            Some(picodollars) => {
                self.known += 1;
                self.saved_picodollars = self.saved_picodollars.saturating_add(picodollars);
            }
            None => self.unknown += 1,
        }
    }
}

/// What an answer would have cost more without a cache, in picodollars; `None` when its cost is not known,
/// or not by which row.
fn saved(trial: &TrialRow, usage: &Usage, prices: &Prices) -> Option<i64> {
    let (cost, tariff) = (trial.cost?, trial.tariff?);
    let uncached = Usage { input_uncached: usage.input_total(), output: usage.output, ..Usage::default() };
    // What version 0.1 stored does not say by which row it was priced.
    let row = trial.price.or_else(|| prices.row_of_cost(cost, usage, tariff))?;
    Some(prices.by_row(row, &uncached, tariff)?.picodollars() - cost.picodollars())
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::{
        domain::{Cost, Price, PricePos, Rates, Tariff},
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
            batch_half: true,
        }
    }

    /// Two rows of one model: that above, and one in which a cache read costs as much as any input.
    fn prices() -> Prices {
        let rates = Rates { cache_read: Some(price().rates.input), ..price().rates };
        let dear = Price { effective_from: Date::constant(2026, 2, 1), rates, ..price() };
        Prices::of_rows(vec![(PricePos(0), price()), (PricePos(1), dear)])
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
        trials.iter().for_each(|trial| caching.note(trial, &prices()));
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
    fn the_row_that_priced_an_answer_says_what_was_saved() {
        let saved = |priced_by, tariff, cost| {
            let trial = TrialRow { price: priced_by, tariff: Some(tariff), ..trial(1_000, 0, cost) };
            sums(&[trial]).saved_picodollars
        };
        // 1,000 tokens at $3 a million instead of $0.30; at the dear row they cost the same.
        let (cheap, dear) = (Some(PricePos(0)), Some(PricePos(1)));
        let dearly = Some(Cost::from_picodollars(1_020 * 3_000_000 + 5 * 15_000_000));
        assert_eq!(saved(cheap, Tariff::Standard, None), 2_700_000_000);
        assert_eq!(saved(dear, Tariff::Standard, dearly), 0);
        // Version 0.1 did not note the row: that by which it costs what it cost.
        assert_eq!(saved(None, Tariff::Standard, None), 2_700_000_000);
        assert_eq!(saved(None, Tariff::Standard, dearly), 0);
    }

    #[test]
    fn a_batch_saves_half_as_much() {
        let halved = price().cost(&trial(1_000, 0, None).usage.unwrap()).unwrap().halved();
        let batch = TrialRow {
            price: Some(PricePos(0)),
            tariff: Some(Tariff::Batch),
            ..trial(1_000, 0, Some(halved))
        };
        assert_eq!(sums(&[batch]).saved_picodollars, 1_350_000_000);
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
