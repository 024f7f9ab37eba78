//! The step that keeps what applications tell beside their answers.

/// A table of its own, since most trials have none of it and passages are long; and the standard
/// error of programs, beside the attempt in which it was written.
pub(super) const SQL: &str = "
CREATE TABLE application (
    run           INTEGER NOT NULL,
    target        INTEGER NOT NULL,
    case_position INTEGER NOT NULL,
    repeat        INTEGER NOT NULL,
    k             INTEGER,
    hit           INTEGER CHECK (hit IN (0, 1)),
    recall        REAL,
    fact_recall   REAL,
    retrieved     TEXT CHECK (json_valid(retrieved)),
    meta          TEXT CHECK (json_valid(meta)),
    PRIMARY KEY (run, target, case_position, repeat),
    FOREIGN KEY (run, target, case_position, repeat)
        REFERENCES trial (run, target, case_position, repeat) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

ALTER TABLE attempt ADD COLUMN stderr TEXT;

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
";
