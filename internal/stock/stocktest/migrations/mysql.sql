-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;
UPDATE schema_admits SET binaries_from = ADMITS;

CREATE TABLE IF NOT EXISTS seasons (
    id   BIGINT NOT NULL PRIMARY KEY,
    name VARCHAR(64) NOT NULL
) ENGINE = InnoDB;
INSERT INTO seasons (id, name) VALUES (1, 'spring') ON DUPLICATE KEY UPDATE name = 'spring';

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'season');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN season BIGINT, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'prizes' AND column_name = 'note');
SET @change = IF(@missing, 'ALTER TABLE prizes ADD COLUMN note VARCHAR(64) NOT NULL DEFAULT '''', LOCK = NONE', 'DO 0');
PREPARE change_prizes FROM @change;
EXECUTE change_prizes;
DEALLOCATE PREPARE change_prizes;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = 'awards' AND index_name = 'award_user');
SET @change = IF(@missing, 'ALTER TABLE awards ADD INDEX award_user (user_id), LOCK = NONE', 'DO 0');
PREPARE change_awards FROM @change;
EXECUTE change_awards;
DEALLOCATE PREPARE change_awards;
