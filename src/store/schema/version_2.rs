//! The step that makes a store small, movable and tidy: packed texts, shards, traces, deletion.

/// Answers and contents are packed and answers found by their hash; rows of before stay as they are
/// until `store compact`. A run that is being deleted may lose its answered trials.
pub(super) const SQL: &str = "
ALTER TABLE answer ADD COLUMN hash BLOB CHECK (length(hash) = 16);
ALTER TABLE answer ADD COLUMN zstd BLOB;
ALTER TABLE answer ADD COLUMN bytes INTEGER;
CREATE UNIQUE INDEX answer_by_hash ON answer (hash);
CREATE INDEX trial_by_answer ON trial (answer) WHERE answer IS NOT NULL;

ALTER TABLE case_content ADD COLUMN zstd BLOB;
CREATE INDEX run_case_by_content ON run_case (content);

ALTER TABLE run_case ADD COLUMN trace_id TEXT;
ALTER TABLE run_case ADD COLUMN golden_position INTEGER;

ALTER TABLE run ADD COLUMN store_answers TEXT NOT NULL DEFAULT 'full'
    CHECK (store_answers IN ('full', 'hash'));
ALTER TABLE run ADD COLUMN deleted_at INTEGER;

CREATE TABLE run_shard (
    run         INTEGER NOT NULL REFERENCES run (id),
    shard       INTEGER NOT NULL CHECK (shard BETWEEN 1 AND of),
    of          INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    status      TEXT,
    stop_reason TEXT,
    PRIMARY KEY (run, shard)
) STRICT, WITHOUT ROWID;

CREATE TABLE dictionary (
    id   INTEGER PRIMARY KEY,
    name BLOB NOT NULL UNIQUE CHECK (length(name) = 8),
    zstd BLOB NOT NULL
) STRICT;

CREATE TABLE dictionary_case (
    dictionary INTEGER NOT NULL REFERENCES dictionary (id),
    case_id    TEXT NOT NULL,
    PRIMARY KEY (dictionary, case_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX dictionary_by_case ON dictionary_case (case_id);

DROP TRIGGER trial_keeps_its_answer;
CREATE TRIGGER trial_keeps_its_answer BEFORE DELETE ON trial
WHEN OLD.outcome NOT IN ('failed', 'cancelled')
     AND (SELECT deleted_at FROM run WHERE id = OLD.run) IS NULL
BEGIN
    SELECT RAISE(ABORT, 'only a failed or cancelled trial may be asked again');
END;

DROP VIEW trial_view;
CREATE VIEW trial_view AS
SELECT r.name AS run, g.name AS target, g.provider, g.model, c.case_id, t.repeat,
       c.split, c.cluster, c.segment, c.weight,
       t.outcome, t.verdict,
       CASE t.verdict WHEN 'pass' THEN 1 WHEN 'fail' THEN 0 END AS passed,
       t.gradable,
       t.input_uncached + t.cache_read + t.cache_write_5m + t.cache_write_30m + t.cache_write_1h
           AS input_total,
       t.input_uncached, t.cache_read, t.cache_write_5m, t.cache_write_30m, t.cache_write_1h,
       t.output, t.reasoning, t.usage_flag,
       t.cost_picodollars,
       (t.cost_picodollars / 1000000000000) || '.'
           || substr(printf('%012d', t.cost_picodollars % 1000000000000), 1, 2)
           || rtrim(substr(printf('%012d', t.cost_picodollars % 1000000000000), 3), '0')
           AS cost_usd,
       t.latency_ms, t.first_token_ms, t.queue_wait_ms, t.backoff_wait_ms, t.attempts,
       t.failure_class, t.failure_kind, t.failure_message, t.stop_reason,
       t.request_id, t.model_returned, t.system_fingerprint, t.source,
       t.started_at, t.finished_at,
       CASE WHEN a.id IS NULL THEN '' WHEN a.text <> '' THEN a.text END AS answer,
       coalesce(a.bytes, length(CAST(a.text AS BLOB)), 0) AS answer_bytes,
       t.run AS run_id, t.target AS target_position, t.case_position
FROM trial t
JOIN run r ON r.id = t.run
JOIN target g ON g.run = t.run AND g.position = t.target
JOIN run_case c ON c.run = t.run AND c.position = t.case_position
LEFT JOIN answer a ON a.id = t.answer;
";
