-- +goose Up
-- Binaries that know only schema 1 continue. What they change in a pool makes no
-- version and no row of changes.
UPDATE schema_admits SET binaries_from = 1;

-- What operators did to a pool, beside its awards and moves: the three share
-- the pool's versions. body is JSON.
CREATE TABLE changes (
    pool_id TEXT    NOT NULL,
    version INTEGER NOT NULL,
    what    TEXT    NOT NULL,
    body    TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    at      TEXT    NOT NULL,
    PRIMARY KEY (pool_id, version)
) STRICT, WITHOUT ROWID;

ALTER TABLE moves ADD COLUMN actor TEXT NOT NULL DEFAULT '';

-- revision is the version of the last change, at the time of the last entry
-- that a binary of this schema made.
ALTER TABLE pools ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN at TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000000Z';
ALTER TABLE pools ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
