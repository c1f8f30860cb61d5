-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- A binary that does not know rules would ignore them.
UPDATE schema_admits SET binaries_from = 4;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'prizes' AND column_name = 'kind');
SET @change = IF(@missing, 'ALTER TABLE prizes ADD COLUMN kind VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''prize'', LOCK = NONE', 'DO 0');
PREPARE change_prizes FROM @change;
EXECUTE change_prizes;
DEALLOCATE PREPARE change_prizes;

-- rules is the version of the change whose rules are in force, 0 for none.
-- spent is the value, in cents, that was issued under rules with a budget in
-- the window that began at spent_from.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'rules');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN rules BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'spent');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN spent BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'spent_from');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN spent_from DATETIME(6) NOT NULL DEFAULT ''1970-01-01 00:00:00'', LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

-- A row for each unit of a user that counts, in pools whose rules count. seq
-- numbers a user's turns of one kind without gaps; run is his misses in a row.
CREATE TABLE IF NOT EXISTS turns (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    user_id VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    what    VARCHAR(70) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    seq     BIGINT NOT NULL,
    version BIGINT NOT NULL,
    run     BIGINT NOT NULL,
    at      DATETIME(6) NOT NULL,
    PRIMARY KEY (pool_id, user_id, what, seq),
    CONSTRAINT turn_seq CHECK (seq > 0),
    CONSTRAINT turn_run CHECK (run >= 0)
) ENGINE = InnoDB;

-- A row for each award that the rules gave in place of what was drawn; drawn is
-- NULL when that was nothing.
CREATE TABLE IF NOT EXISTS redirects (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version BIGINT NOT NULL,
    drawn   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
    why     VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (pool_id, version),
    CONSTRAINT redirect_why CHECK (why IN ('sold-out', 'limit', 'budget', 'guarantee'))
) ENGINE = InnoDB;
