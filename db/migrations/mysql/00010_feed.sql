-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

UPDATE schema_admits SET binaries_from = 8;

-- What is only shown of a pool: it decides nothing, and is in no log.
CREATE TABLE IF NOT EXISTS pool_display (
    pool_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    currency VARCHAR(3)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (pool_id)
) ENGINE = InnoDB;

-- The order of the feed over all pools. n is the number of its last segment; whoever
-- adds segments changes this row.
CREATE TABLE IF NOT EXISTS feed_head (
    one SMALLINT NOT NULL,
    n   BIGINT   NOT NULL,
    PRIMARY KEY (one),
    CONSTRAINT feed_once CHECK (one = 1),
    CONSTRAINT feed_counts CHECK (n >= 0)
) ENGINE = InnoDB;

INSERT INTO feed_head (one, n) VALUES (1, 0) ON DUPLICATE KEY UPDATE n = n;

-- A segment is the part of a pool's log after a version and up to another. mark is the
-- pool's at upto_version, and entry a digest of the entry of that version. forks says
-- that the pool lost versions that were in segments before, and stale that the segment
-- is one of those.
CREATE TABLE IF NOT EXISTS segments (
    n             BIGINT NOT NULL,
    pool_id       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    after_version BIGINT NOT NULL,
    upto_version  BIGINT NOT NULL,
    mark          BIGINT NOT NULL,
    entry         BIGINT NOT NULL,
    forks         BOOLEAN NOT NULL DEFAULT FALSE,
    stale         BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (n),
    KEY segments_of_pool (pool_id, n),
    CONSTRAINT segment_rises CHECK (after_version >= 0 AND upto_version >= after_version)
) ENGINE = InnoDB;
