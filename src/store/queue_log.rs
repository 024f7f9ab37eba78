//! How the queues of a run ran, a record a queue and session.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::{
    columns::{Columns, json},
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{ProviderName, QueueRecord, RunRow};

/// Writes the records of one session, which gets the run's next number.
pub(super) fn insert(
    connection: &Connection,
    run: RunRow,
    records: &[QueueRecord],
) -> Result<(), StoreError> {
    let failed = failed_to("store how the queues ran");
    let session: i64 = connection
        .query_row("SELECT coalesce(max(session), 0) + 1 FROM queue_log WHERE run = ?", [run], |row| {
            row.get(0)
        })
        .map_err(&failed)?;
    for record in records {
        let text = json("a queue's record", record)?;
        connection
            .execute(
                "INSERT INTO queue_log (run, session, provider, record) VALUES (?, ?, ?, ?)",
                params![run, session, record.provider.as_str(), text],
            )
            .map_err(&failed)?;
    }
    Ok(())
}

impl Store {
    /// How a run's queues ran in its last session that ended; empty when none has.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn queue_records(&self, run: RunRow) -> Result<Vec<QueueRecord>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT record FROM queue_log WHERE run = ?1
                    AND session = (SELECT max(session) FROM queue_log WHERE run = ?1) ORDER BY provider",
            )
            .and_then(|mut statement| statement.query_map([run], |row| Columns::of(row).json())?.collect())
            .map_err(failed_to("read how the queues ran"))
    }

    /// How the newest queue of that name ran in its last session that ended, and its run's configuration.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_of_queue(&self, provider: &ProviderName) -> Result<Option<(QueueRecord, Value)>, StoreError> {
        self.connection
            .query_row(
                "SELECT record, config FROM queue_log JOIN run ON run.id = queue_log.run
                 WHERE provider = ? ORDER BY queue_log.run DESC, session DESC LIMIT 1",
                [provider.as_str()],
                |row| {
                    let mut columns = Columns::of(row);
                    Ok((columns.json()?, columns.json()?))
                },
            )
            .optional()
            .map_err(failed_to("read how a queue ran"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{domain::PauseRecord, store::fixtures::store_with};

    #[test]
    fn the_last_sessions_records_come_back() {
        let (store, run) = store_with(1, 1);
        assert!(store.queue_records(run.id).unwrap().is_empty());
        let record = |wait_ms| QueueRecord {
            provider: "acme".into(),
            learnt: BTreeMap::from([("requests_per_minute".to_owned(), 600)]),
            concurrency: vec![],
            pauses: vec![PauseRecord { at_ms: 5, wait_ms, shared: false }],
            most_members: 2,
        };
        for wait_ms in [10, 20] {
            insert(&store.connection, run.id, &[record(wait_ms)]).unwrap();
        }
        assert_eq!(store.queue_records(run.id).unwrap(), [record(20)]);
        let (last, config) = store.last_of_queue(&"acme".into()).unwrap().unwrap();
        assert_eq!((last, config), (record(20), store.run_detail(run.id).unwrap().config));
        assert!(store.last_of_queue(&"other".into()).unwrap().is_none());
    }
}
