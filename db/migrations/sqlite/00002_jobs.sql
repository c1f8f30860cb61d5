-- +goose Up
-- Binaries that know only schema 1 continue: they know no jobs.
UPDATE schema_admits SET binaries_from = 1;

-- One row for each job. Times are of the database's clock, and durations in
-- milliseconds. token numbers the runs.
CREATE TABLE jobs (
    name         TEXT NOT NULL PRIMARY KEY,
    enabled      INTEGER     NOT NULL,
    schedule     TEXT        NOT NULL,
    per          TEXT        NOT NULL CHECK (per IN ('run', 'day')),
    host         TEXT        NOT NULL DEFAULT '',
    stale_after  INTEGER     NOT NULL CHECK (stale_after > 0),
    status       TEXT        NOT NULL CHECK (status IN ('idle', 'running')),
    holder       TEXT        NOT NULL DEFAULT '',
    token        INTEGER     NOT NULL DEFAULT 0,
    started_at   TEXT,
    heard_at     TEXT,
    due_at       TEXT        NOT NULL,
    wanted_by    TEXT        NOT NULL DEFAULT '',
    last_success TEXT,
    last_day     TEXT        NOT NULL DEFAULT '',
    last_error   TEXT        NOT NULL DEFAULT '',
    report       BLOB        NOT NULL DEFAULT x'',
    changed_by   TEXT        NOT NULL DEFAULT '',
    changed_at   TEXT        NOT NULL
) STRICT;

CREATE TABLE job_runs (
    job         TEXT NOT NULL REFERENCES jobs (name),
    token       INTEGER     NOT NULL,
    host        TEXT        NOT NULL,
    started_at  TEXT        NOT NULL,
    finished_at TEXT,
    result      TEXT        NOT NULL DEFAULT '' CHECK (result IN ('', 'ok', 'failed', 'lost')),
    error       TEXT        NOT NULL DEFAULT '',
    asked_by    TEXT        NOT NULL DEFAULT '',
    PRIMARY KEY (job, token)
) STRICT;

-- What the catalogue's source said last, in one row.
CREATE TABLE catalogue (
    one           INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    source        TEXT        NOT NULL,
    body          BLOB        NOT NULL,
    digest        TEXT        NOT NULL,
    etag          TEXT        NOT NULL,
    last_modified TEXT        NOT NULL,
    fetched_at    TEXT        NOT NULL,
    checked_at    TEXT        NOT NULL
) STRICT;

-- A line for each pool, local day and prize. to_version is the last version of
-- the pool that the day's lines count.
CREATE TABLE statements (
    pool_id    TEXT NOT NULL REFERENCES pools (id),
    day        TEXT NOT NULL,
    prize_id   TEXT NOT NULL,
    issued     INTEGER        NOT NULL CHECK (issued >= 0),
    remaining  INTEGER        NOT NULL,
    value      TEXT NOT NULL,
    to_version INTEGER        NOT NULL,
    PRIMARY KEY (pool_id, day, prize_id)
) STRICT;
