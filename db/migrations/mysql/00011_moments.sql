-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- A binary that knows no moments would draw past one that is due, and give none that is
-- pending.
UPDATE schema_admits SET binaries_from = 11;

-- taken belongs to a moment that is done: the version of the award that took it, 0 while
-- it is pending.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'agenda' AND column_name = 'taken');
SET @change = IF(@missing, 'ALTER TABLE agenda ADD COLUMN taken BIGINT, LOCK = NONE', 'DO 0');
PREPARE change_agenda FROM @change;
EXECUTE change_agenda;
DEALLOCATE PREPARE change_agenda;

-- The lists of kinds and reasons grow. MySQL copies a table, and admits no writes
-- meanwhile, to add a CHECK, so none follows the former one: the service writes only
-- values that it knows. TiDB lists no CHECK in table_constraints.
SET @there = (SELECT COUNT(*) > 0 FROM information_schema.check_constraints
    WHERE constraint_schema = DATABASE() AND constraint_name = 'agenda_what');
SET @change = IF(@there, 'ALTER TABLE agenda DROP CONSTRAINT agenda_what, LOCK = NONE', 'DO 0');
PREPARE change_agenda FROM @change;
EXECUTE change_agenda;
DEALLOCATE PREPARE change_agenda;

SET @there = (SELECT COUNT(*) > 0 FROM information_schema.check_constraints
    WHERE constraint_schema = DATABASE() AND constraint_name = 'redirect_why');
SET @change = IF(@there, 'ALTER TABLE redirects DROP CONSTRAINT redirect_why, LOCK = NONE', 'DO 0');
PREPARE change_redirects FROM @change;
EXECUTE change_redirects;
DEALLOCATE PREPARE change_redirects;

-- No moment that became an entry before moments_from is pending, and none became one
-- after moments_to; both are 0 before the first.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'moments_from');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN moments_from BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'moments_to');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN moments_to BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

-- The items that nobody sees before they are done: those from first_item to last_item,
-- which were planned together, or only the moments among them. version is that of the
-- change which planned them, sha256 their seal. begins_at and ends_at are the span that
-- they were spread over, NULL for those that were not spread.
CREATE TABLE IF NOT EXISTS hidden_items (
    pool_id    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version    BIGINT  NOT NULL,
    first_item BIGINT  NOT NULL,
    last_item  BIGINT  NOT NULL,
    moments    BOOLEAN NOT NULL,
    sha256     CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    begins_at  DATETIME(6),
    ends_at    DATETIME(6),
    PRIMARY KEY (pool_id, version),
    CONSTRAINT hidden_first CHECK (first_item > 0),
    CONSTRAINT hidden_last CHECK (last_item >= first_item)
) ENGINE = InnoDB;
