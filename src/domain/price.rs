//! Price rows and what a usage costs under one.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{Cost, ModelId, Tariff, Usage};

/// Prices a token. A part without a price cannot be charged: a usage that has such tokens costs
/// *unknown*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Input that is neither read from nor written to a cache.
    pub input: Cost,
    /// Output, reasoning included.
    pub output: Cost,
    /// Input read from the cache.
    pub cache_read: Option<Cost>,
    /// Input written for five minutes.
    pub cache_write_5m: Option<Cost>,
    /// Input written for thirty minutes.
    pub cache_write_30m: Option<Cost>,
    /// Input written for one hour.
    pub cache_write_1h: Option<Cost>,
}

/// Rates that hold from a prompt size on, for the whole request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// The tier holds for prompts of more than this many tokens.
    pub above_input_tokens: u64,
    /// Its rates.
    pub rates: Rates,
}

/// One row of a price table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The model it prices, as the target names it.
    pub model: ModelId,
    /// The first day on which it holds.
    pub effective_from: Date,
    /// At what the requests that it prices are served.
    #[serde(default, skip_serializing_if = "Tariff::is_standard")]
    pub tariff: Tariff,
    /// Where it was read.
    pub source: String,
    /// Rates of an ordinary request.
    pub rates: Rates,
    /// Tiers by prompt size, smallest first.
    pub tiers: Vec<Tier>,
    /// Whether the provider's batch API takes half of it.
    pub batch_half: bool,
}

impl Rates {
    /// What `usage` costs at these rates; `None` when a part of it has no price.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        let parts = [
            (usage.input_uncached, Some(self.input)),
            (usage.output, Some(self.output)),
            (usage.cache_read, self.cache_read),
            (usage.cache_write_5m, self.cache_write_5m),
            (usage.cache_write_30m, self.cache_write_30m),
            (usage.cache_write_1h, self.cache_write_1h),
        ];
        parts.into_iter().filter(|(tokens, _)| *tokens > 0).map(|(tokens, rate)| rate?.times(tokens)).sum()
    }

    /// The dearest rate an input token can have.
    fn dearest_input(&self) -> Cost {
        [self.cache_write_5m, self.cache_write_30m, self.cache_write_1h, self.cache_read]
            .into_iter()
            .flatten()
            .fold(self.input, Cost::max)
    }
}

impl Price {
    /// The rates for a prompt of `input_tokens`: the highest tier it exceeds prices the whole
    /// request.
    pub fn rates_for(&self, input_tokens: u64) -> &Rates {
        self.tiers
            .iter()
            .rev()
            .find(|tier| input_tokens > tier.above_input_tokens)
            .map_or(&self.rates, |tier| &tier.rates)
    }

    /// What `usage` costs; `None` when a part of it has no price.
    pub fn cost(&self, usage: &Usage) -> Option<Cost> {
        self.rates_for(usage.input_total()).cost(usage)
    }

    /// The most that a request of at most `input_tokens` and `output_tokens` can cost, in whichever tier
    /// its prompt falls: a lower one may be dearer.
    pub fn worst_case(&self, input_tokens: u64, output_tokens: u64) -> Option<Cost> {
        let tiers = self.tiers.iter().map(|tier| (tier.above_input_tokens, &tier.rates));
        let reached = tiers.filter(|(above, _)| input_tokens > *above);
        let begins: Vec<(u64, &Rates)> = std::iter::once((0, &self.rates)).chain(reached).collect();
        let ends = begins.iter().skip(1).map(|(above, _)| *above).chain([input_tokens]);
        let costs = begins.iter().zip(ends).map(|((_, rates), input)| {
            Some(rates.dearest_input().times(input)? + rates.output.times(output_tokens)?)
        });
        costs.collect::<Option<Vec<Cost>>>()?.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A price in dollars per million tokens, as price lists give it.
    fn per_million(dollars: &str) -> Cost {
        Cost::from_picodollars(dollars.parse::<Cost>().unwrap().picodollars() / 1_000_000)
    }

    fn anthropic() -> Rates {
        Rates {
            input: per_million("3"),
            output: per_million("15"),
            cache_read: Some(per_million("0.30")),
            cache_write_5m: Some(per_million("3.75")),
            cache_write_30m: None,
            cache_write_1h: Some(per_million("6")),
        }
    }

    fn price(rates: Rates, tiers: Vec<Tier>) -> Price {
        Price {
            model: "m".into(),
            effective_from: Date::constant(2026, 1, 1),
            tariff: Tariff::Standard,
            source: "test".into(),
            rates,
            tiers,
            batch_half: true,
        }
    }

    #[test]
    fn every_token_is_paid_once_at_its_own_rate() {
        let five_minutes = Usage {
            input_uncached: 100,
            cache_read: 200,
            cache_write_5m: 700,
            output: 50,
            reasoning: Some(30),
            ..Usage::default()
        };
        let price = price(anthropic(), vec![]);
        assert_eq!(five_minutes.input_total(), 1_000);
        assert_eq!(price.cost(&five_minutes).unwrap().to_string(), "0.003735");

        let one_hour = Usage { cache_write_5m: 0, cache_write_1h: 700, ..five_minutes };
        assert_eq!(price.cost(&one_hour).unwrap().to_string(), "0.00531");
    }

    #[test]
    fn cached_tokens_without_a_price_cost_unknown_not_zero() {
        let rates = Rates { cache_read: None, ..anthropic() };
        let usage = Usage { cache_read: 1, ..Usage::default() };
        assert_eq!(rates.cost(&usage), None);
        assert_eq!(rates.cost(&Usage::default()), Some(Cost::ZERO));
    }

    #[test]
    fn a_tier_prices_the_whole_request() {
        let dear = Rates { input: per_million("6"), ..anthropic() };
        let price = price(anthropic(), vec![Tier { above_input_tokens: 200, rates: dear }]);
        let cost = |input_uncached| price.cost(&Usage { input_uncached, ..Usage::default() }).unwrap();
        assert_eq!(cost(200), per_million("3").times(200).unwrap());
        assert_eq!(cost(201), per_million("6").times(201).unwrap());
    }

    #[test]
    fn the_worst_case_writes_the_whole_prompt_at_the_dearest_rate() {
        let price = price(anthropic(), vec![]);
        assert_eq!(price.worst_case(1_000, 100).unwrap().to_string(), "0.0075");
    }

    /// Bytes bound a prompt from above: one of 250 bytes may have 150 tokens at ten times the price.
    #[test]
    fn the_worst_case_is_that_of_the_dearest_tier_in_reach() {
        let flat = |dollars| Rates {
            input: per_million(dollars),
            output: per_million(dollars),
            cache_read: None,
            cache_write_5m: None,
            cache_write_30m: None,
            cache_write_1h: None,
        };
        let tier = |above_input_tokens, dollars| Tier { above_input_tokens, rates: flat(dollars) };
        let price = price(flat("10"), vec![tier(150, "1"), tier(400, "20")]);
        let worst = |input| price.worst_case(input, 50).unwrap().to_string();
        assert_eq!(worst(100), "0.0015");
        assert_eq!(worst(250), "0.002", "150 tokens at the first rates");
        assert_eq!(worst(400), "0.002");
        assert_eq!(worst(401), "0.00902");
    }
}
