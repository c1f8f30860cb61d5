-- +goose Up
-- A binary that knows no commitments would draw with numbers of its own.
UPDATE schema_admits SET binaries_from = 6;

-- committed is the version of the change that committed the pool to its
-- numbers, 0 for a pool whose numbers are secret.
ALTER TABLE pools ADD COLUMN committed INTEGER NOT NULL DEFAULT 0;

-- A pool with a beacon: opened is the version of the change that opened it with
-- the round in force, 0 for none. opening_round is the one that it is announced to
-- open with, 0 for none, and opening_at when that comes.
ALTER TABLE pools ADD COLUMN opened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN opening_round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN opening_at TEXT;

-- What a pool is committed to: the signed note, the public key, and its secrets,
-- each sealed with age: the last seed of the chain, the secret of the log's tags,
-- and the key that signs. revealed is the published seed, '' before that.
CREATE TABLE commitments (
    pool_id  TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,
    note     TEXT    NOT NULL,
    public   TEXT    NOT NULL,
    seed     BLOB    NOT NULL,
    salts    BLOB    NOT NULL,
    signer   BLOB    NOT NULL,
    revealed TEXT    NOT NULL DEFAULT ''
) STRICT;

-- The checkpoints that were signed, one for each size of a pool's log.
CREATE TABLE checkpoints (
    pool_id TEXT    NOT NULL,
    size    INTEGER NOT NULL,
    note    TEXT    NOT NULL,
    PRIMARY KEY (pool_id, size)
) STRICT, WITHOUT ROWID;
