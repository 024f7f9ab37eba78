//! The price rows that a run used: a cost can be followed back to its source.

use jiff::civil::Date;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{
    columns::{Columns, json},
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{Cost, Price, PricePos, Rates, RunRow, Tier};

/// A tier as JSON, in picodollars a token.
#[derive(Serialize, Deserialize)]
struct StoredTier {
    above_input_tokens: u64,
    input: i64,
    output: i64,
    cache_read: Option<i64>,
    cache_write_5m: Option<i64>,
    cache_write_30m: Option<i64>,
    cache_write_1h: Option<i64>,
}

impl From<&Tier> for StoredTier {
    fn from(tier: &Tier) -> Self {
        let rates = &tier.rates;
        Self {
            above_input_tokens: tier.above_input_tokens,
            input: rates.input.picodollars(),
            output: rates.output.picodollars(),
            cache_read: rates.cache_read.map(Cost::picodollars),
            cache_write_5m: rates.cache_write_5m.map(Cost::picodollars),
            cache_write_30m: rates.cache_write_30m.map(Cost::picodollars),
            cache_write_1h: rates.cache_write_1h.map(Cost::picodollars),
        }
    }
}

impl From<StoredTier> for Tier {
    fn from(tier: StoredTier) -> Self {
        Self {
            above_input_tokens: tier.above_input_tokens,
            rates: Rates {
                input: Cost::from_picodollars(tier.input),
                output: Cost::from_picodollars(tier.output),
                cache_read: tier.cache_read.map(Cost::from_picodollars),
                cache_write_5m: tier.cache_write_5m.map(Cost::from_picodollars),
                cache_write_30m: tier.cache_write_30m.map(Cost::from_picodollars),
                cache_write_1h: tier.cache_write_1h.map(Cost::from_picodollars),
            },
        }
    }
}

/// Stores price rows with a new run, in this order; of two that are the same the first has the place.
pub(super) fn insert(connection: &Connection, run: RunRow, prices: &[Price]) -> Result<(), StoreError> {
    for price in prices {
        let tiers: Vec<StoredTier> = price.tiers.iter().map(StoredTier::from).collect();
        let tiers = json("a price's tiers", &tiers)?;
        let picodollars = |rate: Option<Cost>| rate.map(Cost::picodollars);
        connection
            .execute(
                "INSERT INTO price (run, position, model, effective_from, tariff, source,
                    input_picodollars, output_picodollars, cache_read_picodollars,
                    cache_write_5m_picodollars, cache_write_30m_picodollars,
                    cache_write_1h_picodollars, tiers, batch_half)
                 SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                    ?13 FROM price WHERE run = ?1
                 ON CONFLICT DO NOTHING",
                params![
                    run,
                    price.model.as_str(),
                    price.effective_from.to_string(),
                    price.tariff.as_str(),
                    price.source,
                    price.rates.input.picodollars(),
                    price.rates.output.picodollars(),
                    picodollars(price.rates.cache_read),
                    picodollars(price.rates.cache_write_5m),
                    picodollars(price.rates.cache_write_30m),
                    picodollars(price.rates.cache_write_1h),
                    tiers,
                    price.batch_half,
                ],
            )
            .map_err(failed_to("store the run's prices"))?;
    }
    Ok(())
}

impl Store {
    /// The price rows that a run uses, each with its position.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn prices(&self, run: RunRow) -> Result<Vec<(PricePos, Price)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT position, model, effective_from, tariff, source, input_picodollars, output_picodollars,
                    cache_read_picodollars, cache_write_5m_picodollars, cache_write_30m_picodollars,
                    cache_write_1h_picodollars, tiers, batch_half
                 FROM price WHERE run = ? ORDER BY position",
            )
            .and_then(|mut statement| statement.query_map([run], price)?.collect())
            .map_err(failed_to("read the run's prices"))
    }
}

fn price(row: &rusqlite::Row<'_>) -> rusqlite::Result<(PricePos, Price)> {
    let mut columns = Columns::of(row);
    let position = columns.take()?;
    let price = Price {
        model: columns.take::<String>()?.into(),
        effective_from: columns.name::<Date>()?,
        tariff: columns.name()?,
        source: columns.take()?,
        rates: Rates {
            input: Cost::from_picodollars(columns.take()?),
            output: Cost::from_picodollars(columns.take()?),
            cache_read: columns.cost()?,
            cache_write_5m: columns.cost()?,
            cache_write_30m: columns.cost()?,
            cache_write_1h: columns.cost()?,
        },
        tiers: columns.json::<Vec<StoredTier>>()?.into_iter().map(Tier::from).collect(),
        batch_half: columns.take()?,
    };
    Ok((position, price))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Tariff, store::fixtures::store_with};

    #[test]
    fn a_price_comes_back_with_its_unknown_parts_and_tiers() {
        let (store, run) = store_with(1, 1);
        let rates = Rates {
            input: Cost::from_picodollars(3_000_000),
            output: Cost::from_picodollars(15_000_000),
            cache_read: Some(Cost::ZERO),
            cache_write_5m: None,
            cache_write_30m: None,
            cache_write_1h: Some(Cost::from_picodollars(6_000_000)),
        };
        let price = Price {
            model: "m-1".into(),
            effective_from: Date::constant(2026, 2, 1),
            tariff: Tariff::Standard,
            source: "https://example.com/prices, read 2026-02-03".to_owned(),
            rates,
            tiers: vec![Tier { above_input_tokens: 200_000, rates: Rates { cache_read: None, ..rates } }],
            batch_half: true,
        };
        insert(&store.connection, run.id, std::slice::from_ref(&price)).unwrap();
        // The row as it was first used stays.
        let batch = Price { tariff: Tariff::Batch, ..price.clone() };
        let later = Price { source: "later".to_owned(), ..price.clone() };
        insert(&store.connection, run.id, &[later, batch.clone()]).unwrap();
        assert_eq!(store.prices(run.id).unwrap(), [(PricePos(0), price), (PricePos(1), batch)]);
    }
}
