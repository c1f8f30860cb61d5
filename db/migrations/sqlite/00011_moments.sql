-- +goose Up
-- A binary that knows no moments would draw past one that is due, and give none that is
-- pending.
UPDATE schema_admits SET binaries_from = 11;

-- taken belongs to a moment that is done: the version of the award that took it, 0 while
-- it is pending. SQLite changes no CHECK: the rows move to a new table.
CREATE TABLE agenda_new (
    pool_id TEXT    NOT NULL,
    item    INTEGER NOT NULL CHECK (item > 0),
    at      TEXT    NOT NULL,
    what    TEXT    NOT NULL CHECK (what IN ('state', 'rules', 'stock', 'moment')),
    body    TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    done    INTEGER NOT NULL DEFAULT 0,
    taken   INTEGER,
    PRIMARY KEY (pool_id, item)
) STRICT, WITHOUT ROWID;
INSERT INTO agenda_new (pool_id, item, at, what, body, actor, done) SELECT pool_id, item, at, what, body, actor, done FROM agenda;
DROP TABLE agenda;
ALTER TABLE agenda_new RENAME TO agenda;
CREATE INDEX agenda_due ON agenda (done, at);
CREATE INDEX agenda_of_pool ON agenda (pool_id, done, what, at, item);

CREATE TABLE redirects_new (
    pool_id TEXT    NOT NULL,
    version INTEGER NOT NULL,
    drawn   TEXT,
    why     TEXT    NOT NULL CHECK (why IN ('sold-out', 'limit', 'budget', 'guarantee', 'moment')),
    PRIMARY KEY (pool_id, version)
) STRICT, WITHOUT ROWID;
INSERT INTO redirects_new (pool_id, version, drawn, why) SELECT pool_id, version, drawn, why FROM redirects;
DROP TABLE redirects;
ALTER TABLE redirects_new RENAME TO redirects;

-- No moment that became an entry before moments_from is pending, and none became one
-- after moments_to; both are 0 before the first.
ALTER TABLE pools ADD COLUMN moments_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN moments_to INTEGER NOT NULL DEFAULT 0;

-- The items that nobody sees before they are done: those from first_item to last_item,
-- which were planned together, or only the moments among them. version is that of the
-- change which planned them, sha256 their seal. begins_at and ends_at are the span that
-- they were spread over, NULL for those that were not spread.
CREATE TABLE hidden_items (
    pool_id    TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    first_item INTEGER NOT NULL CHECK (first_item > 0),
    last_item  INTEGER NOT NULL CHECK (last_item >= first_item),
    moments    INTEGER NOT NULL,
    sha256     TEXT    NOT NULL,
    begins_at  TEXT,
    ends_at    TEXT,
    PRIMARY KEY (pool_id, version)
) STRICT, WITHOUT ROWID;
