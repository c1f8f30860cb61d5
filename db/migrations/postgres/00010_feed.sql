-- +goose Up
SET LOCAL lock_timeout = '1s';

UPDATE schema_admits SET binaries_from = 8;

-- What is only shown of a pool: it decides nothing, and is in no log.
CREATE TABLE pool_display (
    pool_id  text COLLATE "C" PRIMARY KEY,
    currency text COLLATE "C" NOT NULL
);

-- The order of the feed over all pools. n is the number of its last segment; whoever
-- adds segments changes this row.
CREATE TABLE feed_head (
    one smallint PRIMARY KEY CHECK (one = 1),
    n   bigint   NOT NULL CHECK (n >= 0)
);

INSERT INTO feed_head (one, n) VALUES (1, 0);

-- A segment is the part of a pool's log after a version and up to another. mark is the
-- pool's at upto_version, and entry a digest of the entry of that version. forks says
-- that the pool lost versions that were in segments before, and stale that the segment
-- is one of those.
CREATE TABLE segments (
    n             bigint  PRIMARY KEY,
    pool_id       text COLLATE "C" NOT NULL,
    after_version bigint  NOT NULL CHECK (after_version >= 0),
    upto_version  bigint  NOT NULL CHECK (upto_version >= after_version),
    mark          bigint  NOT NULL,
    entry         bigint  NOT NULL,
    forks         boolean NOT NULL DEFAULT false,
    stale         boolean NOT NULL DEFAULT false
);
CREATE INDEX segments_of_pool ON segments (pool_id, n);
