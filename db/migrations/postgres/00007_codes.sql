-- +goose Up
SET LOCAL lock_timeout = '1s';

-- A binary that knows no codes would stock units that have none, and answer draws
-- without them.
UPDATE schema_admits SET binaries_from = 7;

-- codes says that each unit of the prize has a code.
ALTER TABLE prizes ADD COLUMN codes boolean NOT NULL DEFAULT false;

-- The seal keys that rows are sealed under. proof is a known text, sealed: a key of the
-- same id that does not open it is another key. Whoever writes codes locks all rows.
CREATE TABLE seal_keys (
    key_id text COLLATE "C" PRIMARY KEY,
    proof  bytea NOT NULL
);

-- A row for each prize with codes, locked after those of pool and prize. places counts
-- its codes, at places from 1; sealed_under names the keys of their rows.
CREATE TABLE code_heads (
    pool_id  text COLLATE "C" NOT NULL,
    prize_id text COLLATE "C" NOT NULL,
    places   bigint NOT NULL DEFAULT 0 CHECK (places >= 0),
    sealed_under text NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, prize_id)
);

-- The codes, sealed: unit k of a prize has the one at place k. digest finds a code
-- again, in the whole database.
CREATE TABLE codes (
    pool_id  text COLLATE "C" NOT NULL,
    prize_id text COLLATE "C" NOT NULL,
    place    bigint NOT NULL,
    digest   bytea  NOT NULL,
    key_id   text COLLATE "C" NOT NULL,
    sealed   bytea  NOT NULL,
    PRIMARY KEY (pool_id, prize_id, place),
    CONSTRAINT code_once UNIQUE (digest)
);

-- How far an import with a key has come. file is a digest of what was asked for, digest
-- the sealed state of the list's SHA-256. version is 0 until the import is complete, and
-- result what it was answered with.
CREATE TABLE code_imports (
    pool_id text COLLATE "C" NOT NULL,
    key_id  text COLLATE "C" NOT NULL,
    file    text COLLATE "C" NOT NULL,
    read_lines bigint NOT NULL,
    added   bigint NOT NULL,
    skipped bigint NOT NULL,
    digest  bytea  NOT NULL,
    version bigint NOT NULL DEFAULT 0,
    result  text   NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, key_id)
);
