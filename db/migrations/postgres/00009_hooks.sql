-- +goose Up
SET LOCAL lock_timeout = '1s';

-- Binaries that know no hooks continue: they send nothing, and a later one sends it.
UPDATE schema_admits SET binaries_from = 8;

-- Where events are sent. types, pools and prizes are JSON lists, '' for the default.
-- secret and former are sealed under key_id and former_key; former signs until
-- former_until. revision counts the changes.
CREATE TABLE hooks (
    id           text COLLATE "C" NOT NULL PRIMARY KEY,
    url          text NOT NULL,
    types        text NOT NULL DEFAULT '',
    pools        text NOT NULL DEFAULT '',
    prizes       text NOT NULL DEFAULT '',
    is_off       boolean NOT NULL DEFAULT false,
    why          text NOT NULL DEFAULT '',
    revision     bigint NOT NULL DEFAULT 1,
    key_id       text NOT NULL,
    secret       bytea NOT NULL,
    former_key   text NOT NULL DEFAULT '',
    former       bytea NOT NULL DEFAULT '',
    former_until timestamptz NOT NULL DEFAULT '1970-01-01T00:00:00Z',
    created_at   timestamptz NOT NULL
);

-- How far a hook has come in a pool: version and step are the place up to which all is
-- received, and entry is the id of the last entry. message is the id of the message under
-- way, '' for none, which goes up to to_version and to_step. A pool without a row is at
-- its start.
CREATE TABLE hook_cursors (
    hook_id     text COLLATE "C" NOT NULL,
    pool_id     text COLLATE "C" NOT NULL,
    version     bigint NOT NULL CHECK (version >= 0),
    step        bigint NOT NULL DEFAULT 0 CHECK (step >= 0),
    entry       text NOT NULL DEFAULT '',
    message     text NOT NULL DEFAULT '',
    to_version  bigint NOT NULL DEFAULT 0,
    to_step     bigint NOT NULL DEFAULT 0,
    to_entry    text NOT NULL DEFAULT '',
    attempts    bigint NOT NULL DEFAULT 0,
    next_at     timestamptz NOT NULL DEFAULT '1970-01-01T00:00:00Z',
    forked      boolean NOT NULL DEFAULT false,
    last_at     timestamptz NOT NULL DEFAULT '1970-01-01T00:00:00Z',
    last_status bigint NOT NULL DEFAULT 0,
    last_error  text NOT NULL DEFAULT '',
    last_ms     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (hook_id, pool_id)
);
