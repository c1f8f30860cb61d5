-- +goose Up
SET LOCAL lock_timeout = '1s';

UPDATE schema_admits SET binaries_from = 11;

-- text is for players; fair says that the pool has a public page of fairness.
ALTER TABLE pool_display
    ADD COLUMN text text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN fair boolean NOT NULL DEFAULT false;

-- What is only shown of a prize, '' for nothing: it decides nothing, and is in no log.
CREATE TABLE prize_display (
    pool_id  text COLLATE "C" NOT NULL,
    prize_id text COLLATE "C" NOT NULL,
    name     text COLLATE "C" NOT NULL,
    text     text COLLATE "C" NOT NULL,
    picture  text COLLATE "C" NOT NULL,
    link     text COLLATE "C" NOT NULL,
    PRIMARY KEY (pool_id, prize_id)
);
