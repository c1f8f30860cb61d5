-- +goose Up
-- A binary that knows no codes would stock units that have none, and answer draws
-- without them.
UPDATE schema_admits SET binaries_from = 7;

-- codes says that each unit of the prize has a code.
ALTER TABLE prizes ADD COLUMN codes INTEGER NOT NULL DEFAULT 0 CHECK (codes IN (0, 1));

-- The seal keys that rows are sealed under. proof is a known text, sealed: a key of the
-- same id that does not open it is another key. Whoever writes codes locks all rows.
CREATE TABLE seal_keys (
    key_id TEXT PRIMARY KEY,
    proof  BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A row for each prize with codes, locked after those of pool and prize. places counts
-- its codes, at places from 1; sealed_under names the keys of their rows.
CREATE TABLE code_heads (
    pool_id  TEXT    NOT NULL,
    prize_id TEXT    NOT NULL,
    places   INTEGER NOT NULL DEFAULT 0 CHECK (places >= 0),
    sealed_under TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, prize_id)
) STRICT, WITHOUT ROWID;

-- The codes, sealed: unit k of a prize has the one at place k. digest finds a code
-- again, in the whole database.
CREATE TABLE codes (
    pool_id  TEXT    NOT NULL,
    prize_id TEXT    NOT NULL,
    place    INTEGER NOT NULL,
    digest   BLOB    NOT NULL,
    key_id   TEXT    NOT NULL,
    sealed   BLOB    NOT NULL,
    PRIMARY KEY (pool_id, prize_id, place),
    CONSTRAINT code_once UNIQUE (digest)
) STRICT, WITHOUT ROWID;

-- How far an import with a key has come. file is a digest of what was asked for, digest
-- the sealed state of the list's SHA-256. version is 0 until the import is complete, and
-- result what it was answered with.
CREATE TABLE code_imports (
    pool_id TEXT    NOT NULL,
    key_id  TEXT    NOT NULL,
    file    TEXT    NOT NULL,
    read_lines INTEGER NOT NULL,
    added   INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    digest  BLOB    NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    result  TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, key_id)
) STRICT, WITHOUT ROWID;
