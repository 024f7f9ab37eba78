//! Dollars: from tokens to money, with what is uncertain about it.

use super::{
    Range,
    input::{InputTokens, share_of},
    output::OutputTokens,
    range::whole,
    wall_time::CacheUse,
};
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
    /// Were every prompt at the upper end of its count and every answer as long as it may be, nothing
    /// read from a cache and, where one is set up, the shared part written by each; `None` where nobody
    /// can say how long an answer may be. No range ends above it.
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
    let bill = Bill::of(&experiment.cases, &target.prices, input, 1.0)?;
    let live = bill.range(input.total, output.total, Tariff::Standard)?;
    let lifetime = target.settings.parameters.cache.map(|cache| cache.lifetime);
    let prefix = Prefix { bill: &bill, tokens: input.shared_prefix, lifetime };
    let set_up = cache.filter(|cache| cache.is_set_up);
    let ceiling = output.ceiling.and_then(|tokens| {
        let written = if set_up.is_some() { prefix.all_written(input.upper_share())? } else { 0.0 };
        Some(bill.most(&experiment.cases, input, tokens)?.dollars() + written)
    });
    let within = |range: Range| ceiling.map_or(range, |ceiling| range.at_most(ceiling));
    let cached = cache.and_then(|cache| Some(within(live.plus(prefix.change(cache)?))));
    let live = within(live);
    Some(Dollars {
        // A cache that is merely possible is shown beside; one that is set up is what is expected.
        expected: set_up.and(cached).unwrap_or(live),
        ceiling,
        live,
        batch: bill.range(input.total, output.total, Tariff::Batch).map(within),
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
    /// Of `share` of the input that was counted.
    fn of(cases: &[PlannedCase], prices: &'a Prices, input: &InputTokens, share: f64) -> Option<Self> {
        let mut tiers: Vec<Tier> = vec![];
        for (planned, tokens) in cases.iter().zip(&input.per_case) {
            let tokens = share * tokens;
            let prompt = whole(tokens);
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

    /// What everything costs with all input at its upper end, in whichever tier that is dearer: the
    /// prompts may be as long as they were counted, too.
    fn most(&self, cases: &[PlannedCase], input: &InputTokens, output: f64) -> Option<Cost> {
        let share = input.upper_share();
        let longer = Self::of(cases, self.prices, input, share)?;
        let longer = longer.cost(1.0, output, Tariff::Standard)?;
        Some(longer.max(self.cost(share, output, Tariff::Standard)?))
    }

    /// The same over what is uncertain of both; `None` where the tariff has no price.
    fn range(&self, input: Range, output: Range, tariff: Tariff) -> Option<Range> {
        let dollars = |share: f64, output: f64| self.cost(share, output, tariff).map(Cost::dollars);
        let of_input = |tokens: f64| dollars(share_of(tokens, input.mid), 0.0);
        let of_output = |tokens: f64| dollars(0.0, tokens);
        Some(ends(input, of_input)?.plus(ends(output, of_output)?))
    }
}

fn ends(range: Range, dollars: impl Fn(f64) -> Option<f64>) -> Option<Range> {
    Some(Range { low: dollars(range.low)?, mid: dollars(range.mid)?, high: dollars(range.high)? })
}

/// What all requests of a target begin with, and for how long it is asked to be kept.
struct Prefix<'a> {
    bill: &'a Bill<'a>,
    tokens: f64,
    lifetime: Option<CacheLifetime>,
}

/// One part of a usage.
type Part = fn(&mut Usage) -> &mut u64;

impl Prefix<'_> {
    /// What a cache changes of the cost: dearer writes, cheaper reads. `None` where one of them has no
    /// price.
    fn change(&self, cache: CacheUse) -> Option<Range> {
        let plain = |requests| self.dollars(requests, |_| PLAIN);
        let read = |requests| self.dollars(requests, |_| |usage| &mut usage.cache_read);
        let write = |requests| self.dollars(requests, |rates| self.written(rates));
        let mid = write(cache.writes)? - plain(cache.writes)? - (plain(cache.reads)? - read(cache.reads)?);
        let off = 2.0 * cache.spread * (write(1.0)? - read(1.0)?);
        Some(Range { low: mid - off, mid, high: mid + off })
    }

    /// What it adds if each request writes it, with `share` of the tokens that were counted.
    fn all_written(&self, share: f64) -> Option<f64> {
        let requests = share * self.bill.requests;
        let written = self.dollars(requests, |rates| self.written(rates))?;
        Some((written - self.dollars(requests, |_| PLAIN)?).max(0.0))
    }

    /// What it costs in so many of all requests as that part of their usage, at the tiers of their whole
    /// prompts.
    fn dollars(&self, requests: f64, part: impl Fn(&Rates) -> Part) -> Option<f64> {
        let Bill { prices, tiers, requests: all } = self.bill;
        let of_tier = |tier: &Tier| {
            let mut usage = Usage::default();
            *part(prices.rates(tier.prompt)?)(&mut usage) =
                whole(requests * tier.requests / all * self.tokens);
            prices.of_prompt(tier.prompt, &usage, Tariff::Standard)
        };
        tiers.iter().map(of_tier).sum::<Option<Cost>>().map(Cost::dollars)
    }

    /// As what it is written: for as long as it is asked, else the cheapest way that has a price; where
    /// writing costs nothing extra, plainly.
    fn written(&self, rates: &Rates) -> Part {
        match (self.lifetime, rates) {
            (Some(CacheLifetime::OneHour), _) => |usage| &mut usage.cache_write_1h,
            (_, Rates { cache_write_5m: Some(_), .. }) => |usage| &mut usage.cache_write_5m,
            (_, Rates { cache_write_30m: Some(_), .. }) => |usage| &mut usage.cache_write_30m,
            (_, Rates { cache_write_1h: Some(_), .. }) => |usage| &mut usage.cache_write_1h,
            _ => PLAIN,
        }
    }
}

const PLAIN: Part = |usage| &mut usage.input_uncached;

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
        let tiers = vec![Tier { prompt: 1_000_000, input: 1_000_000.0, requests: 1.0 }];
        let bill = Bill { prices: &prices, tiers, requests: 1.0 };
        let change = |lifetime| {
            let prefix = Prefix { bill: &bill, tokens: 1_000_000.0, lifetime };
            prefix.change(cache).unwrap().mid
        };
        // A million tokens written: $3.75 and $6.00, where plain input is $3.00.
        assert!((change(Some(CacheLifetime::FiveMinutes)) - 0.75).abs() < 1e-9);
        assert!((change(Some(CacheLifetime::OneHour)) - 3.00).abs() < 1e-9);
        assert!((change(None) - 0.75).abs() < 1e-9);
        let read = CacheUse { writes: 0.0, reads: 1.0, ..cache };
        let prefix = Prefix { bill: &bill, tokens: 1_000_000.0, lifetime: None };
        assert!((prefix.change(read).unwrap().mid + 2.70).abs() < 1e-9);
    }

    /// The prefix alone is below the tier that its prompts are in: $1.43 were told where $0.81 were right.
    #[test]
    fn what_a_cache_saves_is_priced_at_the_tier_of_the_whole_prompt() {
        let price = prices().standard().unwrap().clone();
        let tenfold = |rate: Cost| rate.times(10).unwrap();
        let above = Rates {
            input: tenfold(price.rates.input),
            cache_read: price.rates.cache_read.map(tenfold),
            ..price.rates
        };
        let tier = crate::domain::Tier { above_input_tokens: 2_000, rates: above };
        let prices = Prices::of_model(Some(Price { tiers: vec![tier], ..price }));
        let tiers = vec![
            Tier { prompt: 1_500, input: 15_000.0, requests: 10.0 },
            Tier { prompt: 2_500, input: 75_000.0, requests: 30.0 },
        ];
        let bill = Bill { prices: &prices, tiers, requests: 40.0 };
        let prefix = Prefix { bill: &bill, tokens: 1_000.0, lifetime: None };
        let cache = CacheUse { writes: 0.0, reads: 40.0, spread: 0.0, is_set_up: true };
        // 10,000 tokens save $2.70 a million, 30,000 save $27.00.
        assert!((prefix.change(cache).unwrap().mid + 0.027 + 0.81).abs() < 1e-9);
    }
}
