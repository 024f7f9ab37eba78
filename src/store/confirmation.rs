//! What became of flips that were asked again.

use rusqlite::{TransactionBehavior, params};

use super::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{CaseId, RunRow, TargetPos, UnixMillis};

/// Which two sides, the baseline first: each a run's row and a target's position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfirmationSides {
    /// The baseline.
    pub a: (RunRow, TargetPos),
    /// The candidate.
    pub b: (RunRow, TargetPos),
}

/// What fresh answers said of one flipped case.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmedCase {
    /// The case.
    pub case: CaseId,
    /// `fixed` or `broke`.
    pub direction: String,
    /// The baseline's fresh repeats: passed, measured.
    pub a: (u32, u32),
    /// The candidate's fresh repeats: passed, measured.
    pub b: (u32, u32),
    /// `confirmed`, `not confirmed` or `cannot tell`.
    pub confirmed: String,
    /// One-sided p value of the fresh answers; `None` when a side has none.
    pub p: Option<f64>,
    /// The same, adjusted over all flips; `None` when it was not testable.
    pub q: Option<f64>,
}

/// All flips of two sides that were asked again, the last time it was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmation {
    /// The runs with the fresh answers, the baseline's first.
    pub fresh_runs: [RunRow; 2],
    /// Each case.
    pub cases: Vec<ConfirmedCase>,
}

impl Store {
    /// Stores what fresh answers said of the flips between two sides, in the place of what was known.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn store_confirmation(
        &mut self,
        sides: ConfirmationSides,
        confirmation: &Confirmation,
    ) -> Result<(), StoreError> {
        let failed = failed_to("store the confirmation");
        let ConfirmationSides { a, b } = sides;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        transaction
            .execute(
                "DELETE FROM confirmation WHERE a_run = ? AND a_target = ? AND b_run = ? AND b_target = ?",
                params![a.0, a.1, b.0, b.1],
            )
            .map_err(&failed)?;
        let [a_fresh, b_fresh] = confirmation.fresh_runs;
        let now = UnixMillis::now().0;
        for case in &confirmation.cases {
            transaction
                .prepare_cached(
                    "INSERT INTO confirmation (a_run, a_target, b_run, b_target, case_id, direction,
                        a_fresh_run, b_fresh_run, a_passes, a_measured, b_passes, b_measured, confirmed,
                        p, q, confirmed_at)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                )
                .and_then(|mut statement| {
                    statement.execute(params![
                        a.0,
                        a.1,
                        b.0,
                        b.1,
                        case.case.as_str(),
                        case.direction,
                        a_fresh,
                        b_fresh,
                        case.a.0,
                        case.a.1,
                        case.b.0,
                        case.b.1,
                        case.confirmed,
                        case.p,
                        case.q,
                        now
                    ])
                })
                .map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)
    }

    /// What fresh answers said of the flips between two sides; `None` when they were not asked again.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn confirmation(&self, sides: ConfirmationSides) -> Result<Option<Confirmation>, StoreError> {
        let ConfirmationSides { a, b } = sides;
        let read = |mut statement: rusqlite::CachedStatement<'_>| -> rusqlite::Result<Option<Confirmation>> {
            let mut found: Option<Confirmation> = None;
            let mut rows = statement.query(params![a.0, a.1, b.0, b.1])?;
            while let Some(row) = rows.next()? {
                let mut columns = Columns::of(row);
                let fresh_runs = [columns.take()?, columns.take()?];
                let case = ConfirmedCase {
                    case: columns.take::<String>()?.as_str().into(),
                    direction: columns.take()?,
                    a: (columns.take()?, columns.take()?),
                    b: (columns.take()?, columns.take()?),
                    confirmed: columns.take()?,
                    p: columns.take()?,
                    q: columns.take()?,
                };
                found.get_or_insert(Confirmation { fresh_runs, cases: vec![] }).cases.push(case);
            }
            Ok(found)
        };
        self.connection
            .prepare_cached(
                "SELECT a_fresh_run, b_fresh_run, case_id, direction, a_passes, a_measured, b_passes,
                    b_measured, confirmed, p, q
                 FROM confirmation WHERE a_run = ? AND a_target = ? AND b_run = ? AND b_target = ?
                 ORDER BY case_id",
            )
            .and_then(read)
            .map_err(failed_to("read the confirmation"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::store_with;

    #[test]
    fn a_confirmation_comes_back_and_a_later_one_takes_its_place() {
        let (mut store, run) = store_with(2, 1);
        let sides = ConfirmationSides { a: (run.id, TargetPos(0)), b: (run.id, TargetPos(1)) };
        assert_eq!(store.confirmation(sides).unwrap(), None);
        let case = |id: &str, confirmed: &str| ConfirmedCase {
            case: id.into(),
            direction: "broke".to_owned(),
            a: (8, 8),
            b: (0, 7),
            confirmed: confirmed.to_owned(),
            p: Some(0.001),
            q: None,
        };
        let confirmation = |cases| Confirmation { fresh_runs: [run.id; 2], cases };
        let first = confirmation(vec![case("c0", "confirmed"), case("c1", "cannot tell")]);
        store.store_confirmation(sides, &first).unwrap();
        assert_eq!(store.confirmation(sides).unwrap(), Some(first));
        let second = confirmation(vec![case("c0", "not confirmed")]);
        store.store_confirmation(sides, &second).unwrap();
        assert_eq!(store.confirmation(sides).unwrap(), Some(second));
        let other = ConfirmationSides { a: sides.b, b: sides.a };
        assert_eq!(store.confirmation(other).unwrap(), None);
    }
}
