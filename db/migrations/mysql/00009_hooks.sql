-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- Binaries that know no hooks continue: they send nothing, and a later one sends it.
UPDATE schema_admits SET binaries_from = 8;

-- Where events are sent. types, pools and prizes are JSON lists, '' for the default.
-- secret and former are sealed under key_id and former_key; former signs until
-- former_until. revision counts the changes.
CREATE TABLE IF NOT EXISTS hooks (
    id           VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    url          VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    types        TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    pools        TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    prizes       TEXT CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    is_off       BOOLEAN NOT NULL DEFAULT FALSE,
    why          VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    revision     BIGINT NOT NULL DEFAULT 1,
    key_id       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    secret       VARBINARY(255) NOT NULL,
    former_key   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    former       VARBINARY(255) NOT NULL DEFAULT '',
    former_until DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00',
    created_at   DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

-- How far a hook has come in a pool: version and step are the place up to which all is
-- received, and entry is the id of the last entry. message is the id of the message under
-- way, '' for none, which goes up to to_version and to_step. A pool without a row is at
-- its start.
CREATE TABLE IF NOT EXISTS hook_cursors (
    hook_id     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    pool_id     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version     BIGINT NOT NULL,
    step        BIGINT NOT NULL DEFAULT 0,
    entry       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    message     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    to_version  BIGINT NOT NULL DEFAULT 0,
    to_step     BIGINT NOT NULL DEFAULT 0,
    to_entry    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    attempts    BIGINT NOT NULL DEFAULT 0,
    next_at     DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00',
    forked      BOOLEAN NOT NULL DEFAULT FALSE,
    last_at     DATETIME(6) NOT NULL DEFAULT '1970-01-01 00:00:00',
    last_status BIGINT NOT NULL DEFAULT 0,
    last_error  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    last_ms     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (hook_id, pool_id),
    CONSTRAINT hook_place CHECK (version >= 0 AND step >= 0)
) ENGINE = InnoDB;
