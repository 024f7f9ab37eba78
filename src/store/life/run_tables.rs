//! The tables whose rows belong to runs, as the schema itself lists them: what deletes, copies or
//! forgets rows of a run also reaches tables that are added later.

use rusqlite::Connection;

/// A table with a column `run`.
#[derive(Debug)]
pub(super) struct RunTable {
    pub(in crate::store) name: String,
    pub(in crate::store) columns: Vec<String>,
}

impl RunTable {
    /// Whether its rows belong to single trials.
    pub(super) fn is_per_trial(&self) -> bool {
        ["target", "case_position"].iter().all(|wanted| self.columns.iter().any(|column| column == wanted))
    }
}

/// All tables with a column `run`, by name.
pub(super) fn run_tables(connection: &Connection) -> rusqlite::Result<Vec<RunTable>> {
    let mut tables: Vec<RunTable> = vec![];
    let mut statement = connection.prepare(
        "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' ORDER BY t.name, c.cid",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, column): (String, String) = (row.get(0)?, row.get(1)?);
        match tables.last_mut().filter(|known| known.name == table) {
            Some(known) => known.columns.push(column),
            None => tables.push(RunTable { name: table, columns: vec![column] }),
        }
    }
    tables.retain(|table| table.columns.iter().any(|column| column == "run"));
    Ok(tables)
}
