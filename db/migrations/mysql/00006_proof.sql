-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- A binary that knows no commitments would draw with numbers of its own.
UPDATE schema_admits SET binaries_from = 6;

-- committed is the version of the change that committed the pool to its
-- numbers, 0 for a pool whose numbers are secret.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'committed');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN committed BIGINT NOT NULL DEFAULT 0, LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

-- A pool with a beacon: opened is the version of the change that opened it with
-- the round in force, 0 for none. opening_round is the one that it is announced to
-- open with, 0 for none, and opening_at when that comes.
SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'opened');
SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN opened BIGINT NOT NULL DEFAULT 0, ADD COLUMN opening_round BIGINT NOT NULL DEFAULT 0, ADD COLUMN opening_at DATETIME(6), LOCK = NONE', 'DO 0');
PREPARE change_pools FROM @change;
EXECUTE change_pools;
DEALLOCATE PREPARE change_pools;

-- What a pool is committed to: the signed note, the public key, and its secrets,
-- each sealed with age: the last seed of the chain, the secret of the log's tags,
-- and the key that signs. revealed is the published seed, '' before that.
CREATE TABLE IF NOT EXISTS commitments (
    pool_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    version  BIGINT NOT NULL,
    note     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    public   VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    seed     BLOB NOT NULL,
    salts    BLOB NOT NULL,
    signer   BLOB NOT NULL,
    revealed VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    PRIMARY KEY (pool_id)
) ENGINE = InnoDB;

-- The checkpoints that were signed, one for each size of a pool's log.
CREATE TABLE IF NOT EXISTS checkpoints (
    pool_id VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    size    BIGINT NOT NULL,
    note    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    PRIMARY KEY (pool_id, size)
) ENGINE = InnoDB;
