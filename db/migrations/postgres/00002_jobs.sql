-- +goose Up
SET LOCAL lock_timeout = '1s';

-- Binaries that know only schema 1 continue: they know no jobs.
UPDATE schema_admits SET binaries_from = 1;

-- One row for each job. Times are of the database's clock, and durations in
-- milliseconds. token numbers the runs.
CREATE TABLE jobs (
    name         text COLLATE "C" PRIMARY KEY,
    enabled      boolean     NOT NULL,
    schedule     text        NOT NULL,
    per          text        NOT NULL CHECK (per IN ('run', 'day')),
    host         text        NOT NULL DEFAULT '',
    stale_after  bigint      NOT NULL CHECK (stale_after > 0),
    status       text        NOT NULL CHECK (status IN ('idle', 'running')),
    holder       text        NOT NULL DEFAULT '',
    token        bigint      NOT NULL DEFAULT 0,
    started_at   timestamptz,
    heard_at     timestamptz,
    due_at       timestamptz NOT NULL,
    wanted_by    text        NOT NULL DEFAULT '',
    last_success timestamptz,
    last_day     text        NOT NULL DEFAULT '',
    last_error   text        NOT NULL DEFAULT '',
    report       bytea       NOT NULL DEFAULT '',
    changed_by   text        NOT NULL DEFAULT '',
    changed_at   timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE job_runs (
    job         text COLLATE "C" NOT NULL REFERENCES jobs (name),
    token       bigint      NOT NULL,
    host        text        NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    result      text        NOT NULL DEFAULT '' CHECK (result IN ('', 'ok', 'failed', 'lost')),
    error       text        NOT NULL DEFAULT '',
    asked_by    text        NOT NULL DEFAULT '',
    PRIMARY KEY (job, token)
);

-- What the catalogue's source said last, in one row.
CREATE TABLE catalogue (
    one           smallint PRIMARY KEY CHECK (one = 1),
    source        text        NOT NULL,
    body          bytea       NOT NULL,
    digest        text        NOT NULL,
    etag          text        NOT NULL,
    last_modified text        NOT NULL,
    fetched_at    timestamptz NOT NULL,
    checked_at    timestamptz NOT NULL
);

-- A line for each pool, local day and prize. to_version is the last version of
-- the pool that the day's lines count.
CREATE TABLE statements (
    pool_id    text COLLATE "C" NOT NULL REFERENCES pools (id),
    day        text COLLATE "C" NOT NULL,
    prize_id   text COLLATE "C" NOT NULL,
    issued     bigint         NOT NULL CHECK (issued >= 0),
    remaining  bigint         NOT NULL,
    value      numeric(30, 2) NOT NULL,
    to_version bigint         NOT NULL,
    PRIMARY KEY (pool_id, day, prize_id)
);
