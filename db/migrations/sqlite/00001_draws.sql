-- +goose Up
-- Which binaries may work on this schema: those that know this version of it,
-- or a later one. Each migration states it; the table is the first that is made.
CREATE TABLE schema_admits (
    one           INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    binaries_from INTEGER NOT NULL
) STRICT;

INSERT INTO schema_admits (one, binaries_from) VALUES (1, 1);

CREATE TABLE pools (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('open', 'paused', 'closed')),
    mode       TEXT,
    version    INTEGER NOT NULL CHECK (version >= 0),
    -- 64 random bits written with every version: (version, mark) names one
    -- history. trail holds the marks before it, 8 bytes each, newest first.
    mark       INTEGER NOT NULL DEFAULT 0,
    trail      BLOB    NOT NULL DEFAULT x'',
    -- the highest token that a lock of external mode wrote with, and which lock
    fence      INTEGER NOT NULL DEFAULT 0,
    fenced_by  TEXT    NOT NULL DEFAULT '',
    created_at TEXT    NOT NULL
) STRICT;

-- value is text because SQLite has no exact decimal.
CREATE TABLE prizes (
    pool_id TEXT    NOT NULL REFERENCES pools (id),
    id      TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    value   TEXT    NOT NULL,
    stocked INTEGER NOT NULL,
    issued  INTEGER NOT NULL DEFAULT 0,
    -- the pool versions that added the prize and that changed it last
    added   INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (pool_id, id),
    UNIQUE (pool_id, added),
    CONSTRAINT issued_within_stock CHECK (issued BETWEEN 0 AND stocked)
) STRICT, WITHOUT ROWID;

CREATE TABLE awards (
    pool_id  TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    draw_id  TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL,
    user_id  TEXT    NOT NULL,
    prize_id TEXT    NOT NULL,
    unit     INTEGER NOT NULL,
    at       TEXT    NOT NULL,
    PRIMARY KEY (pool_id, version),
    CONSTRAINT one_draw_per_name UNIQUE (pool_id, draw_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE moves (
    pool_id  TEXT    NOT NULL,
    version  INTEGER NOT NULL,
    prize_id TEXT    NOT NULL,
    delta    INTEGER NOT NULL,
    reason   TEXT    NOT NULL,
    key_id   TEXT,
    stocked  INTEGER NOT NULL,
    issued   INTEGER NOT NULL,
    at       TEXT    NOT NULL,
    PRIMARY KEY (pool_id, version),
    UNIQUE (pool_id, key_id)
) STRICT, WITHOUT ROWID;

-- Lease rows of the lock table:, rows held by the lock row:, and the tokens of
-- locks that have no counter of their own.
CREATE TABLE locks (
    key_id     TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    token      INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;

CREATE TABLE lock_rows (
    key_id TEXT    NOT NULL PRIMARY KEY,
    token  INTEGER NOT NULL
) STRICT;

CREATE TABLE lock_tokens (
    key_id TEXT    NOT NULL PRIMARY KEY,
    token  INTEGER NOT NULL
) STRICT;
