CREATE TABLE run (
    id                 INTEGER PRIMARY KEY,
    name               TEXT NOT NULL UNIQUE,
    experiment         TEXT NOT NULL,
    number             INTEGER NOT NULL,
    status             TEXT NOT NULL CHECK (status = 'running' OR status = 'complete' OR status = 'incomplete' OR status = 'budget' OR status = 'refused' OR status = 'interrupted'),
    seed               TEXT NOT NULL,
    golden_fingerprint BLOB NOT NULL CHECK (length(golden_fingerprint) = 32),
    golden_path        TEXT NOT NULL,
    golden_name        TEXT NOT NULL,
    config             TEXT NOT NULL CHECK (json_valid(config)),
    gates              TEXT CHECK (gates IS NULL OR json_valid(gates)),
    graders            TEXT NOT NULL CHECK (json_valid(graders)),
    tool_version       TEXT NOT NULL,
    git_commit         TEXT,
    created_at         INTEGER NOT NULL,
    finished_at        INTEGER,
    stop_reason        TEXT, store_answers TEXT NOT NULL DEFAULT 'full'
    CHECK (store_answers IN ('full', 'hash')), deleted_at INTEGER,
    UNIQUE (experiment, number)
) STRICT;

CREATE TABLE run_lock (
    run             INTEGER PRIMARY KEY REFERENCES run (id),
    machine         TEXT NOT NULL,
    pid             INTEGER NOT NULL,
    process_started INTEGER,
    claim           TEXT NOT NULL,
    heartbeat_at    INTEGER NOT NULL
) STRICT;

CREATE TABLE target (
    run      INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    provider TEXT NOT NULL,
    model    TEXT NOT NULL,
    config   TEXT NOT NULL CHECK (json_valid(config)),
    PRIMARY KEY (run, position),
    UNIQUE (run, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE grader (
    run      INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    hard     INTEGER NOT NULL CHECK (hard IN (0, 1)),
    kind     TEXT,
    version  TEXT,
    PRIMARY KEY (run, position),
    UNIQUE (run, name, hard)
) STRICT, WITHOUT ROWID;

CREATE TABLE case_content (
    id          INTEGER PRIMARY KEY,
    fingerprint BLOB NOT NULL UNIQUE CHECK (length(fingerprint) = 32),
    content     TEXT NOT NULL
, zstd BLOB) STRICT;

CREATE TABLE run_case (
    run      INTEGER NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    case_id  TEXT NOT NULL,
    content  INTEGER NOT NULL REFERENCES case_content (id),
    split    TEXT CHECK (split = 'tuning' OR split = 'held-out' OR split = 'live'),
    cluster  TEXT NOT NULL,
    weight   REAL NOT NULL,
    segment  TEXT NOT NULL,
    repeats  INTEGER NOT NULL CHECK (repeats >= 1),
    pass_if  TEXT NOT NULL, trace_id TEXT, golden_position INTEGER,
    PRIMARY KEY (run, position),
    UNIQUE (run, case_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE answer (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL
, hash BLOB CHECK (length(hash) = 16), zstd BLOB, bytes INTEGER) STRICT;

CREATE TABLE trial (
    run                    INTEGER NOT NULL,
    target                 INTEGER NOT NULL,
    case_position          INTEGER NOT NULL,
    repeat                 INTEGER NOT NULL CHECK (repeat >= 1),
    outcome                TEXT NOT NULL CHECK (outcome = 'answered' OR outcome = 'truncated' OR outcome = 'refused' OR outcome = 'filtered' OR outcome = 'failed' OR outcome = 'cancelled'),
    gradable               INTEGER NOT NULL CHECK (gradable IN (0, 1)),
    verdict                TEXT CHECK (verdict = 'pass' OR verdict = 'fail' OR verdict = 'unscored'),
    failure_class          TEXT,
    failure_kind           TEXT,
    input_uncached         INTEGER,
    cache_read             INTEGER,
    cache_write_5m         INTEGER,
    cache_write_30m        INTEGER,
    cache_write_1h         INTEGER,
    output                 INTEGER,
    reasoning              INTEGER,
    usage_flag             TEXT,
    cost_picodollars       INTEGER,
    latency_ms             REAL,
    first_token_ms         REAL,
    queue_wait_ms          REAL NOT NULL,
    backoff_wait_ms        REAL NOT NULL,
    attempts               INTEGER NOT NULL,
    source                 TEXT NOT NULL,
    started_at             INTEGER NOT NULL,
    finished_at            INTEGER NOT NULL,
    answer                 INTEGER REFERENCES answer (id),
    stop_reason            TEXT,
    request_id             TEXT,
    model_returned         TEXT,
    system_fingerprint     TEXT,
    failure_status         INTEGER,
    failure_retry_after_ms INTEGER,
    failure_may_be_billed  INTEGER,
    failure_message        TEXT,
    usage_raw              TEXT, request_hash BLOB CHECK (length(request_hash) = 32), original_run TEXT, original_cost_picodollars INTEGER, original_latency_ms REAL, price  INTEGER, tariff TEXT,
    PRIMARY KEY (run, target, case_position, repeat),
    FOREIGN KEY (run, target) REFERENCES target (run, position),
    FOREIGN KEY (run, case_position) REFERENCES run_case (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    run             INTEGER NOT NULL,
    target          INTEGER NOT NULL,
    case_position   INTEGER NOT NULL,
    repeat          INTEGER NOT NULL,
    number          INTEGER NOT NULL CHECK (number >= 1),
    started_at      INTEGER NOT NULL,
    duration_ms     REAL NOT NULL,
    backoff_ms      REAL NOT NULL,
    status          INTEGER,
    class           TEXT,
    kind            TEXT,
    retry_after_ms  INTEGER,
    may_be_billed   INTEGER,
    input_uncached  INTEGER,
    cache_read      INTEGER,
    cache_write_5m  INTEGER,
    cache_write_30m INTEGER,
    cache_write_1h  INTEGER,
    output          INTEGER,
    reasoning       INTEGER,
    usage_flag      TEXT,
    cost_picodollars INTEGER,
    request_id      TEXT,
    message         TEXT,
    usage_raw       TEXT, stderr TEXT, price  INTEGER, tariff TEXT,
    PRIMARY KEY (run, target, case_position, repeat, number),
    FOREIGN KEY (run, target) REFERENCES target (run, position),
    FOREIGN KEY (run, case_position) REFERENCES run_case (run, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE score (
    run           INTEGER NOT NULL,
    target        INTEGER NOT NULL,
    case_position INTEGER NOT NULL,
    repeat        INTEGER NOT NULL,
    position      INTEGER NOT NULL,
    grader        INTEGER NOT NULL,
    verdict       TEXT NOT NULL CHECK (verdict = 'pass' OR verdict = 'fail' OR verdict = 'unscored'),
    value         REAL,
    reason        TEXT NOT NULL,
    PRIMARY KEY (run, target, case_position, repeat, position),
    FOREIGN KEY (run, target, case_position, repeat)
        REFERENCES trial (run, target, case_position, repeat),
    FOREIGN KEY (run, grader) REFERENCES grader (run, position)
) STRICT, WITHOUT ROWID;

CREATE VIEW case_mean_view AS
SELECT run, target, case_id, cluster, split, segment, weight, pass_if, planned, trials,
       measured, passes,
       CAST(passes AS REAL) / nullif(measured, 0) AS mean,
       CASE WHEN measured = 0 THEN NULL
            WHEN pass_if = 'every' THEN passes = measured
            WHEN pass_if = 'any' THEN passes > 0
            WHEN pass_if = 'majority' THEN 2 * passes > measured
            ELSE passes >= CAST(substr(pass_if, length('at least ') + 1) AS INTEGER)
       END AS passed,
       run_id, target_position, case_position
FROM (
    SELECT r.name AS run, g.name AS target, c.case_id, c.cluster, c.split, c.segment, c.weight,
           c.pass_if, c.repeats AS planned, count(t.repeat) AS trials,
           count(CASE WHEN t.verdict IN ('pass', 'fail') THEN 1 END) AS measured,
           count(CASE WHEN t.verdict = 'pass' THEN 1 END) AS passes,
           r.id AS run_id, g.position AS target_position, c.position AS case_position
    FROM run r
    JOIN target g ON g.run = r.id
    JOIN run_case c ON c.run = r.id
    LEFT JOIN trial t ON t.run = r.id AND t.target = g.position AND t.case_position = c.position
    GROUP BY r.id, g.position, c.position
);

CREATE VIEW attempt_view AS
SELECT r.name AS run, g.name AS target, g.provider, g.model, c.case_id, a.repeat, a.number,
       a.started_at, a.duration_ms, a.backoff_ms, a.status, a.class, a.kind, a.message,
       a.retry_after_ms, a.may_be_billed, a.request_id,
       a.input_uncached + a.cache_read + a.cache_write_5m + a.cache_write_30m + a.cache_write_1h
           AS input_total,
       a.input_uncached, a.cache_read, a.cache_write_5m, a.cache_write_30m, a.cache_write_1h,
       a.output, a.reasoning, a.usage_flag, a.cost_picodollars,
       (a.cost_picodollars / 1000000000000) || '.'
           || substr(printf('%012d', a.cost_picodollars % 1000000000000), 1, 2)
           || rtrim(substr(printf('%012d', a.cost_picodollars % 1000000000000), 3), '0')
           AS cost_usd,
       a.run AS run_id, a.target AS target_position, a.case_position
FROM attempt a
JOIN run r ON r.id = a.run
JOIN target g ON g.run = a.run AND g.position = a.target
JOIN run_case c ON c.run = a.run AND c.position = a.case_position;

CREATE VIEW score_view AS
SELECT r.name AS run, g.name AS target, c.case_id, s.repeat, s.position, d.name AS grader, d.hard,
       d.kind,
       s.verdict, CASE s.verdict WHEN 'pass' THEN 1 WHEN 'fail' THEN 0 END AS passed,
       s.value, s.reason,
       s.run AS run_id, s.target AS target_position, s.case_position
FROM score s
JOIN run r ON r.id = s.run
JOIN target g ON g.run = s.run AND g.position = s.target
JOIN run_case c ON c.run = s.run AND c.position = s.case_position
JOIN grader d ON d.run = s.run AND d.position = s.grader;

CREATE UNIQUE INDEX answer_by_hash ON answer (hash);

CREATE INDEX trial_by_answer ON trial (answer) WHERE answer IS NOT NULL;

CREATE INDEX run_case_by_content ON run_case (content);

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

CREATE TRIGGER trial_keeps_its_answer BEFORE DELETE ON trial
WHEN OLD.outcome NOT IN ('failed', 'cancelled')
     AND (SELECT deleted_at FROM run WHERE id = OLD.run) IS NULL
BEGIN
    SELECT RAISE(ABORT, 'only a failed or cancelled trial may be asked again');
END;

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
    confirmed    TEXT NOT NULL CHECK (confirmed = 'confirmed' OR confirmed = 'not confirmed' OR confirmed = 'cannot tell'),
    p            REAL,
    q            REAL,
    confirmed_at INTEGER NOT NULL,
    PRIMARY KEY (a_run, a_target, b_run, b_target, case_id),
    FOREIGN KEY (a_run, a_target) REFERENCES target (run, position) ON DELETE CASCADE,
    FOREIGN KEY (b_run, b_target) REFERENCES target (run, position) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

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

CREATE TABLE estimate (
    run     INTEGER PRIMARY KEY REFERENCES run (id),
    made_at INTEGER NOT NULL,
    content TEXT NOT NULL CHECK (json_valid(content))
) STRICT;

CREATE VIEW estimate_view AS
SELECT r.name AS run, t.value ->> 'name' AS target, e.made_at,
       t.value ->> '$.requests.mid' AS requests,
       t.value ->> '$.input_tokens.mid' AS input_tokens,
       t.value ->> '$.output_tokens.low' AS output_tokens_low,
       t.value ->> '$.output_tokens.mid' AS output_tokens,
       t.value ->> '$.output_tokens.high' AS output_tokens_high,
       t.value ->> '$.cost_usd.low' AS cost_usd_low,
       t.value ->> '$.cost_usd.mid' AS cost_usd,
       t.value ->> '$.cost_usd.high' AS cost_usd_high,
       t.value ->> '$.wall_seconds.mid' AS wall_seconds,
       r.id AS run_id, t.key AS target_position
FROM estimate e
JOIN run r ON r.id = e.run
JOIN json_each(e.content, '$.targets') t;

CREATE TABLE application (
    run           INTEGER NOT NULL,
    target        INTEGER NOT NULL,
    case_position INTEGER NOT NULL,
    repeat        INTEGER NOT NULL,
    k             INTEGER,
    hit           INTEGER CHECK (hit IN (0, 1)),
    recall        REAL,
    fact_recall   REAL,
    retrieved     TEXT CHECK (retrieved IS NULL OR json_valid(retrieved)),
    meta          TEXT CHECK (meta IS NULL OR json_valid(meta)),
    PRIMARY KEY (run, target, case_position, repeat),
    FOREIGN KEY (run, target, case_position, repeat)
        REFERENCES trial (run, target, case_position, repeat) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE VIEW retrieval_view AS
SELECT r.name AS run, g.name AS target, c.case_id, c.cluster, c.split, c.segment, p.repeat,
       p.k, p.hit, p.recall, p.fact_recall, t.verdict,
       CASE t.verdict WHEN 'pass' THEN 1 WHEN 'fail' THEN 0 END AS passed,
       json_array_length(p.retrieved) AS passages, p.meta,
       p.run AS run_id, p.target AS target_position, p.case_position
FROM application p
JOIN trial t ON t.run = p.run AND t.target = p.target AND t.case_position = p.case_position
    AND t.repeat = p.repeat
JOIN run r ON r.id = p.run
JOIN target g ON g.run = p.run AND g.position = p.target
JOIN run_case c ON c.run = p.run AND c.position = p.case_position;

CREATE VIEW retrieved_view AS
SELECT r.name AS run, g.name AS target, c.case_id, p.repeat, e.key + 1 AS rank,
       e.value ->> '$.doc' AS doc, e.value ->> '$.chunk' AS chunk, e.value ->> '$.score' AS score,
       e.value ->> '$.text' AS text,
       p.run AS run_id, p.target AS target_position, p.case_position
FROM application p
JOIN json_each(p.retrieved) e
JOIN run r ON r.id = p.run
JOIN target g ON g.run = p.run AND g.position = p.target
JOIN run_case c ON c.run = p.run AND c.position = p.case_position;

CREATE TABLE "price" (
    run            INTEGER NOT NULL REFERENCES run (id),
    position       INTEGER NOT NULL,
    model          TEXT NOT NULL,
    effective_from TEXT NOT NULL,
    tariff         TEXT NOT NULL DEFAULT 'standard',
    region         TEXT NOT NULL DEFAULT '',
    source         TEXT NOT NULL,
    input_picodollars           INTEGER NOT NULL,
    output_picodollars          INTEGER NOT NULL,
    cache_read_picodollars      INTEGER,
    cache_write_5m_picodollars  INTEGER,
    cache_write_30m_picodollars INTEGER,
    cache_write_1h_picodollars  INTEGER,
    tiers          TEXT NOT NULL CHECK (json_valid(tiers)),
    batch_half     INTEGER NOT NULL CHECK (batch_half IN (0, 1)),
    PRIMARY KEY (run, position),
    UNIQUE (run, model, effective_from, tariff, region)
) STRICT, WITHOUT ROWID;
