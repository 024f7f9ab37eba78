//! An experiment in which nothing is wrong, on the screen.

use super::format::{count, dollars, wrapped};
use crate::{
    app::check::{Checked, CheckedTarget},
    config::CachedParts,
    domain::Cost,
};

/// What was checked, in some lines.
pub fn checked_text(checked: &Checked) -> String {
    let golden = format!(
        "{} · {} cases, {} asked · {} examples agree with their graders",
        checked.golden.display(),
        count(checked.golden_cases as u64),
        count(checked.cases as u64),
        count(checked.examples as u64),
    );
    let mut text = format!("{}: fine\n{}", checked.name, wrapped("  golden set  ", &golden));
    for target in &checked.targets {
        let what = format!("{} · {} · {}", target.name, target.model, price_text(target));
        text.push_str(&wrapped("  target      ", &what));
        text.extend(target.cached.as_ref().map(cache_lines));
    }
    let budget = checked.max_cost.map_or_else(|| "none".to_owned(), dollars);
    text.push_str(&format!("  trials      {} · budget {budget}\n", count(checked.trials)));
    text.extend(checked.warnings.iter().map(|warning| format!("  ! {warning}\n")));
    text
}

fn price_text(target: &CheckedTarget) -> String {
    let Some(price) = &target.price else {
        let begins = target.price_begins.map(|day| format!(" before {day}")).unwrap_or_default();
        let cost = if target.tells_cost { "the cost is what it tells" } else { "the cost will be unknown" };
        return format!("no price{begins}: {cost}");
    };
    let million = |cost: Cost| cost.times(1_000_000).map(dollars).unwrap_or_default();
    format!(
        "{} in, {} out per million tokens ({}, {})",
        million(price.rates.input),
        million(price.rates.output),
        price.source,
        price.effective_from
    )
}

/// What is asked to be cached, and where the provider will silently not do so.
fn cache_lines(parts: &CachedParts) -> String {
    let [least, most] = parts.tokens;
    let size = if least == most { count(most) } else { format!("{} to {}", count(least), count(most)) };
    let mut text = format!(
        "  cache       {} for {} · {} different, about {size} tokens\n",
        parts.cache.at.as_str(),
        parts.cache.lifetime.as_str(),
        count(parts.prefixes as u64),
    );
    if let (Some(minimum), true) = (parts.minimum, parts.too_small > 0) {
        text.push_str(&format!(
            "              ! {} of them seem to be below the model's {} tokens: nothing is cached there\n",
            count(parts.too_small as u64),
            count(minimum),
        ));
    }
    if parts.without > 0 {
        text.push_str(&format!(
            "              ! {} cases have no text in that part\n",
            count(parts.without as u64)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_without_a_price_tells_its_cost_itself() {
        let target = |tells_cost| CheckedTarget {
            name: "bot".into(),
            model: "bot".into(),
            price: None,
            price_begins: None,
            tells_cost,
            cached: None,
        };
        assert_eq!(price_text(&target(true)), "no price: the cost is what it tells");
        assert_eq!(price_text(&target(false)), "no price: the cost will be unknown");
    }
}
