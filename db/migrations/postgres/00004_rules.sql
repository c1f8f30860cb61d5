-- +goose Up
SET LOCAL lock_timeout = '1s';

-- A binary that does not know rules would ignore them.
UPDATE schema_admits SET binaries_from = 4;

ALTER TABLE prizes ADD COLUMN kind text NOT NULL DEFAULT 'prize' CHECK (kind IN ('prize', 'blank'));

-- rules is the version of the change whose rules are in force, 0 for none.
-- spent is the value, in cents, that was issued under rules with a budget in
-- the window that began at spent_from.
ALTER TABLE pools
    ADD COLUMN rules      bigint      NOT NULL DEFAULT 0,
    ADD COLUMN spent      bigint      NOT NULL DEFAULT 0,
    ADD COLUMN spent_from timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00';

-- A row for each unit of a user that counts, in pools whose rules count. seq
-- numbers a user's turns of one kind without gaps; run is his misses in a row.
CREATE TABLE turns (
    pool_id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    what    text COLLATE "C" NOT NULL,
    seq     bigint      NOT NULL CHECK (seq > 0),
    version bigint      NOT NULL,
    run     bigint      NOT NULL CHECK (run >= 0),
    at      timestamptz NOT NULL,
    PRIMARY KEY (pool_id, user_id, what, seq)
);

-- A row for each award that the rules gave in place of what was drawn; drawn is
-- NULL when that was nothing.
CREATE TABLE redirects (
    pool_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    drawn   text COLLATE "C",
    why     text   NOT NULL CHECK (why IN ('sold-out', 'limit', 'budget', 'guarantee')),
    PRIMARY KEY (pool_id, version)
);
