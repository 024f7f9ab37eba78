//! Dollars: from tokens to money, with what is uncertain about it.

use super::{Range, input::InputTokens, output::OutputTokens, range::whole, wall_time::CacheUse};
use crate::{
    config::{Experiment, PlannedCase},
    domain::{CacheLifetime, Cost, Rates, TargetPos, Tariff, Usage},
    spend::Prices,
};

/// What one target will cost, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dollars {
    /// As the experiment is set up: live, with the cache if it is expected to work.
    pub expected: Range,
    /// Were every answer as long as it may be, and nothing cached; `None` where nobody can say how long
    /// that is.
    pub ceiling: Option<f64>,
    /// Live, without any cache.
    pub live: Range,
    /// By the provider's batch interface; `None` where it takes no half price.
    pub batch: Option<Range>,
    /// With what all requests begin with read from a cache; `None` where that cannot be.
    pub cached: Option<Range>,
}

/// Prices a target's tokens; `None` without a price.
///
/// The interval holds what is uncertain of the output (its mean and the luck of the cases asked), of
/// the tokenizer and of the cache, as independent of each other. Its ends are priced as an answer is.
pub fn dollars(
    experiment: &Experiment,
    target: TargetPos,
    input: &InputTokens,
    output: &OutputTokens,
    cache: Option<CacheUse>,
) -> Option<Dollars> {
    let target = &experiment.targets[target.index()];
    let bill = Bill::of(&experiment.cases, &target.prices, input)?;
    let live = bill.range(input.total, output.total, Tariff::Standard)?;
    let lifetime = target.settings.parameters.cache.map(|cache| cache.lifetime);
    let prefix = Prefix { prices: &target.prices, tokens: input.shared_prefix, lifetime };
    let cached = cache.and_then(|cache| Some(live.plus(prefix.change(cache)?)));
    // A cache that is merely possible is shown beside; one that is set up is what is expected.
    let expected = if cache.is_some_and(|cache| cache.is_set_up) { cached.unwrap_or(live) } else { live };
    let most = |tokens| bill.cost(1.0, tokens, Tariff::Standard).map(Cost::dollars);
    Some(Dollars {
        expected,
        ceiling: output.ceiling.and_then(most),
        live,
        batch: bill.range(input.total, output.total, Tariff::Batch),
        cached,
    })
}

/// All requests of a target, by the tier of its prices that a prompt's size decides.
struct Bill<'a> {
    prices: &'a Prices,
    tiers: Vec<Tier>,
    requests: f64,
}

/// The requests of one tier.
struct Tier {
    /// The size of one of its prompts.
    prompt: u64,
    /// Input of all of them.
    input: f64,
    requests: f64,
}

impl<'a> Bill<'a> {
    fn of(cases: &[PlannedCase], prices: &'a Prices, input: &InputTokens) -> Option<Self> {
        let mut tiers: Vec<Tier> = vec![];
        for (planned, tokens) in cases.iter().zip(&input.per_case) {
            let prompt = whole(*tokens);
            let rates = prices.rates(prompt)?;
            let repeats = f64::from(planned.repeats);
            match tiers.iter_mut().find(|tier| prices.rates(tier.prompt) == Some(rates)) {
                Some(tier) => {
                    tier.input += repeats * tokens;
                    tier.requests += repeats;
                }
                None => tiers.push(Tier { prompt, input: repeats * tokens, requests: repeats }),
            }
        }
        let requests = tiers.iter().map(|tier| tier.requests).sum();
        prices.standard().map(|_| Self { prices, tiers, requests })
    }

    /// What everything costs with `share` of the input that was counted and `output` tokens of output.
    fn cost(&self, share: f64, output: f64, tariff: Tariff) -> Option<Cost> {
        let of_tier = |tier: &Tier| {
            let usage = Usage {
                input_uncached: whole(tier.input * share),
                output: whole(output * tier.requests / self.requests),
                ..Usage::default()
            };
            self.prices.of_prompt(tier.prompt, &usage, tariff)
        };
        self.tiers.iter().map(of_tier).sum()
    }

    /// The same over what is uncertain of both; `None` where the tariff has no price.
    fn range(&self, input: Range, output: Range, tariff: Tariff) -> Option<Range> {
        let dollars = |share: f64, output: f64| self.cost(share, output, tariff).map(Cost::dollars);
        let of_input = |tokens: f64| dollars(if input.mid > 0.0 { tokens / input.mid } else { 1.0 }, 0.0);
        let of_output = |tokens: f64| dollars(0.0, tokens);
        Some(ends(input, of_input)?.plus(ends(output, of_output)?))
    }
}

fn ends(range: Range, dollars: impl Fn(f64) -> Option<f64>) -> Option<Range> {
    Some(Range { low: dollars(range.low)?, mid: dollars(range.mid)?, high: dollars(range.high)? })
}

/// What all requests of a target begin with, and for how long it is asked to be kept.
struct Prefix<'a> {
    prices: &'a Prices,
    tokens: f64,
    lifetime: Option<CacheLifetime>,
}

impl Prefix<'_> {
    /// What a cache changes of the cost: dearer writes, cheaper reads. `None` where one of them has no
    /// price.
    fn change(&self, cache: CacheUse) -> Option<Range> {
        let plain = |requests| self.dollars(requests, |usage| &mut usage.input_uncached);
        let read = |requests| self.dollars(requests, |usage| &mut usage.cache_read);
        let write = |requests| self.dollars(requests, self.written());
        let mid = write(cache.writes)? - plain(cache.writes)? - (plain(cache.reads)? - read(cache.reads)?);
        let off = 2.0 * cache.spread * (write(1.0)? - read(1.0)?);
        Some(Range { low: mid - off, mid, high: mid + off })
    }

    /// What it costs in so many requests as that part of their usage.
    fn dollars(&self, requests: f64, part: impl Fn(&mut Usage) -> &mut u64) -> Option<f64> {
        let mut usage = Usage::default();
        *part(&mut usage) = whole(requests * self.tokens);
        self.prices.of_prompt(whole(self.tokens), &usage, Tariff::Standard).map(Cost::dollars)
    }

    /// As what it is written: for as long as it is asked, else the cheapest way that has a price; where
    /// writing costs nothing extra, plainly.
    fn written(&self) -> fn(&mut Usage) -> &mut u64 {
        let rates = self.prices.rates(whole(self.tokens));
        let is_priced = |rate: fn(&Rates) -> Option<Cost>| rates.and_then(rate).is_some();
        if self.lifetime == Some(CacheLifetime::OneHour) {
            return |usage| &mut usage.cache_write_1h;
        }
        if is_priced(|rates| rates.cache_write_5m) {
            return |usage| &mut usage.cache_write_5m;
        }
        if is_priced(|rates| rates.cache_write_30m) {
            return |usage| &mut usage.cache_write_30m;
        }
        if is_priced(|rates| rates.cache_write_1h) {
            return |usage| &mut usage.cache_write_1h;
        }
        |usage| &mut usage.input_uncached
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::domain::Price;

    fn prices() -> Prices {
        let per_million = |dollars: i64| Cost::from_picodollars(dollars * 1_000_000);
        Prices::of_model(Some(Price {
            model: "m".into(),
            effective_from: Date::constant(2026, 1, 1),
            tariff: Tariff::Standard,
            source: "test".to_owned(),
            rates: Rates {
                input: per_million(3),
                output: per_million(15),
                cache_read: Some(Cost::from_picodollars(300_000)),
                cache_write_5m: Some(Cost::from_picodollars(3_750_000)),
                cache_write_30m: None,
                cache_write_1h: Some(per_million(6)),
            },
            tiers: vec![],
            batch_half: true,
        }))
    }

    /// 500 cases × 4 of 1,000 input tokens at $3 and $15: https://github.com/promptfoo/promptfoo/issues/1864.
    #[test]
    fn what_a_run_costs_is_known_to_the_cent_before_it_is_paid() {
        let prices = prices();
        let tiers = vec![Tier { prompt: 1_000, input: 2_000_000.0, requests: 2_000.0 }];
        let bill = Bill { prices: &prices, tiers, requests: 2_000.0 };
        let cost =
            |output: u32, tariff| bill.cost(1.0, 2_000.0 * f64::from(output), tariff).unwrap().to_string();
        let live = [90, 100, 110, 400].map(|output| cost(output, Tariff::Standard));
        assert_eq!(live, ["8.70", "9.00", "9.30", "18.00"]);
        assert_eq!([90, 100, 110].map(|output| cost(output, Tariff::Batch)), ["4.35", "4.50", "4.65"]);
        assert_eq!(bill.cost(1.0, 0.0, Tariff::Flex), None);
    }

    #[test]
    fn an_hours_cache_writes_cost_more_than_five_minutes() {
        let prices = prices();
        let cache = CacheUse { writes: 1.0, reads: 0.0, spread: 0.0, is_set_up: true };
        let change = |lifetime| {
            let prefix = Prefix { prices: &prices, tokens: 1_000_000.0, lifetime };
            prefix.change(cache).unwrap().mid
        };
        // A million tokens written: $3.75 and $6.00, where plain input is $3.00.
        assert!((change(Some(CacheLifetime::FiveMinutes)) - 0.75).abs() < 1e-9);
        assert!((change(Some(CacheLifetime::OneHour)) - 3.00).abs() < 1e-9);
        assert!((change(None) - 0.75).abs() < 1e-9);
        let read = CacheUse { writes: 0.0, reads: 1.0, ..cache };
        let prefix = Prefix { prices: &prices, tokens: 1_000_000.0, lifetime: None };
        assert!((prefix.change(read).unwrap().mid + 2.70).abs() < 1e-9);
    }
}
