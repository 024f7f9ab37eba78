//! The step that makes the checks of columns cheap, and sound for older tools; and that leaves an attempt
//! of every trial that was stopped on its way.

/// A list of three names or more builds a b-tree at every row that is written: a quarter of all that
/// writing a trial took. And `json_valid(NULL)` is 0 in SQLite 3.40, whose `integrity_check` then finds
/// fault with a run that has no gates. Only the text of the checks changes, and all rows satisfy both,
/// so that no row is copied.
///
/// Version 0.1 kept no attempt of a trial that was cancelled in flight. It may have been billed, and its row
/// goes once the trial is asked again; attempts stay.
///
/// Source: sqlite.org, *ALTER TABLE*, section 7: changes that do not affect the content on disk.
pub(super) const SQL: &str = "
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'status IN
                           (''running'', ''complete'', ''incomplete'', ''budget'', ''refused'', ''interrupted'')',
    'status = ''running'' OR status = ''complete'' OR status = ''incomplete'' OR status = ''budget'' OR status = ''refused'' OR status = ''interrupted''')
WHERE type = 'table' AND name = 'run';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (json_valid(gates))',
    'CHECK (gates IS NULL OR json_valid(gates))')
WHERE type = 'table' AND name = 'run';
UPDATE sqlite_schema SET sql = replace(sql,
    'split IN (''tuning'', ''held-out'', ''live'')',
    'split = ''tuning'' OR split = ''held-out'' OR split = ''live''')
WHERE type = 'table' AND name = 'run_case';
UPDATE sqlite_schema SET sql = replace(sql,
    'outcome IN
                               (''answered'', ''truncated'', ''refused'', ''filtered'', ''failed'', ''cancelled'')',
    'outcome = ''answered'' OR outcome = ''truncated'' OR outcome = ''refused'' OR outcome = ''filtered'' OR outcome = ''failed'' OR outcome = ''cancelled''')
WHERE type = 'table' AND name = 'trial';
UPDATE sqlite_schema SET sql = replace(sql,
    'verdict IN (''pass'', ''fail'', ''unscored'')',
    'verdict = ''pass'' OR verdict = ''fail'' OR verdict = ''unscored''')
WHERE type = 'table' AND name = 'trial';
UPDATE sqlite_schema SET sql = replace(sql,
    'verdict IN (''pass'', ''fail'', ''unscored'')',
    'verdict = ''pass'' OR verdict = ''fail'' OR verdict = ''unscored''')
WHERE type = 'table' AND name = 'score';
UPDATE sqlite_schema SET sql = replace(sql,
    'confirmed IN (''confirmed'', ''not confirmed'', ''cannot tell'')',
    'confirmed = ''confirmed'' OR confirmed = ''not confirmed'' OR confirmed = ''cannot tell''')
WHERE type = 'table' AND name = 'confirmation';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (json_valid(retrieved))',
    'CHECK (retrieved IS NULL OR json_valid(retrieved))')
WHERE type = 'table' AND name = 'application';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (json_valid(meta))',
    'CHECK (meta IS NULL OR json_valid(meta))')
WHERE type = 'table' AND name = 'application';
PRAGMA writable_schema = RESET;

-- A change of the schema that other connections notice.
CREATE VIEW step_8 AS SELECT 1;
DROP VIEW step_8;

INSERT INTO attempt (run, target, case_position, repeat, number, started_at, duration_ms, backoff_ms,
    class, kind, may_be_billed, message)
SELECT t.run, t.target, t.case_position, t.repeat,
    (SELECT coalesce(max(a.number), 0) + 1 FROM attempt a WHERE a.run = t.run AND a.target = t.target
        AND a.case_position = t.case_position AND a.repeat = t.repeat),
    t.started_at, max(t.finished_at - t.started_at, 0), 0, 'retry', 'cancelled', 1, 'stopped on its way'
FROM trial t WHERE t.outcome = 'cancelled' AND NOT EXISTS (
    SELECT 1 FROM attempt a WHERE a.run = t.run AND a.target = t.target
        AND a.case_position = t.case_position AND a.repeat = t.repeat AND a.kind = 'cancelled');
";

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::super::version_1;
    use crate::store::Store;

    /// A store of version 1 with one run, brought up to date.
    fn brought_up_to_date() -> (TempDir, Connection) {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("caseload.db");
        let old = Connection::open(&path).unwrap();
        old.execute_batch(&format!(
            "PRAGMA application_id = 0x434C4F44; PRAGMA user_version = 1; {}
             INSERT INTO run VALUES (1, 'a-1', 'a', 1, 'complete', '1', zeroblob(32), 'g', 'g', '{{}}', NULL,
                '[]', '0.1.0', NULL, 5, 6, NULL);",
            version_1::SQL
        ))
        .unwrap();
        drop(old);
        drop(Store::open(&path).unwrap());
        (folder, Connection::open(path).unwrap())
    }

    #[test]
    fn no_check_builds_a_list_at_every_row_or_asks_null_for_json() {
        let (_folder, store) = brought_up_to_date();
        let tables: Vec<String> = store
            .prepare("SELECT sql FROM sqlite_schema WHERE type = 'table'")
            .and_then(|mut query| query.query_map([], |row| row.get(0))?.collect())
            .unwrap();
        for table in tables {
            let line = table.split_whitespace().collect::<Vec<_>>().join(" ");
            for list in line.split(" IN (").skip(1) {
                let names = list.split(')').next().unwrap_or_default().split(',').count();
                assert!(names < 3, "{table}");
            }
            for nullable in ["gates", "retrieved", "meta"] {
                assert!(!table.contains(&format!("CHECK (json_valid({nullable}))")), "{table}");
            }
        }
    }

    #[test]
    fn what_was_refused_is_refused_and_what_was_kept_is_kept() {
        let (_folder, store) = brought_up_to_date();
        for wrong in ["UPDATE run SET status = 'done'", "UPDATE run SET gates = 'no JSON'"] {
            let error = store.execute(wrong, []).unwrap_err().to_string();
            assert!(error.contains("CHECK constraint failed"), "{error}");
        }
        for right in ["UPDATE run SET status = 'budget'", "UPDATE run SET gates = '{}'"] {
            assert_eq!(store.execute(right, []).unwrap(), 1, "{right}");
        }
    }

    /// SQLite 3.40, which Debian 12 ships, takes `json_valid(NULL)` for false.
    #[test]
    fn the_systems_own_shell_finds_the_store_sound() {
        let (folder, store) = brought_up_to_date();
        store.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let check = Command::new("sqlite3")
            .arg(folder.path().join("caseload.db"))
            .arg("PRAGMA integrity_check")
            .output();
        let check = check.expect("the sqlite3 shell is installed (tests/all does that)");
        assert_eq!(String::from_utf8_lossy(&check.stdout).trim(), "ok");
    }
}
