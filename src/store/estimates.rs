//! What was estimated of a run at its start, kept so that it can be held against what came.

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use super::{
    columns::Columns,
    error::{StoreError, failed_to},
    open::Store,
};
use crate::domain::{RunRow, UnixMillis};

impl Store {
    /// Keeps the estimate of a run; the first one stays.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn add_estimate(&self, run: RunRow, content: &Value) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT OR IGNORE INTO estimate (run, made_at, content) VALUES (?, ?, ?)",
                params![run, UnixMillis::now().0, content.to_string()],
            )
            .map(|_| ())
            .map_err(failed_to("store the run's estimate"))
    }

    /// The estimate that was made at a run's start, if one was.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn estimate_of(&self, run: RunRow) -> Result<Option<Value>, StoreError> {
        self.connection
            .prepare_cached("SELECT content FROM estimate WHERE run = ?")
            .and_then(|mut statement| statement.query_row([run], |row| Columns::of(row).json()).optional())
            .map_err(failed_to("read the run's estimate"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::store::fixtures::store_with;

    #[test]
    fn the_first_estimate_of_a_run_stays() {
        let (store, run) = store_with(1, 1);
        assert_eq!(store.estimate_of(run.id).unwrap(), None);
        store.add_estimate(run.id, &json!({"targets": [{"name": "a"}]})).unwrap();
        store.add_estimate(run.id, &json!({"targets": []})).unwrap();
        assert_eq!(store.estimate_of(run.id).unwrap(), Some(json!({"targets": [{"name": "a"}]})));
        let seen: String =
            store.connection.query_row("SELECT target FROM estimate_view", [], |row| row.get(0)).unwrap();
        assert_eq!(seen, "a");
    }
}
