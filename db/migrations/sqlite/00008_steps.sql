-- +goose Up
-- A binary that does not know the member claims could not read rules that have it.
UPDATE schema_admits SET binaries_from = 8;

-- claims_from is the version of the first rules that had claims, 0 for none: no earlier
-- award needs a claim.
ALTER TABLE pools ADD COLUMN claims_from INTEGER NOT NULL DEFAULT 0;

-- A row for each pool with steps, which whoever writes one locks. n is the number of the
-- last one, claimed counts the awards in that state. No award up to the version settled
-- can expire any more.
CREATE TABLE step_heads (
    pool_id TEXT    NOT NULL PRIMARY KEY,
    n       INTEGER NOT NULL DEFAULT 0 CHECK (n >= 0),
    claimed INTEGER NOT NULL DEFAULT 0 CHECK (claimed >= 0),
    settled INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The steps of awards: n numbers those of a pool, seq those of an award. state is the
-- award's after the step, since the time at which it came to that. stands is that state
-- while no later step has made another, NULL else. ended is the award of a step that ends
-- it: it happens once. returned is the version of the move that returned the unit.
CREATE TABLE steps (
    pool_id   TEXT    NOT NULL,
    n         INTEGER NOT NULL,
    award     INTEGER NOT NULL,
    seq       INTEGER NOT NULL,
    what      TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    stands    TEXT,
    ended     INTEGER,
    reference TEXT    NOT NULL DEFAULT '',
    reason    TEXT    NOT NULL DEFAULT '',
    returned  INTEGER,
    actor     TEXT    NOT NULL,
    since     TEXT    NOT NULL,
    at        TEXT    NOT NULL,
    PRIMARY KEY (pool_id, n),
    CONSTRAINT step_once UNIQUE (pool_id, award, seq),
    CONSTRAINT end_once UNIQUE (pool_id, ended)
) STRICT, WITHOUT ROWID;
CREATE INDEX steps_standing ON steps (pool_id, stands, award, since);
