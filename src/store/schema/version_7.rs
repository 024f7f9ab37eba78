//! The step that tells by which price row, and at what tariff, a cost came about.

/// `price` is made anew with a position, since it is what rows of trials and attempts point to; its
/// rows keep their order. A region is kept for providers whose prices differ by it.
pub(super) const SQL: &str = "
CREATE TABLE price_7 (
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

INSERT INTO price_7 (run, position, model, effective_from, source, input_picodollars, output_picodollars,
    cache_read_picodollars, cache_write_5m_picodollars, cache_write_30m_picodollars,
    cache_write_1h_picodollars, tiers, batch_half)
SELECT run, row_number() OVER (PARTITION BY run ORDER BY model, effective_from) - 1, model, effective_from,
       source, input_picodollars, output_picodollars, cache_read_picodollars, cache_write_5m_picodollars,
       cache_write_30m_picodollars, cache_write_1h_picodollars, tiers, batch_half
FROM price;

DROP TABLE price;

ALTER TABLE price_7 RENAME TO price;

ALTER TABLE trial   ADD COLUMN price  INTEGER;
ALTER TABLE trial   ADD COLUMN tariff TEXT;
ALTER TABLE attempt ADD COLUMN price  INTEGER;
ALTER TABLE attempt ADD COLUMN tariff TEXT;
";
