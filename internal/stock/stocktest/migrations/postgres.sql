-- +goose Up
SET LOCAL lock_timeout = '1s';
UPDATE schema_admits SET binaries_from = ADMITS;

CREATE TABLE seasons (
    id   bigint PRIMARY KEY,
    name text NOT NULL
);
INSERT INTO seasons (id, name) VALUES (1, 'spring');

ALTER TABLE pools ADD COLUMN season bigint;
ALTER TABLE prizes ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE awards ADD COLUMN season bigint, ADD CONSTRAINT season_positive CHECK (season > 0) NOT VALID;
