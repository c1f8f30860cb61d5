-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- A binary that knows no agenda would draw past an item that is due.
UPDATE schema_admits SET binaries_from = 5;

-- due_at is the time of the earliest open item, NULL for none.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'due_at');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN due_at DATETIME(6), LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

-- What is planned for an instant: a change of state, rules, or a stock move.
-- done is the version of the entry that the item became, 0 while it is open,
-- and below 0 the version of the change that removed it.
CREATE TABLE IF NOT EXISTS agenda (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    item    BIGINT NOT NULL,
    at      DATETIME(6) NOT NULL,
    what    VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    body    MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    actor   VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    done    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (pool_id, item),
    KEY agenda_due (done, at),
    KEY agenda_of_pool (pool_id, done, what, at, item),
    CONSTRAINT agenda_item CHECK (item > 0),
    CONSTRAINT agenda_what CHECK (what IN ('state', 'rules', 'stock'))
) ENGINE = InnoDB;
