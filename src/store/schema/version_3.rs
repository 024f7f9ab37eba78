//! The step that keeps what became of flips that were asked again.

/// The table, beside the runs it speaks of; its rows go with any of them.
pub(super) const SQL: &str = "
CREATE TABLE confirmation (
    a_run        INTEGER NOT NULL,
    a_target     INTEGER NOT NULL,
    b_run        INTEGER NOT NULL,
    b_target     INTEGER NOT NULL,
    case_id      TEXT NOT NULL,
    direction    TEXT NOT NULL CHECK (direction IN ('fixed', 'broke')),
    a_fresh_run  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    b_fresh_run  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    a_passes     INTEGER NOT NULL,
    a_measured   INTEGER NOT NULL,
    b_passes     INTEGER NOT NULL,
    b_measured   INTEGER NOT NULL,
    confirmed    TEXT NOT NULL CHECK (confirmed IN ('confirmed', 'not confirmed', 'cannot tell')),
    p            REAL,
    q            REAL,
    confirmed_at INTEGER NOT NULL,
    PRIMARY KEY (a_run, a_target, b_run, b_target, case_id),
    FOREIGN KEY (a_run, a_target) REFERENCES target (run, position) ON DELETE CASCADE,
    FOREIGN KEY (b_run, b_target) REFERENCES target (run, position) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
";
