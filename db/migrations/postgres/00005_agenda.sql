-- +goose Up
SET LOCAL lock_timeout = '1s';

-- A binary that knows no agenda would draw past an item that is due.
UPDATE schema_admits SET binaries_from = 5;

-- due_at is the time of the earliest open item, NULL for none. No index holds
-- it, so that the rows of pools stay HOT.
ALTER TABLE pools ADD COLUMN due_at timestamptz;

-- What is planned for an instant: a change of state, rules, or a stock move.
-- done is the version of the entry that the item became, 0 while it is open,
-- and below 0 the version of the change that removed it.
CREATE TABLE agenda (
    pool_id text COLLATE "C" NOT NULL,
    item    bigint      NOT NULL CHECK (item > 0),
    at      timestamptz NOT NULL,
    what    text        NOT NULL CHECK (what IN ('state', 'rules', 'stock')),
    body    text        NOT NULL,
    actor   text        NOT NULL,
    done    bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (pool_id, item)
);
CREATE INDEX agenda_due ON agenda (done, at);
CREATE INDEX agenda_of_pool ON agenda (pool_id, done, what, at, item);
