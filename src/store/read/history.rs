//! What only a look over several runs asks: who answered, by its own word.

use rusqlite::params;
use serde::Serialize;

use crate::domain::{RunRow, TargetPos};
use crate::store::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};

/// What a provider said answered, and how often it said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Returned {
    /// The model's name in the response; `None` when the provider does not give one.
    pub model: Option<String>,
    /// The fingerprint of its back end; `None` when the provider does not give one.
    pub fingerprint: Option<String>,
    /// Answers that said so.
    pub trials: u64,
}

impl Store {
    /// The distinct model names and fingerprints that a target's answers came back with, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn returned(&self, run: RunRow, target: TargetPos) -> Result<Vec<Returned>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT model_returned, system_fingerprint, count(*) FROM trial
                 WHERE run = ? AND target = ? AND outcome NOT IN ('failed', 'cancelled')
                 GROUP BY model_returned, system_fingerprint ORDER BY model_returned, system_fingerprint",
            )
            .and_then(|mut statement| {
                statement
                    .query_map(params![run, target], |row| {
                        let mut columns = Columns::of(row);
                        Ok(Returned {
                            model: columns.take()?,
                            fingerprint: columns.take()?,
                            trials: columns.count()?,
                        })
                    })?
                    .collect()
            })
            .map_err(failed_to("read which models answered"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{ErrorClass, TrialRecord},
        store::{
            fixtures::{answered, failed, key, store_with},
            write::insert::Inserts,
        },
    };

    #[test]
    fn each_model_that_answered_is_told_once_with_its_number_of_answers() {
        let (store, run) = store_with(4, 1);
        let mut inserts = Inserts::prepare(&store.connection).unwrap();
        for case in 0..2 {
            inserts.trial(&answered(key(run.id, 0, case, 1), "x")).unwrap();
        }
        let other = answered(key(run.id, 0, 2, 1), "x");
        inserts.trial(&TrialRecord { system_fingerprint: Some("fp_2".to_owned()), ..other }).unwrap();
        inserts.trial(&failed(key(run.id, 0, 3, 1), ErrorClass::Retry)).unwrap();
        let returned = |fingerprint: Option<&str>, trials| Returned {
            model: Some("m-1-2026".to_owned()),
            fingerprint: fingerprint.map(ToOwned::to_owned),
            trials,
        };
        assert_eq!(
            store.returned(run.id, TargetPos(0)).unwrap(),
            [returned(None, 2), returned(Some("fp_2"), 1)]
        );
        assert!(store.returned(run.id, TargetPos(1)).unwrap().is_empty());
    }
}
