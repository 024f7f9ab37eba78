//! Live control, the queues' records, and answers that are used again, as SQL.

/// Adds the tables `run_control` and `queue_log`, and to `trial` what it was asked and which earlier
/// answer it was given.
pub(super) const SQL: &str = "
CREATE TABLE run_control (
    run                      INTEGER NOT NULL REFERENCES run (id),
    provider                 TEXT NOT NULL,
    paused                   INTEGER NOT NULL CHECK (paused IN (0, 1)),
    max_in_flight            INTEGER,
    requests_per_minute      INTEGER,
    input_tokens_per_minute  INTEGER,
    output_tokens_per_minute INTEGER,
    changed_at               INTEGER NOT NULL,
    PRIMARY KEY (run, provider)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_log (
    run      INTEGER NOT NULL REFERENCES run (id),
    session  INTEGER NOT NULL,
    provider TEXT NOT NULL,
    record   TEXT NOT NULL CHECK (json_valid(record)),
    PRIMARY KEY (run, session, provider)
) STRICT, WITHOUT ROWID;

ALTER TABLE trial ADD COLUMN request_hash BLOB CHECK (length(request_hash) = 32);
ALTER TABLE trial ADD COLUMN original_run TEXT;
ALTER TABLE trial ADD COLUMN original_cost_picodollars INTEGER;
ALTER TABLE trial ADD COLUMN original_latency_ms REAL;

CREATE INDEX trial_by_request ON trial (request_hash) WHERE request_hash IS NOT NULL;

CREATE VIEW reuse_view AS
SELECT r.name AS run, g.name AS target, c.case_id, t.repeat, t.original_run,
       t.original_cost_picodollars, t.original_latency_ms,
       t.run AS run_id, t.target AS target_position, t.case_position
FROM trial t
JOIN run r ON r.id = t.run
JOIN target g ON g.run = t.run AND g.position = t.target
JOIN run_case c ON c.run = t.run AND c.position = t.case_position
WHERE t.original_run IS NOT NULL;
";
