//! From tokens to money: the one place where that is done.

use jiff::{Timestamp, tz::TimeZone};

use crate::domain::{
    Attempt, AttemptEnd, Bounds, Cost, Price, PricePos, Rates, Tariff, UnixMillis, Usage, UsageFlag,
};

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// The price rows of one who asks, each with its position in the run: the one in force when the run began,
/// and those of later days. None: the model has no price.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    position: PricePos,
    /// When it comes into force: its first day begins, in UTC.
    begins: UnixMillis,
    price: Price,
}

impl Prices {
    /// The prices of a model that has these rows, or none.
    pub fn of_model(rows: impl IntoIterator<Item = Price>) -> Self {
        Self::of_rows((0..).map(PricePos).zip(rows))
    }

    /// Those of a run's stored rows.
    pub fn of_rows(rows: impl IntoIterator<Item = (PricePos, Price)>) -> Self {
        let row = |(position, price): (PricePos, Price)| {
            let begins = TimeZone::UTC.to_timestamp(price.effective_from.into());
            let begins = UnixMillis(begins.map_or(i64::MIN, Timestamp::as_millisecond));
            Row { position, begins, price }
        };
        let mut rows: Vec<Row> = rows.into_iter().map(row).collect();
        rows.sort_by_key(|row| row.begins);
        Self { rows }
    }

    /// The rows, the earliest first.
    pub fn rows(&self) -> impl Iterator<Item = &Price> {
        self.rows.iter().map(|row| &row.price)
    }

    /// The same, with the positions that a run's stored rows have.
    #[must_use]
    pub fn numbered(&self, stored: &[(PricePos, Price)]) -> Self {
        let same = |own: &Price, stored: &Price| {
            (&own.model, own.effective_from, own.tariff)
                == (&stored.model, stored.effective_from, stored.tariff)
        };
        let position =
            |own: &Price| stored.iter().find(|(_, row)| same(own, row)).map(|(position, _)| *position);
        let numbered =
            |row: &Row| Row { position: position(&row.price).unwrap_or(row.position), ..row.clone() };
        let rows = self.rows.iter().map(numbered);
        Self { rows: rows.collect() }
    }

    /// The row of ordinary requests when the run began.
    pub fn standard(&self) -> Option<&Price> {
        self.row(Tariff::Standard, UnixMillis(i64::MIN)).map(|(row, _)| &row.price)
    }

    /// What `usage` costs that was asked `at` then at `tariff`, and by which row; `None` when no row holds
    /// there, or a part of the usage has no price.
    pub fn of(&self, usage: &Usage, tariff: Tariff, at: UnixMillis) -> Option<(PricePos, Cost)> {
        let (row, share) = self.row(tariff, at)?;
        Some((row.position, share.of(row.price.cost(usage)?)))
    }

    /// What `usage` costs at `tariff` by one row; `None` where that row does not hold.
    pub fn by_row(&self, position: PricePos, usage: &Usage, tariff: Tariff) -> Option<Cost> {
        let Row { price, .. } = self.rows.iter().find(|row| row.position == position)?;
        Some(Share::of_row(price, tariff)?.of(price.cost(usage)?))
    }

    /// The row by which `usage` costs `cost` at `tariff`, where no record says which it was.
    pub fn row_of_cost(&self, cost: Cost, usage: &Usage, tariff: Tariff) -> Option<PricePos> {
        let mut positions = self.rows.iter().map(|row| row.position);
        positions.find(|position| self.by_row(*position, usage, tariff) == Some(cost))
    }

    /// What `usage` of one or more requests costs, when the run begins, whose prompts have so many tokens
    /// each: a prompt's size decides the tier.
    pub fn of_prompt(&self, input_tokens: u64, usage: &Usage, tariff: Tariff) -> Option<Cost> {
        let (row, share) = self.row(tariff, UnixMillis(i64::MIN))?;
        Some(share.of(row.price.rates_for(input_tokens).cost(usage)?))
    }

    /// The most that one attempt within `bounds` can have cost since the run began, or will within a day of
    /// `now`, at `tariff`: the whole prompt written at the dearest rate of the dearest row. `None` without a
    /// price, or where nobody can say how much it may be.
    pub fn worst(&self, bounds: Bounds, tariff: Tariff, now: UnixMillis) -> Option<Cost> {
        let (input, output) = (bounds.input?, bounds.output?);
        let first = self.row(tariff, UnixMillis(i64::MIN))?;
        let soon = UnixMillis(now.0.saturating_add(DAY_MS));
        let later =
            self.rows.iter().filter(|row| row.begins <= soon).filter_map(|row| self.row(tariff, row.begins));
        let worst = |(row, share): (&Row, Share)| Some(share.of(row.price.worst_case(input, output)?));
        later.map(worst).try_fold(worst(first)?, |most, cost| Some(most.max(cost?)))
    }

    /// The ordinary rates of a prompt of so many tokens.
    pub fn rates(&self, input_tokens: u64) -> Option<&Rates> {
        self.standard().map(|price| price.rates_for(input_tokens))
    }

    /// Puts on attempts what they cost, and by which row.
    pub fn put_on(&self, attempts: &mut [Attempt]) {
        for attempt in attempts {
            // An application knows best what it spent.
            if attempt.cost.is_none() {
                (attempt.price, attempt.cost) = self.cost_of(attempt);
            }
        }
    }

    /// What one attempt cost, and by which row: its usage at the price; nothing where nothing can have
    /// been billed; otherwise unknown.
    fn cost_of(&self, attempt: &Attempt) -> (Option<PricePos>, Option<Cost>) {
        match (&attempt.end, &attempt.metered.usage) {
            (AttemptEnd::Failed(failure), None) if !failure.may_be_billed => (None, Some(Cost::ZERO)),
            (_, Some(usage)) if attempt.metered.flag != Some(UsageFlag::Incomplete) => {
                self.of(usage, attempt.tariff, attempt.started_at).unzip()
            }
            _ => (None, None),
        }
    }

    /// The row that holds at `tariff` and `at` that time, its own before that of another, and which share of
    /// it is paid. Before all rows, the earliest holds.
    fn row(&self, tariff: Tariff, at: UnixMillis) -> Option<(&Row, Share)> {
        let find = |wanted: Tariff| {
            let mut own = self.rows.iter().filter(|row| row.price.tariff == wanted);
            let first = own.next()?;
            Some(own.take_while(|row| row.begins <= at).last().unwrap_or(first))
        };
        let row = find(tariff).or_else(|| find(Tariff::Standard))?;
        Some((row, Share::of_row(&row.price, tariff)?))
    }
}

#[derive(Clone, Copy)]
enum Share {
    Whole,
    Half,
}

impl Share {
    /// What is paid of a row's rates at `tariff`: by batch half of a standard row that says so.
    fn of_row(price: &Price, tariff: Tariff) -> Option<Self> {
        let is_halved = price.batch_half && (price.tariff, tariff) == (Tariff::Standard, Tariff::Batch);
        match price.tariff == tariff {
            true => Some(Self::Whole),
            false => is_halved.then_some(Self::Half),
        }
    }

    fn of(self, cost: Cost) -> Cost {
        match self {
            Self::Whole => cost,
            Self::Half => cost.halved(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::Date;

    use super::*;
    use crate::domain::{ErrorClass, Failure, FailureKind, Metered};

    /// Long after the first row, long before another.
    const NOW: UnixMillis = UnixMillis(1_780_000_000_000);

    fn row(tariff: Tariff, input: i64) -> Price {
        Price {
            model: "m".into(),
            effective_from: Date::constant(2026, 1, 1),
            tariff,
            source: "test".to_owned(),
            rates: Rates {
                input: Cost::from_picodollars(input),
                output: Cost::from_picodollars(10 * input),
                cache_read: None,
                cache_write_5m: Some(Cost::from_picodollars(2 * input)),
                cache_write_30m: None,
                cache_write_1h: None,
            },
            tiers: vec![],
            batch_half: true,
        }
    }

    fn usage(input_uncached: u64, output: u64) -> Usage {
        Usage { input_uncached, output, ..Usage::default() }
    }

    fn picodollars(priced: Option<(PricePos, Cost)>) -> Option<(u16, i64)> {
        priced.map(|(position, cost)| (position.0, cost.picodollars()))
    }

    #[test]
    fn each_tariff_is_priced_by_its_own_row_and_batch_by_half_of_the_standard_one() {
        let prices = Prices::of_model(Some(row(Tariff::Standard, 3)));
        let spent = usage(100, 1);
        for (tariff, cost) in [
            (Tariff::Standard, Some((0, 330))),
            (Tariff::Batch, Some((0, 165))),
            (Tariff::Flex, None),
            (Tariff::Priority, None),
        ] {
            assert_eq!(picodollars(prices.of(&spent, tariff, NOW)), cost, "{tariff:?}");
        }
        let prices = Prices::of_model([row(Tariff::Standard, 3), row(Tariff::Batch, 1)]);
        assert_eq!(picodollars(prices.of(&spent, Tariff::Batch, NOW)), Some((1, 110)));
        assert_eq!(Prices::default().of(&spent, Tariff::Standard, NOW), None);
    }

    #[test]
    fn the_worst_case_is_known_only_within_bounds() {
        let prices = Prices::of_model(Some(row(Tariff::Standard, 3)));
        let bounds = Bounds { input: Some(100), output: Some(10), said_output: None };
        // All of the prompt written to the cache.
        assert_eq!(prices.worst(bounds, Tariff::Standard, NOW), Some(Cost::from_picodollars(900)));
        assert_eq!(prices.worst(Bounds { output: None, ..bounds }, Tariff::Standard, NOW), None);
        assert_eq!(prices.worst(Bounds { input: None, ..bounds }, Tariff::Standard, NOW), None);
    }

    /// Trials of ten days later were priced by a row that no longer held.
    #[test]
    fn what_is_asked_later_is_priced_by_the_row_that_holds_then() {
        let day = Date::constant(2026, 12, 5);
        let later = Price { effective_from: day, ..row(Tariff::Standard, 5) };
        let prices = Prices::of_model([later, row(Tariff::Standard, 3)]);
        let begins = TimeZone::UTC.to_timestamp(day.into()).unwrap().as_millisecond();
        let at = |ms: i64, tariff| picodollars(prices.of(&usage(100, 0), tariff, UnixMillis(ms)));
        assert_eq!(at(begins - 1, Tariff::Standard), Some((1, 300)));
        assert_eq!(at(begins, Tariff::Standard), Some((0, 500)));
        assert_eq!(at(begins, Tariff::Batch), Some((0, 250)));
        assert_eq!(at(0, Tariff::Standard), Some((1, 300)), "a clock that is wrong");
        assert_eq!(prices.standard().unwrap().rates.input.picodollars(), 3);
        // What is asked late in the evening may be answered, and billed, tomorrow.
        let bounds = Bounds { input: Some(100), output: Some(0), said_output: None };
        let worst = |ms| prices.worst(bounds, Tariff::Standard, UnixMillis(ms)).unwrap().picodollars();
        assert_eq!(worst(begins - DAY_MS - 1), 600);
        assert_eq!(worst(begins - DAY_MS), 1_000);
        let cheaper = Price { effective_from: day, ..row(Tariff::Standard, 1) };
        let cheaper = Prices::of_model([row(Tariff::Standard, 3), cheaper]);
        let after = cheaper.worst(bounds, Tariff::Standard, UnixMillis(begins + DAY_MS));
        assert_eq!(after.map(Cost::picodollars), Some(600), "attempts of before count as they did");
    }

    #[test]
    fn rows_take_the_positions_that_they_have_in_the_store() {
        let prices = Prices::of_model(Some(row(Tariff::Standard, 3)));
        let other = Price { model: "other".into(), ..row(Tariff::Standard, 3) };
        let stored = [(PricePos(0), other), (PricePos(4), row(Tariff::Standard, 3))];
        assert_eq!(
            picodollars(prices.numbered(&stored).of(&usage(1, 0), Tariff::Standard, NOW)),
            Some((4, 3))
        );
    }

    #[test]
    fn of_two_rows_of_one_model_each_prices_what_was_asked_under_it() {
        let stored = vec![(PricePos(2), row(Tariff::Standard, 3)), (PricePos(5), row(Tariff::Standard, 1))];
        let (prices, spent) = (Prices::of_rows(stored), usage(100, 1));
        let by = |position, tariff| {
            prices.by_row(PricePos(position), &spent, tariff).map(|cost| cost.picodollars())
        };
        assert_eq!((by(2, Tariff::Standard), by(5, Tariff::Standard)), (Some(330), Some(110)));
        assert_eq!(
            (by(2, Tariff::Batch), by(2, Tariff::Flex), by(0, Tariff::Standard)),
            (Some(165), None, None)
        );
        let row_of = |cost, tariff| prices.row_of_cost(Cost::from_picodollars(cost), &spent, tariff);
        assert_eq!(row_of(110, Tariff::Standard), Some(PricePos(5)));
        assert_eq!(row_of(165, Tariff::Batch), Some(PricePos(2)));
        assert_eq!(row_of(165, Tariff::Standard), None);
    }

    #[test]
    fn attempts_bear_what_they_cost_and_by_which_row() {
        let failed = |may_be_billed| {
            let failure = Failure::new(ErrorClass::Retry, FailureKind::Timeout, "late");
            AttemptEnd::Failed(Failure { may_be_billed, ..failure })
        };
        let attempt = |end, metered: Metered, cost| Attempt {
            number: 1,
            started_at: UnixMillis(0),
            duration_ms: 1.0,
            backoff_ms: 0.0,
            end,
            status: None,
            request_id: None,
            metered,
            cost,
            price: None,
            tariff: Tariff::Standard,
            stderr: None,
        };
        let known = Metered::from(usage(100, 1));
        let cut = Metered { flag: Some(UsageFlag::Incomplete), ..known.clone() };
        let own = Cost::from_picodollars(7);
        let mut attempts = [
            attempt(AttemptEnd::Answered, known.clone(), None),
            attempt(AttemptEnd::Answered, known.clone(), Some(own)),
            attempt(AttemptEnd::Answered, cut, None),
            attempt(AttemptEnd::Answered, Metered::default(), None),
            attempt(failed(true), Metered::default(), None),
            attempt(failed(false), Metered::default(), None),
            attempt(failed(false), known, None),
        ];
        Prices::of_model(Some(row(Tariff::Standard, 3))).put_on(&mut attempts);
        let told = attempts
            .map(|attempt| (attempt.price.map(|position| position.0), attempt.cost.map(Cost::picodollars)));
        let by_row = (Some(0), Some(330));
        assert_eq!(
            told,
            [by_row, (None, Some(7)), (None, None), (None, None), (None, None), (None, Some(0)), by_row]
        );
    }
}
