-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- Which binaries may work on this schema: those that know this version of it,
-- or a later one. Each migration states it; the table is the first that is made.
CREATE TABLE IF NOT EXISTS schema_admits (
    one           TINYINT NOT NULL PRIMARY KEY,
    binaries_from BIGINT NOT NULL,
    CONSTRAINT one_row CHECK (one = 1)
) ENGINE = InnoDB;

INSERT INTO schema_admits (one, binaries_from) VALUES (1, 1) ON DUPLICATE KEY UPDATE binaries_from = 1;

-- Ids compare byte by byte. A draw's name is binary because text collations
-- ignore trailing blanks.
CREATE TABLE IF NOT EXISTS pools (
    id         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    name       VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    state      VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    mode       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
    version    BIGINT NOT NULL,
    -- 64 random bits written with every version: (version, mark) names one
    -- history. trail holds the marks before it, 8 bytes each, newest first.
    mark       BIGINT NOT NULL DEFAULT 0,
    trail      VARBINARY(64) NOT NULL DEFAULT '',
    -- the highest token that a lock of external mode wrote with, and which lock
    fence      BIGINT NOT NULL DEFAULT 0,
    fenced_by  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    created_at DATETIME(6) NOT NULL,
    CONSTRAINT pool_state CHECK (state IN ('open', 'paused', 'closed')),
    CONSTRAINT pool_version CHECK (version >= 0)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS prizes (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    id      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    name    VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    value   DECIMAL(14, 2) NOT NULL,
    stocked BIGINT NOT NULL,
    issued  BIGINT NOT NULL DEFAULT 0,
    -- the pool versions that added the prize and that changed it last
    added   BIGINT NOT NULL,
    changed BIGINT NOT NULL,
    PRIMARY KEY (pool_id, id),
    UNIQUE KEY prize_added (pool_id, added),
    CONSTRAINT prize_pool FOREIGN KEY (pool_id) REFERENCES pools (id),
    CONSTRAINT prize_value CHECK (value >= 0),
    CONSTRAINT issued_within_stock CHECK (issued BETWEEN 0 AND stocked)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS awards (
    pool_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version  BIGINT NOT NULL,
    draw_id  VARBINARY(128) NOT NULL,
    ordinal  SMALLINT NOT NULL,
    user_id  VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    prize_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    unit     BIGINT NOT NULL,
    at       DATETIME(6) NOT NULL,
    PRIMARY KEY (pool_id, version),
    UNIQUE KEY one_draw_per_name (pool_id, draw_id, ordinal)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS moves (
    pool_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version  BIGINT NOT NULL,
    prize_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    delta    BIGINT NOT NULL,
    reason   VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    key_id   VARBINARY(128),
    stocked  BIGINT NOT NULL,
    issued   BIGINT NOT NULL,
    at       DATETIME(6) NOT NULL,
    PRIMARY KEY (pool_id, version),
    UNIQUE KEY one_move_per_key (pool_id, key_id)
) ENGINE = InnoDB;

-- Lease rows of the lock table:, rows held by the lock row:, and the tokens of
-- locks that have no counter of their own.
CREATE TABLE IF NOT EXISTS locks (
    key_id     VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    owner      VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token      BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS lock_rows (
    key_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    token  BIGINT NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS lock_tokens (
    key_id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    token  BIGINT NOT NULL
) ENGINE = InnoDB;
