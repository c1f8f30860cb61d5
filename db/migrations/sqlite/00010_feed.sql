-- +goose Up
UPDATE schema_admits SET binaries_from = 8;

-- What is only shown of a pool: it decides nothing, and is in no log.
CREATE TABLE pool_display (
    pool_id  TEXT PRIMARY KEY,
    currency TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The order of the feed over all pools. n is the number of its last segment; whoever
-- adds segments changes this row.
CREATE TABLE feed_head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    n   INTEGER NOT NULL CHECK (n >= 0)
) STRICT;

INSERT INTO feed_head (one, n) VALUES (1, 0);

-- A segment is the part of a pool's log after a version and up to another. mark is the
-- pool's at upto_version, and entry a digest of the entry of that version. forks says
-- that the pool lost versions that were in segments before, and stale that the segment
-- is one of those.
CREATE TABLE segments (
    n             INTEGER PRIMARY KEY,
    pool_id       TEXT    NOT NULL,
    after_version INTEGER NOT NULL CHECK (after_version >= 0),
    upto_version  INTEGER NOT NULL CHECK (upto_version >= after_version),
    mark          INTEGER NOT NULL,
    entry         INTEGER NOT NULL,
    forks         INTEGER NOT NULL DEFAULT 0 CHECK (forks IN (0, 1)),
    stale         INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1))
) STRICT;
CREATE INDEX segments_of_pool ON segments (pool_id, n);
