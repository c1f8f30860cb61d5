-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- A binary that does not know the member claims could not read rules that have it.
UPDATE schema_admits SET binaries_from = 8;

-- claims_from is the version of the first rules that had claims, 0 for none: no earlier
-- award needs a claim.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'claims_from');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN claims_from BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

-- A row for each pool with steps, which whoever writes one locks. n is the number of the
-- last one, claimed counts the awards in that state. No award up to the version settled
-- can expire any more.
CREATE TABLE IF NOT EXISTS step_heads (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    n       BIGINT NOT NULL DEFAULT 0,
    claimed BIGINT NOT NULL DEFAULT 0,
    settled BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (pool_id),
    CONSTRAINT step_counts CHECK (n >= 0 AND claimed >= 0)
) ENGINE = InnoDB;

-- The steps of awards: n numbers those of a pool, seq those of an award. state is the
-- award's after the step, since the time at which it came to that. stands is that state
-- while no later step has made another, NULL else. ended is the award of a step that ends
-- it: it happens once. returned is the version of the move that returned the unit.
CREATE TABLE IF NOT EXISTS steps (
    pool_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    n         BIGINT NOT NULL,
    award     BIGINT NOT NULL,
    seq       BIGINT NOT NULL,
    what      VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state     VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    stands    VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin,
    ended     BIGINT,
    reference VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    reason    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    returned  BIGINT,
    actor     VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    since     DATETIME(6) NOT NULL,
    at        DATETIME(6) NOT NULL,
    PRIMARY KEY (pool_id, n),
    CONSTRAINT step_once UNIQUE (pool_id, award, seq),
    CONSTRAINT end_once UNIQUE (pool_id, ended),
    KEY steps_standing (pool_id, stands, award, since)
) ENGINE = InnoDB;
