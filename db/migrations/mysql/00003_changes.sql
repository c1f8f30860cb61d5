-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- Binaries that know only schema 1 continue. What they change in a pool makes no
-- version and no row of changes.
UPDATE schema_admits SET binaries_from = 1;

-- What operators did to a pool, beside its awards and moves: the three share
-- the pool's versions. body is JSON.
CREATE TABLE IF NOT EXISTS changes (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version BIGINT NOT NULL,
    what    VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body    MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    actor   VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    at      DATETIME(6) NOT NULL,
    PRIMARY KEY (pool_id, version)
) ENGINE = InnoDB;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'moves' AND column_name = 'actor');
SET @change = IF(@missing, 'ALTER TABLE moves ADD COLUMN actor VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '''', LOCK = NONE', 'DO 0');
PREPARE change_moves FROM @change;
EXECUTE change_moves;
DEALLOCATE PREPARE change_moves;

-- revision is the version of the last change, at the time of the last entry
-- that a binary of this schema made.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'revision');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN revision BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'at');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN at DATETIME(6) NOT NULL DEFAULT ''1970-01-01 00:00:00'', LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'archived');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN archived BOOLEAN NOT NULL DEFAULT FALSE, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;
