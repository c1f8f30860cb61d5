-- +goose Up
-- Binaries that know no hooks continue: they send nothing, and a later one sends it.
UPDATE schema_admits SET binaries_from = 8;

-- Where events are sent. types, pools and prizes are JSON lists, '' for the default.
-- secret and former are sealed under key_id and former_key; former signs until
-- former_until. revision counts the changes.
CREATE TABLE hooks (
    id           TEXT    NOT NULL PRIMARY KEY,
    url          TEXT    NOT NULL,
    types        TEXT    NOT NULL DEFAULT '',
    pools        TEXT    NOT NULL DEFAULT '',
    prizes       TEXT    NOT NULL DEFAULT '',
    is_off       INTEGER NOT NULL DEFAULT 0 CHECK (is_off IN (0, 1)),
    why          TEXT    NOT NULL DEFAULT '',
    revision     INTEGER NOT NULL DEFAULT 1,
    key_id       TEXT    NOT NULL,
    secret       BLOB    NOT NULL,
    former_key   TEXT    NOT NULL DEFAULT '',
    former       BLOB    NOT NULL DEFAULT x'',
    former_until TEXT    NOT NULL DEFAULT '1970-01-01T00:00:00.000000Z',
    created_at   TEXT    NOT NULL
) STRICT;

-- How far a hook has come in a pool: version and step are the place up to which all is
-- received, and entry is the id of the last entry. message is the id of the message under
-- way, '' for none, which goes up to to_version and to_step. A pool without a row is at
-- its start.
CREATE TABLE hook_cursors (
    hook_id     TEXT    NOT NULL,
    pool_id     TEXT    NOT NULL,
    version     INTEGER NOT NULL CHECK (version >= 0),
    step        INTEGER NOT NULL DEFAULT 0 CHECK (step >= 0),
    entry       TEXT    NOT NULL DEFAULT '',
    message     TEXT    NOT NULL DEFAULT '',
    to_version  INTEGER NOT NULL DEFAULT 0,
    to_step     INTEGER NOT NULL DEFAULT 0,
    to_entry    TEXT    NOT NULL DEFAULT '',
    attempts    INTEGER NOT NULL DEFAULT 0,
    next_at     TEXT    NOT NULL DEFAULT '1970-01-01T00:00:00.000000Z',
    forked      INTEGER NOT NULL DEFAULT 0 CHECK (forked IN (0, 1)),
    last_at     TEXT    NOT NULL DEFAULT '1970-01-01T00:00:00.000000Z',
    last_status INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT    NOT NULL DEFAULT '',
    last_ms     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hook_id, pool_id)
) STRICT, WITHOUT ROWID;
