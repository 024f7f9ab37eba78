//! The price table: from rows in dollars per million tokens to exact prices a token.

use std::{collections::HashMap, path::Path};

use jiff::civil::Date;
use serde::Deserialize;

use super::document::Document;
use crate::domain::{Cost, Faults, ModelId, Price, Rates, Tariff, Tier};

/// The table shipped with the program, compiled in.
const SHIPPED: &str = include_str!("../../config/prices.toml");

/// A row of a price file or of an experiment, as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenPrice {
    model: String,
    effective_from: Date,
    source: String,
    /// When the source was read, where that is known.
    #[serde(default, rename = "read_on")]
    _read_on: Option<Date>,
    usd_per_mtok: WrittenRates,
    #[serde(default)]
    tiers: Vec<WrittenTier>,
    /// Whether a batch takes half of it.
    #[serde(default)]
    batch_half: bool,
    /// What is doubtful about the row.
    #[serde(default, rename = "note")]
    _note: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRates {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write_5m: Option<f64>,
    cache_write_30m: Option<f64>,
    cache_write_1h: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTier {
    above_input_tokens: u64,
    usd_per_mtok: WrittenRates,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    #[serde(default)]
    price: Vec<WrittenPrice>,
}

/// Prices of many models, later rows standing before earlier ones.
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    rows: Vec<Price>,
}

impl PriceTable {
    /// The shipped table.
    pub fn shipped() -> Self {
        let table = Document::parse(Path::new("prices.toml"), SHIPPED).and_then(|document| read(&document));
        table.expect("the shipped price table is checked by a test")
    }

    /// The table of a price file.
    ///
    /// # Errors
    /// Every fault of the file.
    pub fn open(file: &Path) -> Result<Self, Faults> {
        read(&Document::open(file, "`prices` names it, relative to the experiment file")?)
    }

    /// Puts `newer` in front: every model that it names is priced by it alone.
    pub(super) fn override_with(&mut self, newer: Self) {
        self.rows.retain(|row| newer.rows.iter().all(|theirs| theirs.model != row.model));
        self.rows.extend(newer.rows);
    }

    /// The row that prices `model` on `day`: the latest of those already in force.
    pub fn find(&self, model: &ModelId, day: Date) -> Option<&Price> {
        self.rows
            .iter()
            .filter(|row| row.model == *model && row.effective_from <= day)
            .max_by_key(|row| row.effective_from)
    }

    /// From when on `model` has a price, where it has none on `day`.
    pub fn begins(&self, model: &ModelId, day: Date) -> Option<Date> {
        let rows = self.rows.iter().filter(|row| row.model == *model);
        let first = rows.map(|row| row.effective_from).min();
        first.filter(|first| *first > day)
    }

    /// The row that prices `model` on `day`, and those of later days; none where none holds on `day`.
    pub fn since(&self, model: &ModelId, day: Date) -> Vec<Price> {
        let own = self.rows.iter().filter(|row| row.model == *model);
        since(own.cloned().collect(), day)
    }

    /// The models that it prices.
    pub fn models(&self) -> impl Iterator<Item = &ModelId> {
        self.rows.iter().map(|row| &row.model)
    }
}

/// Of one model's rows that which holds on `day`, and those of later days; none where none holds on `day`.
pub fn since(mut rows: Vec<Price>, day: Date) -> Vec<Price> {
    let in_force = rows.iter().map(|row| row.effective_from).filter(|from| *from <= day).max();
    rows.retain(|row| in_force.is_some_and(|from| row.effective_from >= from));
    rows.sort_by_key(|row| row.effective_from);
    rows
}

fn read(document: &Document) -> Result<PriceTable, Faults> {
    let (file, mut faults) = document.read::<PriceFile>();
    let rows = file.map(|file| file.price).unwrap_or_default();
    let table = priced(document, &rows, &mut faults);
    faults.none_or(table)
}

/// The rows under `price` in `document` as exact prices; what is no price becomes a fault.
pub(super) fn priced(document: &Document, rows: &[WrittenPrice], faults: &mut Faults) -> PriceTable {
    let mut table = PriceTable::default();
    let mut first_use = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(first) = first_use.insert((&row.model, row.effective_from), at) {
            let line = document.line(&format!("price[{first}]")).unwrap_or_default();
            let message = format!(
                "`{}` has a row from {} on line {line} already: which one holds?",
                row.model, row.effective_from
            );
            faults.0.push(document.fault(&format!("price[{at}]"), message).with_hint("remove one of them"));
        }
        match row.exact() {
            Ok(price) => table.rows.push(price),
            Err((place, message)) => faults.0.push(document.fault(&format!("price[{at}].{place}"), message)),
        }
    }
    table
}

impl WrittenPrice {
    fn exact(&self) -> Result<Price, (String, String)> {
        let mut tiers: Vec<Tier> = vec![];
        for (at, tier) in self.tiers.iter().enumerate() {
            let rates = tier.usd_per_mtok.exact(&format!("tiers[{at}].usd_per_mtok"))?;
            if tiers.last().is_some_and(|last| last.above_input_tokens >= tier.above_input_tokens) {
                let place = format!("tiers[{at}].above_input_tokens");
                return Err((place, "tiers must go up by prompt size".to_owned()));
            }
            tiers.push(Tier { above_input_tokens: tier.above_input_tokens, rates });
        }
        Ok(Price {
            model: self.model.as_str().into(),
            effective_from: self.effective_from,
            tariff: Tariff::Standard,
            source: self.source.clone(),
            rates: self.usd_per_mtok.exact("usd_per_mtok")?,
            tiers,
            batch_half: self.batch_half,
        })
    }
}

impl WrittenRates {
    fn exact(&self, place: &str) -> Result<Rates, (String, String)> {
        let exact = |name: &str, dollars: f64| {
            per_token(dollars).map_err(|message| (format!("{place}.{name}"), message))
        };
        let optional =
            |name: &str, dollars: Option<f64>| dollars.map(|dollars| exact(name, dollars)).transpose();
        Ok(Rates {
            input: exact("input", self.input)?,
            output: exact("output", self.output)?,
            cache_read: optional("cache_read", self.cache_read)?,
            cache_write_5m: optional("cache_write_5m", self.cache_write_5m)?,
            cache_write_30m: optional("cache_write_30m", self.cache_write_30m)?,
            cache_write_1h: optional("cache_write_1h", self.cache_write_1h)?,
        })
    }
}

/// Dollars per million tokens as picodollars a token. The shortest decimal that stands for the
/// float is what was written, so nothing is rounded.
fn per_token(dollars_per_million: f64) -> Result<Cost, String> {
    let cost: Cost = dollars_per_million.to_string().parse().map_err(|error| format!("{error}"))?;
    let million = 1_000_000;
    if cost.picodollars() % million != 0 {
        return Err(format!("`{dollars_per_million}` is finer than a picodollar a token"));
    }
    Ok(Cost::from_picodollars(cost.picodollars() / million))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Result<PriceTable, Faults> {
        Document::parse(Path::new("prices.toml"), text).and_then(|document| read(&document))
    }

    const ROW: &str = "[[price]]\nmodel = \"m\"\neffective_from = 2026-01-01\nsource = \"test\"\n";

    #[test]
    fn the_shipped_table_has_no_fault() {
        let table = PriceTable::shipped();
        let price = table.find(&"claude-opus-5".into(), Date::constant(2026, 11, 29)).unwrap();
        assert_eq!(price.rates.input.picodollars(), 5_000_000);
        assert!(table.models().count() > 20);
    }

    #[test]
    fn the_latest_row_in_force_prices_a_model() {
        let later = ROW.replace("2026-01-01", "2026-12-01");
        let text = format!(
            "{ROW}usd_per_mtok = {{ input = 2, output = 10, cache_read = 0.075 }}\n\
             {later}usd_per_mtok = {{ input = 4, output = 20 }}\n"
        );
        let table = table(&text).unwrap();
        let input = |month| {
            let day = Date::constant(2026, month, 1);
            table.find(&"m".into(), day).map(|price| price.rates.input.picodollars())
        };
        let since = |month| table.since(&"m".into(), Date::constant(2026, month, 1)).len();
        assert_eq!((since(11), since(12)), (2, 1), "a later row holds from its day on");
        assert_eq!(table.since(&"m".into(), Date::constant(2025, 1, 1)), []);
        assert_eq!(input(11), Some(2_000_000));
        assert_eq!(input(12), Some(4_000_000));
        assert_eq!(table.find(&"m".into(), Date::constant(2025, 1, 1)).map(|_| ()), None);
        let begins = |year| table.begins(&"m".into(), Date::constant(year, 1, 1));
        assert_eq!((begins(2025), begins(2026)), (Some(Date::constant(2026, 1, 1)), None));
    }

    #[test]
    fn a_row_that_stands_twice_is_a_fault_with_both_lines() {
        let rates = "usd_per_mtok = { input = 2, output = 10 }\n";
        let later = ROW.replace("2026-01-01", "2026-12-01");
        let faults = table(&format!("{ROW}{rates}{later}{rates}{ROW}{rates}")).unwrap_err().to_string();
        assert_eq!(
            faults,
            "prices.toml:11: `price[2]`: `m` has a row from 2026-01-01 on line 1 already: which one holds?\n  \
             hint: remove one of them"
        );
    }

    #[test]
    fn own_rows_replace_all_shipped_rows_of_their_model() {
        let mut prices = table(&format!("{ROW}usd_per_mtok = {{ input = 2, output = 10 }}\n")).unwrap();
        prices.override_with(table(&format!("{ROW}usd_per_mtok = {{ input = 3, output = 6 }}\n")).unwrap());
        assert_eq!(prices.rows.len(), 1);
        assert_eq!(prices.rows[0].rates.output.picodollars(), 6_000_000);
    }

    #[test]
    fn a_negative_or_too_fine_price_is_a_fault_with_its_place() {
        let faults =
            table(&format!("{ROW}usd_per_mtok = {{ input = -1, output = 0.0000001 }}\n")).unwrap_err();
        assert!(faults.to_string().contains("prices.toml:5: `price[0].usd_per_mtok.input`"), "{faults}");
    }
}
