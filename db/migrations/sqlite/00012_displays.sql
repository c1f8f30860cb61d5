-- +goose Up
UPDATE schema_admits SET binaries_from = 11;

-- text is for players; fair says that the pool has a public page of fairness.
ALTER TABLE pool_display ADD COLUMN text TEXT NOT NULL DEFAULT '';
ALTER TABLE pool_display ADD COLUMN fair INTEGER NOT NULL DEFAULT 0;

-- What is only shown of a prize, '' for nothing: it decides nothing, and is in no log.
CREATE TABLE prize_display (
    pool_id  TEXT NOT NULL,
    prize_id TEXT NOT NULL,
    name     TEXT NOT NULL,
    text     TEXT NOT NULL,
    picture  TEXT NOT NULL,
    link     TEXT NOT NULL,
    PRIMARY KEY (pool_id, prize_id)
) STRICT, WITHOUT ROWID;
