-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- A binary that knows no codes would stock units that have none, and answer draws
-- without them.
UPDATE schema_admits SET binaries_from = 7;

-- codes says that each unit of the prize has a code.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'prizes' AND column_name = 'codes');
SET @change = IF(@missing, 'ALTER TABLE prizes ADD COLUMN codes BOOLEAN NOT NULL DEFAULT FALSE, LOCK = NONE', 'DO 0');
PREPARE change_prizes FROM @change;
EXECUTE change_prizes;
DEALLOCATE PREPARE change_prizes;

-- The seal keys that rows are sealed under. proof is a known text, sealed: a key of the
-- same id that does not open it is another key. Whoever writes codes locks all rows.
CREATE TABLE IF NOT EXISTS seal_keys (
    key_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    proof  VARBINARY(255) NOT NULL,
    PRIMARY KEY (key_id)
) ENGINE = InnoDB;

-- A row for each prize with codes, locked after those of pool and prize. places counts
-- its codes, at places from 1; sealed_under names the keys of their rows.
CREATE TABLE IF NOT EXISTS code_heads (
    pool_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    prize_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    places   BIGINT NOT NULL DEFAULT 0,
    sealed_under VARCHAR(2048) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id, prize_id),
    CONSTRAINT code_places CHECK (places >= 0)
) ENGINE = InnoDB;

-- The codes, sealed: unit k of a prize has the one at place k. digest finds a code
-- again, in the whole database.
CREATE TABLE IF NOT EXISTS codes (
    pool_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    prize_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    place    BIGINT NOT NULL,
    digest   BINARY(16) NOT NULL,
    key_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    sealed   VARBINARY(512) NOT NULL,
    PRIMARY KEY (pool_id, prize_id, place),
    CONSTRAINT code_once UNIQUE (digest)
) ENGINE = InnoDB;

-- How far an import with a key has come. file is a digest of what was asked for, digest
-- the sealed state of the list's SHA-256. version is 0 until the import is complete, and
-- result what it was answered with.
CREATE TABLE IF NOT EXISTS code_imports (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    key_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    file    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    read_lines BIGINT NOT NULL,
    added   BIGINT NOT NULL,
    skipped BIGINT NOT NULL,
    digest  VARBINARY(512) NOT NULL,
    version BIGINT NOT NULL DEFAULT 0,
    result  TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (pool_id, key_id)
) ENGINE = InnoDB;
