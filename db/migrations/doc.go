// Package migrations contains the schema of each database as embedded SQL, with the same
// numbers in each folder. It keeps two laws. Law 2: the schema itself ensures that
// nothing is issued beyond stock, and that a draw's name is used once. It also ensures
// that no two awards come from one state of an urn. Law 10: the schema may be one release
// ahead of the binary, so that an upgrade needs no outage.
//
// # Rules for a new migration
//
// Add first, remove a release later. During an upgrade the previous release draws on the
// new schema. A new column is nullable or has a default, because old binaries do not fill
// it. Columns that old binaries read or write are renamed or dropped only when no release
// that is still in use needs them.
//
// State which binaries may work on the result. Each migration sets
// schema_admits.binaries_from, the lowest schema version that a binary must know to work
// on the new schema. A migration that only adds repeats the number of the migration
// before it. A migration that removes something raises the number in its first statement,
// because MySQL commits each statement, and old binaries must stop before the change. A
// migration also raises the number if old binaries would break its rows, such as codes.
// In that case the new binary works on the older schema, and is installed first.
//
// State which schemas this binary can work on. [OldestSchema] is raised together with the
// first code that needs what a migration adds.
//
// Never make draws wait. A statement that waits for a table's lock makes all later
// draws wait for it, so each migration bounds that wait: PostgreSQL with
// SET LOCAL lock_timeout = '1s', MySQL with SET SESSION lock_wait_timeout = 1.
// `drawsvc migrate up` retries a migration that did not get its lock. Long
// rewrites and scans under a lock are forbidden: on PostgreSQL add constraints
// as NOT VALID and indexes in a NO TRANSACTION migration of their own, on MySQL
// name LOCK = NONE.
//
// Allow a kill at any point. PostgreSQL and SQLite roll a migration back. MySQL
// commits each statement, so its migrations are marked NO TRANSACTION and each
// statement can be run again: CREATE TABLE IF NOT EXISTS, INSERT … ON DUPLICATE
// KEY UPDATE. MySQL has no IF NOT EXISTS for columns and indexes (MariaDB has),
// so such a change checks first:
//
//	SET @missing = (SELECT COUNT(*) = 0 FROM information_schema.columns
//	    WHERE table_schema = DATABASE() AND table_name = 'pools' AND column_name = 'season');
//	SET @change = IF(@missing, 'ALTER TABLE pools ADD COLUMN season BIGINT, LOCK = NONE', 'DO 0');
//	PREPARE change_pools FROM @change;
//	EXECUTE change_pools;
//	DEALLOCATE PREPARE change_pools;
//
// There is no way down, because old binaries work on the new schema.
//
// The tests of this package check that every migration follows these rules. The tests of
// internal/stock kill each migration after every statement. The tests of internal/cli run
// the previous release on the result. docs/upgrading.md is for operators.
package migrations
