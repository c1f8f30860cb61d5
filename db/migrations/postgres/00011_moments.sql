-- +goose Up
SET LOCAL lock_timeout = '1s';

-- A binary that knows no moments would draw past one that is due, and give none that is
-- pending.
UPDATE schema_admits SET binaries_from = 11;

-- taken belongs to a moment that is done: the version of the award that took it, 0 while
-- it is pending. NOT VALID spares the check of the rows that are there: their values are
-- among the new ones.
ALTER TABLE agenda
    ADD COLUMN taken bigint,
    DROP CONSTRAINT agenda_what_check,
    ADD CONSTRAINT agenda_what_check CHECK (what IN ('state', 'rules', 'stock', 'moment')) NOT VALID;

ALTER TABLE redirects
    DROP CONSTRAINT redirects_why_check,
    ADD CONSTRAINT redirects_why_check CHECK (why IN ('sold-out', 'limit', 'budget', 'guarantee', 'moment')) NOT VALID;

-- No moment that became an entry before moments_from is pending, and none became one
-- after moments_to; both are 0 before the first.
ALTER TABLE pools
    ADD COLUMN moments_from bigint NOT NULL DEFAULT 0,
    ADD COLUMN moments_to   bigint NOT NULL DEFAULT 0;

-- The items that nobody sees before they are done: those from first_item to last_item,
-- which were planned together, or only the moments among them. version is that of the
-- change which planned them, sha256 their seal. begins_at and ends_at are the span that
-- they were spread over, NULL for those that were not spread.
CREATE TABLE hidden_items (
    pool_id    text COLLATE "C" NOT NULL,
    version    bigint  NOT NULL,
    first_item bigint  NOT NULL CHECK (first_item > 0),
    last_item  bigint  NOT NULL CHECK (last_item >= first_item),
    moments    boolean NOT NULL,
    sha256     text COLLATE "C" NOT NULL,
    begins_at  timestamptz,
    ends_at    timestamptz,
    PRIMARY KEY (pool_id, version)
);
