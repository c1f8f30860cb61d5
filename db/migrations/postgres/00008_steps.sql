-- +goose Up
SET LOCAL lock_timeout = '1s';

-- A binary that does not know the member claims could not read rules that have it.
UPDATE schema_admits SET binaries_from = 8;

-- claims_from is the version of the first rules that had claims, 0 for none: no earlier
-- award needs a claim.
ALTER TABLE pools ADD COLUMN claims_from bigint NOT NULL DEFAULT 0;

-- A row for each pool with steps, which whoever writes one locks. n is the number of the
-- last one, claimed counts the awards in that state. No award up to the version settled
-- can expire any more.
CREATE TABLE step_heads (
    pool_id text COLLATE "C" PRIMARY KEY,
    n       bigint NOT NULL DEFAULT 0 CHECK (n >= 0),
    claimed bigint NOT NULL DEFAULT 0 CHECK (claimed >= 0),
    settled bigint NOT NULL DEFAULT 0
);

-- The steps of awards: n numbers those of a pool, seq those of an award. state is the
-- award's after the step, since the time at which it came to that. stands is that state
-- while no later step has made another, NULL else. ended is the award of a step that ends
-- it: it happens once. returned is the version of the move that returned the unit.
CREATE TABLE steps (
    pool_id   text COLLATE "C" NOT NULL,
    n         bigint NOT NULL,
    award     bigint NOT NULL,
    seq       bigint NOT NULL,
    what      text COLLATE "C" NOT NULL,
    state     text COLLATE "C" NOT NULL,
    stands    text COLLATE "C",
    ended     bigint,
    reference text NOT NULL DEFAULT '',
    reason    text NOT NULL DEFAULT '',
    returned  bigint,
    actor     text NOT NULL,
    since     timestamptz NOT NULL,
    at        timestamptz NOT NULL,
    PRIMARY KEY (pool_id, n),
    CONSTRAINT step_once UNIQUE (pool_id, award, seq),
    CONSTRAINT end_once UNIQUE (pool_id, ended)
);
CREATE INDEX steps_standing ON steps (pool_id, stands, award, since);
