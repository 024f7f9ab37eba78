//! Dollars: from tokens to money, with what is uncertain about it.

use super::{Range, input::InputTokens, output::OutputTokens, wall_time::CacheUse};
use crate::{
    config::{Experiment, PlannedCase},
    domain::{Cost, Price, TargetPos, Usage},
};

/// What `requests` requests cost that each take `usage`: exact. `None` when a part of it has no price.
pub fn price_step(price: &Price, requests: u64, usage: &Usage) -> Option<Cost> {
    price.cost(usage)?.times(requests)
}

/// What one target will cost, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dollars {
    /// As the experiment is set up: live, with the cache if it is expected to work.
    pub expected: Range,
    /// Were every answer as long as it may be, and nothing cached.
    pub ceiling: f64,
    /// Live, without any cache.
    pub live: Range,
    /// By the provider's batch interface; `None` where it takes no half price.
    pub batch: Option<Range>,
    /// With what all requests begin with read from a cache; `None` where that cannot be.
    pub cached: Option<Range>,
}

/// Prices a target's tokens.
///
/// The interval holds what is uncertain of the output (its mean and the luck of the cases asked), of
/// the tokenizer and of the cache, as independent of each other.
pub fn dollars(
    experiment: &Experiment,
    target: TargetPos,
    input: &InputTokens,
    output: &OutputTokens,
    cache: Option<CacheUse>,
) -> Option<Dollars> {
    let price = experiment.targets[target.index()].price.as_ref()?;
    let rates = Rates::of(&experiment.cases, price, input);
    let input_cost = relative(rates.input, input.total);
    let output_cost = output.total.times(rates.output);
    let live = input_cost.plus(output_cost);
    let with_cache = |cache: CacheUse| -> Option<Range> {
        let base = price.rates_for(super::range::whole(input.shared_prefix));
        let plain = base.input.dollars();
        let write =
            base.cache_write_5m.or(base.cache_write_30m).or(base.cache_write_1h).map_or(plain, Cost::dollars);
        let saved = cache.reads * input.shared_prefix * (plain - base.cache_read?.dollars());
        let added = |writes: f64| writes * input.shared_prefix * (write - plain);
        let one_more = input.shared_prefix * (write - base.cache_read?.dollars());
        let mid = added(cache.writes) - saved;
        let off = 2.0 * cache.spread * one_more;
        Some(live.plus(Range { low: mid - off, mid, high: mid + off }))
    };
    let cached = cache.and_then(with_cache);
    // A cache that is merely possible is shown beside; one that is set up is what is expected.
    let expected = if cache.is_some_and(|cache| cache.is_set_up) { cached.unwrap_or(live) } else { live };
    Some(Dollars {
        expected,
        ceiling: rates.input + rates.output * output.ceiling,
        live,
        batch: price.batch_half.then(|| live.times(0.5)),
        cached,
    })
}

/// A cost scaled as its tokens are uncertain.
fn relative(cost: f64, tokens: Range) -> Range {
    if tokens.mid <= 0.0 {
        return Range::exact(cost);
    }
    tokens.times(cost / tokens.mid)
}

/// What all input costs without a cache, and what an output token costs on average: a prompt's size
/// decides the tier of both.
struct Rates {
    input: f64,
    output: f64,
}

impl Rates {
    fn of(cases: &[PlannedCase], price: &Price, input: &InputTokens) -> Self {
        let (mut cost, mut output, mut requests) = (0.0, 0.0, 0.0);
        for (planned, tokens) in cases.iter().zip(&input.per_case) {
            let repeats = f64::from(planned.repeats);
            let rates = price.rates_for(super::range::whole(*tokens));
            cost += repeats * tokens * rates.input.dollars();
            output += repeats * rates.output.dollars();
            requests += repeats;
        }
        Self { input: cost, output: if requests > 0.0 { output / requests } else { 0.0 } }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::domain;

    /// 500 cases × 4 of 1,000 input tokens at $3 and $15: https://github.com/promptfoo/promptfoo/issues/1864.
    #[test]
    fn what_a_run_costs_is_known_to_the_cent_before_it_is_paid() {
        let per_million = |dollars: i64| Cost::from_picodollars(dollars * 1_000_000);
        let price = Price {
            model: "m".into(),
            effective_from: Date::constant(2026, 1, 1),
            source: "test".to_owned(),
            rates: domain::Rates {
                input: per_million(3),
                output: per_million(15),
                cache_read: None,
                cache_write_5m: None,
                cache_write_30m: None,
                cache_write_1h: None,
            },
            tiers: vec![],
            batch_half: true,
        };
        let cost = |output: u64| {
            let usage = Usage { input_uncached: 1_000, output, ..Usage::default() };
            price_step(&price, 2_000, &usage).unwrap()
        };
        let texts = [90, 100, 110, 400].map(|output| cost(output).to_string());
        assert_eq!(texts, ["8.70", "9.00", "9.30", "18.00"]);
        assert_eq!([90, 100, 110].map(|output| cost(output).halved().to_string()), ["4.35", "4.50", "4.65"]);
    }
}
