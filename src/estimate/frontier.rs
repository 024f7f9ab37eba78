//! Cost against detectable difference: the designs that no other design beats on both.

use super::{
    design::{DesignRow, MAX_REPEATS, Prices},
    detect::Spread,
};

/// Sizes that are looked at, from the smallest to the largest.
const SIZES: u32 = 24;

/// The designs from a tenth of the cases to ten times as many that no other one beats on cost (on
/// time, where no price is known) and detectable difference at once, the cheapest first.
pub fn frontier(prices: &Prices, spread: &Spread) -> Vec<DesignRow> {
    let now = prices.cases.max(10) as f64;
    let mut rows: Vec<DesignRow> = vec![];
    for step in 0..=SIZES {
        let factor = 10_f64.powf(f64::from(step) / f64::from(SIZES) * 2.0 - 1.0);
        let cases = super::range::whole(now * factor).max(2);
        rows.extend((1..=MAX_REPEATS).map(|repeats| prices.row(spread, cases, repeats)));
    }
    rows.sort_by(|a, b| price(a).total_cmp(&price(b)));
    let mut best = f64::INFINITY;
    rows.retain(|row| {
        let better = row.detectable_difference < best * (1.0 - 1e-9);
        if better {
            best = row.detectable_difference;
        }
        better
    });
    rows
}

/// What a design is weighed by: dollars, or hours where no price is known.
pub fn price(row: &DesignRow) -> f64 {
    row.cost_usd.unwrap_or(row.hours)
}
