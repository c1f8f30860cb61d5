-- +goose Up
SET LOCAL lock_timeout = '1s';

-- Which binaries may work on this schema: those that know this version of it,
-- or a later one. Each migration states it; the table is the first that is made.
CREATE TABLE schema_admits (
    one           smallint PRIMARY KEY CHECK (one = 1),
    binaries_from bigint   NOT NULL
);

INSERT INTO schema_admits (one, binaries_from) VALUES (1, 1);

-- version and issued are in no index, and pages are left half empty, so that
-- the rows that every draw updates stay on their page (HOT updates).
CREATE TABLE pools (
    id         text COLLATE "C" PRIMARY KEY,
    name       text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('open', 'paused', 'closed')),
    mode       text,
    version    bigint      NOT NULL CHECK (version >= 0),
    -- 64 random bits written with every version: (version, mark) names one
    -- history. trail holds the marks before it, 8 bytes each, newest first.
    mark       bigint      NOT NULL DEFAULT 0,
    trail      bytea       NOT NULL DEFAULT '',
    -- the highest token that a lock of external mode wrote with, and which lock
    fence      bigint      NOT NULL DEFAULT 0,
    fenced_by  text        NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE prizes (
    pool_id text COLLATE "C" NOT NULL REFERENCES pools (id),
    id      text COLLATE "C" NOT NULL,
    name    text           NOT NULL,
    value   numeric(14, 2) NOT NULL CHECK (value >= 0),
    stocked bigint         NOT NULL,
    issued  bigint         NOT NULL DEFAULT 0,
    -- the pool versions that added the prize and that changed it last
    added   bigint         NOT NULL,
    changed bigint         NOT NULL,
    PRIMARY KEY (pool_id, id),
    UNIQUE (pool_id, added),
    CONSTRAINT issued_within_stock CHECK (issued BETWEEN 0 AND stocked)
) WITH (fillfactor = 60);

CREATE TABLE awards (
    pool_id  text COLLATE "C" NOT NULL,
    version  bigint      NOT NULL,
    draw_id  text COLLATE "C" NOT NULL,
    ordinal  smallint    NOT NULL,
    user_id  text        NOT NULL,
    prize_id text COLLATE "C" NOT NULL,
    unit     bigint      NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (pool_id, version),
    CONSTRAINT one_draw_per_name UNIQUE (pool_id, draw_id, ordinal)
);

CREATE TABLE moves (
    pool_id  text COLLATE "C" NOT NULL,
    version  bigint      NOT NULL,
    prize_id text COLLATE "C" NOT NULL,
    delta    bigint      NOT NULL,
    reason   text        NOT NULL,
    key_id   text COLLATE "C",
    stocked  bigint      NOT NULL,
    issued   bigint      NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (pool_id, version),
    UNIQUE (pool_id, key_id)
);

-- Lease rows of the lock table:, rows held by the lock row:, and the tokens of
-- locks that have no counter of their own.
CREATE TABLE locks (
    key_id     text COLLATE "C" PRIMARY KEY,
    owner      text   NOT NULL,
    token      bigint NOT NULL,
    expires_at bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE lock_rows (
    key_id text COLLATE "C" PRIMARY KEY,
    token  bigint NOT NULL
);

CREATE TABLE lock_tokens (
    key_id text COLLATE "C" PRIMARY KEY,
    token  bigint NOT NULL
) WITH (fillfactor = 50);
