-- +goose Up
-- A binary that does not know rules would ignore them.
UPDATE schema_admits SET binaries_from = 4;

ALTER TABLE prizes ADD COLUMN kind TEXT NOT NULL DEFAULT 'prize' CHECK (kind IN ('prize', 'blank'));

-- rules is the version of the change whose rules are in force, 0 for none.
-- spent is the value, in cents, that was issued under rules with a budget in
-- the window that began at spent_from.
ALTER TABLE pools ADD COLUMN rules INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pools ADD COLUMN spent_from TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000000Z';

-- A row for each unit of a user that counts, in pools whose rules count. seq
-- numbers a user's turns of one kind without gaps; run is his misses in a row.
CREATE TABLE turns (
    pool_id TEXT    NOT NULL,
    user_id TEXT    NOT NULL,
    what    TEXT    NOT NULL,
    seq     INTEGER NOT NULL CHECK (seq > 0),
    version INTEGER NOT NULL,
    run     INTEGER NOT NULL CHECK (run >= 0),
    at      TEXT    NOT NULL,
    PRIMARY KEY (pool_id, user_id, what, seq)
) STRICT, WITHOUT ROWID;

-- A row for each award that the rules gave in place of what was drawn; drawn is
-- NULL when that was nothing.
CREATE TABLE redirects (
    pool_id TEXT    NOT NULL,
    version INTEGER NOT NULL,
    drawn   TEXT,
    why     TEXT    NOT NULL CHECK (why IN ('sold-out', 'limit', 'budget', 'guarantee')),
    PRIMARY KEY (pool_id, version)
) STRICT, WITHOUT ROWID;
