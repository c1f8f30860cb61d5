-- +goose NO TRANSACTION
-- +goose Up
SET SESSION lock_wait_timeout = 1;

-- Binaries that know only schema 1 continue: they know no jobs.
UPDATE schema_admits SET binaries_from = 1;

-- One row for each job. Times are of the database's clock, and durations in
-- milliseconds. token numbers the runs.
CREATE TABLE IF NOT EXISTS jobs (
    name         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    enabled      BOOLEAN NOT NULL,
    schedule     VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    per          VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    host         VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    stale_after  BIGINT NOT NULL,
    status       VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    holder       VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    token        BIGINT NOT NULL DEFAULT 0,
    started_at   DATETIME(6),
    heard_at     DATETIME(6),
    due_at       DATETIME(6) NOT NULL,
    wanted_by    VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    last_success DATETIME(6),
    last_day     VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    last_error   VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    report       MEDIUMBLOB NOT NULL,
    changed_by   VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    changed_at   DATETIME(6) NOT NULL,
    CONSTRAINT job_per CHECK (per IN ('run', 'day')),
    CONSTRAINT job_stale_after CHECK (stale_after > 0),
    CONSTRAINT job_status CHECK (status IN ('idle', 'running'))
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS job_runs (
    job         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token       BIGINT NOT NULL,
    host        VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    started_at  DATETIME(6) NOT NULL,
    finished_at DATETIME(6),
    result      VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    error       VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    asked_by    VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
    PRIMARY KEY (job, token),
    CONSTRAINT job_run_job FOREIGN KEY (job) REFERENCES jobs (name),
    CONSTRAINT job_run_result CHECK (result IN ('', 'ok', 'failed', 'lost'))
) ENGINE = InnoDB;

-- What the catalogue's source said last, in one row.
CREATE TABLE IF NOT EXISTS catalogue (
    one           TINYINT NOT NULL PRIMARY KEY,
    source        VARCHAR(2048) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    body          MEDIUMBLOB NOT NULL,
    digest        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    etag          VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    last_modified VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    fetched_at    DATETIME(6) NOT NULL,
    checked_at    DATETIME(6) NOT NULL,
    CONSTRAINT one_catalogue CHECK (one = 1)
) ENGINE = InnoDB;

-- A line for each pool, local day and prize. to_version is the last version of
-- the pool that the day's lines count.
CREATE TABLE IF NOT EXISTS statements (
    pool_id    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    day        VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    prize_id   VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    issued     BIGINT NOT NULL,
    remaining  BIGINT NOT NULL,
    value      DECIMAL(30, 2) NOT NULL,
    to_version BIGINT NOT NULL,
    PRIMARY KEY (pool_id, day, prize_id),
    CONSTRAINT statement_pool FOREIGN KEY (pool_id) REFERENCES pools (id),
    CONSTRAINT statement_issued CHECK (issued >= 0)
) ENGINE = InnoDB;
