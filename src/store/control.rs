//! What the user asks of a running run: written by one process, read by the one that works on it.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, TransactionBehavior, params};

use super::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{LiveLimits, PerDimension, ProviderName, QueueControl, RunRow, UnixMillis};

const COLUMNS: &str =
    "paused, max_in_flight, requests_per_minute, input_tokens_per_minute, output_tokens_per_minute";

impl Store {
    /// Changes what is asked of some queues of a run, and returns what now holds of each.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn steer(
        &mut self,
        run: RunRow,
        providers: &[ProviderName],
        change: impl Fn(QueueControl) -> QueueControl,
    ) -> Result<BTreeMap<ProviderName, QueueControl>, StoreError> {
        let failed = failed_to("write what the queues are asked");
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        let mut controls = BTreeMap::new();
        for provider in providers {
            let query = format!("SELECT {COLUMNS} FROM run_control WHERE run = ? AND provider = ?");
            let known = transaction
                .query_row(&query, params![run, provider.as_str()], |row| control(&mut Columns::of(row)))
                .optional()
                .map_err(&failed)?;
            let mut control = change(known.unwrap_or_default());
            // What SQLite cannot count to is no limit: what is told is what is stored.
            let counted = |limit: u64| limit.min(i64::MAX.unsigned_abs());
            control.limits.per_minute = control.limits.per_minute.map(|limit| limit.map(counted));
            let LiveLimits { max_in_flight, per_minute } = control.limits;
            let stored = |limit: Option<u64>| limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
            let PerDimension { requests, input, output } = per_minute.map(stored);
            transaction
                .execute(
                    "INSERT OR REPLACE INTO run_control (run, provider, paused, max_in_flight,
                        requests_per_minute, input_tokens_per_minute, output_tokens_per_minute, changed_at)
                     VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    params![
                        run,
                        provider.as_str(),
                        control.paused,
                        max_in_flight,
                        requests,
                        input,
                        output,
                        UnixMillis::now().0
                    ],
                )
                .map_err(&failed)?;
            controls.insert(provider.clone(), control);
        }
        transaction.commit().map_err(&failed)?;
        Ok(controls)
    }

    /// What is asked of a run's queues, by their names; a queue that was never steered is not there.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn controls(&self, run: RunRow) -> Result<BTreeMap<ProviderName, QueueControl>, StoreError> {
        self.connection
            .prepare_cached(&format!("SELECT provider, {COLUMNS} FROM run_control WHERE run = ?"))
            .and_then(|mut statement| {
                statement
                    .query_map([run], |row| {
                        let mut columns = Columns::of(row);
                        Ok((columns.take::<String>()?.into(), control(&mut columns)?))
                    })?
                    .collect()
            })
            .map_err(failed_to("read what the queues are asked"))
    }

    /// Forgets what was asked of a run's queues: a session begins with the experiment's own limits.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn clear_controls(&self, run: RunRow) -> Result<(), StoreError> {
        self.connection
            .execute("DELETE FROM run_control WHERE run = ?", [run])
            .map(drop)
            .map_err(failed_to("forget what the queues were asked"))
    }
}

fn control(columns: &mut Columns<'_, '_>) -> rusqlite::Result<QueueControl> {
    let paused = columns.take()?;
    let max_in_flight = columns.take()?;
    let mut limit = || Ok::<_, rusqlite::Error>(columns.take::<Option<i64>>()?.map(i64::unsigned_abs));
    let per_minute = PerDimension { requests: limit()?, input: limit()?, output: limit()? };
    Ok(QueueControl { paused, limits: LiveLimits { max_in_flight, per_minute } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::store_with;

    #[test]
    fn what_is_asked_later_is_put_over_what_was_asked_before() {
        let (mut store, run) = store_with(1, 1);
        let acme = [ProviderName::from("acme")];
        let limits = LiveLimits { max_in_flight: Some(32), ..LiveLimits::default() };
        store.steer(run.id, &acme, |control| QueueControl { limits, ..control }).unwrap();
        store.steer(run.id, &acme, |control| QueueControl { paused: true, ..control }).unwrap();
        let expected = BTreeMap::from([(acme[0].clone(), QueueControl { paused: true, limits })]);
        assert_eq!(store.controls(run.id).unwrap(), expected);
        store.clear_controls(run.id).unwrap();
        assert!(store.controls(run.id).unwrap().is_empty());
    }
}
