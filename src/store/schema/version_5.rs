//! The step that keeps what was estimated of a run at its start.

/// The step that brings the table: one row a run, its content versioned JSON.
pub(super) const SQL: &str = "
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
";
