//! From tokens to money: the one place where that is done.

use crate::domain::{Attempt, AttemptEnd, Bounds, Cost, Price, PricePos, Rates, Tariff, Usage, UsageFlag};

/// The price rows of one who asks, each with its position in the run. None: the model has no price.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    rows: Vec<(PricePos, Price)>,
}

impl Prices {
    /// The prices of a model that has this row, or none.
    pub fn of_model(row: Option<Price>) -> Self {
        Self { rows: row.map(|row| (PricePos(0), row)).into_iter().collect() }
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
        let rows = self.rows.iter().map(|(at, row)| (position(row).unwrap_or(*at), row.clone()));
        Self { rows: rows.collect() }
    }

    /// The row of ordinary requests.
    pub fn standard(&self) -> Option<&Price> {
        self.row(Tariff::Standard).map(|(_, price, _)| price)
    }

    /// What `usage` costs at `tariff`, and by which row; `None` when no row holds there, or a part of the
    /// usage has no price.
    pub fn of(&self, usage: &Usage, tariff: Tariff) -> Option<(PricePos, Cost)> {
        let (position, ..) = self.row(tariff)?;
        Some((position, self.of_prompt(usage.input_total(), usage, tariff)?))
    }

    /// What `usage` of one or more requests costs whose prompts have so many tokens each: a prompt's size
    /// decides the tier.
    pub fn of_prompt(&self, input_tokens: u64, usage: &Usage, tariff: Tariff) -> Option<Cost> {
        let (_, price, share) = self.row(tariff)?;
        Some(share.of(price.rates_for(input_tokens).cost(usage)?))
    }

    /// The most that one attempt within `bounds` can cost at `tariff`: the whole prompt written at the
    /// dearest rate. `None` without a price, or where nobody can say how much it may be.
    pub fn worst(&self, bounds: Bounds, tariff: Tariff) -> Option<Cost> {
        let (_, price, share) = self.row(tariff)?;
        Some(share.of(price.worst_case(bounds.input?, bounds.output?)?))
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
                self.of(usage, attempt.tariff).unzip()
            }
            _ => (None, None),
        }
    }

    /// The row that holds at `tariff`, and which share of it is paid: by batch half of a standard row that
    /// says so.
    fn row(&self, tariff: Tariff) -> Option<(PricePos, &Price, Share)> {
        let find = |wanted: Tariff| self.rows.iter().find(|(_, price)| price.tariff == wanted);
        if let Some((position, price)) = find(tariff) {
            return Some((*position, price, Share::Whole));
        }
        let halved = find(Tariff::Standard).filter(|(_, price)| tariff == Tariff::Batch && price.batch_half);
        halved.map(|(position, price)| (*position, price, Share::Half))
    }
}

#[derive(Clone, Copy)]
enum Share {
    Whole,
    Half,
}

impl Share {
    fn of(self, cost: Cost) -> Cost {
        match self {
            Self::Whole => cost,
            Self::Half => cost.halved(),
        }
    }
}
