-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

UPDATE schema_admits SET binaries_from = 11;

-- text is for players; fair says that the pool has a public page of fairness.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pool_display' AND column_name = 'text');
SET @change = IF(@missing, 'ALTER TABLE pool_display ADD COLUMN text VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '''', LOCK = NONE', 'DO 0');
PREPARE change_display FROM @change;
EXECUTE change_display;
DEALLOCATE PREPARE change_display;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pool_display' AND column_name = 'fair');
SET @change = IF(@missing, 'ALTER TABLE pool_display ADD COLUMN fair BOOLEAN NOT NULL DEFAULT FALSE, LOCK = NONE', 'DO 0');
PREPARE change_display FROM @change;
EXECUTE change_display;
DEALLOCATE PREPARE change_display;

-- What is only shown of a prize, '' for nothing: it decides nothing, and is in no log.
CREATE TABLE IF NOT EXISTS prize_display (
    pool_id  VARCHAR(64)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    prize_id VARCHAR(64)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name     VARCHAR(200)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    text     VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    picture  VARCHAR(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    link     VARCHAR(2000) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (pool_id, prize_id)
) ENGINE = InnoDB;
