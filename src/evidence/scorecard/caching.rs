//! What the provider's prompt cache did for one target.

use serde::Serialize;

use crate::{domain::Cost, evidence::caching::Caching};

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

impl CacheCard {
    /// The card of what went through a cache; `None` when nothing did.
    pub(super) fn of(caching: &Caching) -> Option<Self> {
        let through = caching.read + caching.written;
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more digits than a float has")]
        let hit_rate = (through > 0).then(|| caching.read as f64 / through as f64)?;
        let amount = Cost::from_picodollars(caching.saved_picodollars.saturating_abs());
        let sign = if caching.saved_picodollars < 0 { "-" } else { "" };
        Some(Self {
            hit_rate,
            tokens_read: caching.read,
            tokens_written: caching.written,
            saved_usd: (caching.known > 0).then(|| format!("{sign}{amount}")),
            saved_unknown_trials: caching.unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(read: u64, written: u64, saved_picodollars: i64) -> Option<CacheCard> {
        CacheCard::of(&Caching { read, written, saved_picodollars, known: 1, unknown: 0 })
    }

    #[test]
    fn the_hit_rate_is_what_was_read_of_what_went_through() {
        let card = card(490_000, 10_000, 1_315_500_000_000).unwrap();
        assert!((card.hit_rate - 0.98).abs() < 1e-12);
        assert_eq!(card.saved_usd.as_deref(), Some("1.3155"));
    }

    #[test]
    fn a_loss_has_a_sign() {
        let card = card(0, 20_000, -15_000_000_000).unwrap();
        assert_eq!((card.hit_rate, card.saved_usd.as_deref()), (0.0, Some("-0.015")));
    }

    #[test]
    fn nothing_through_a_cache_is_no_card_and_no_price_is_no_saving() {
        assert_eq!(card(0, 0, 0), None);
        let unpriced = CacheCard::of(&Caching { read: 500, unknown: 1, ..Caching::default() }).unwrap();
        assert_eq!((unpriced.saved_usd, unpriced.saved_unknown_trials), (None, 1));
    }
}
