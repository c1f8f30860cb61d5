-- +goose Up
SET LOCAL lock_timeout = '1s';

-- Binaries that know only schema 1 continue. What they change in a pool makes no
-- version and no row of changes.
UPDATE schema_admits SET binaries_from = 1;

-- What operators did to a pool, beside its awards and moves: the three share
-- the pool's versions. body is JSON.
CREATE TABLE changes (
    pool_id text COLLATE "C" NOT NULL,
    version bigint      NOT NULL,
    what    text        NOT NULL,
    body    text        NOT NULL,
    actor   text        NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (pool_id, version)
);

ALTER TABLE moves ADD COLUMN actor text NOT NULL DEFAULT '';

-- revision is the version of the last change, at the time of the last entry
-- that a binary of this schema made.
ALTER TABLE pools
    ADD COLUMN revision bigint      NOT NULL DEFAULT 0,
    ADD COLUMN at       timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    ADD COLUMN archived boolean     NOT NULL DEFAULT false;
