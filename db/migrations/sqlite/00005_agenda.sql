-- +goose Up
-- A binary that knows no agenda would draw past an item that is due.
UPDATE schema_admits SET binaries_from = 5;

-- due_at is the time of the earliest open item, NULL for none.
ALTER TABLE pools ADD COLUMN due_at TEXT;

-- What is planned for an instant: a change of state, rules, or a stock move.
-- done is the version of the entry that the item became, 0 while it is open,
-- and below 0 the version of the change that removed it.
CREATE TABLE agenda (
    pool_id TEXT    NOT NULL,
    item    INTEGER NOT NULL CHECK (item > 0),
    at      TEXT    NOT NULL,
    what    TEXT    NOT NULL CHECK (what IN ('state', 'rules', 'stock')),
    body    TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    done    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (pool_id, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX agenda_due ON agenda (done, at);
CREATE INDEX agenda_of_pool ON agenda (pool_id, done, what, at, item);
