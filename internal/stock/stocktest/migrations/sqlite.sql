-- +goose Up
UPDATE schema_admits SET binaries_from = ADMITS;

CREATE TABLE seasons (
    id   INTEGER NOT NULL PRIMARY KEY,
    name TEXT    NOT NULL
) STRICT;
INSERT INTO seasons (id, name) VALUES (1, 'spring');

ALTER TABLE pools ADD COLUMN season INTEGER;
ALTER TABLE prizes ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE awards ADD COLUMN season INTEGER CHECK (season > 0);
