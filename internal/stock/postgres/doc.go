// Package postgres is the engine of PostgreSQL. Draws use pgx and its pipeline,
// everything else database/sql.
//
// It keeps law 1: the guarded write is one statement that writes all or nothing. It keeps
// law 6: a commit whose wait for a standby ended early is in doubt. A draw that is found
// in the log is not returned to callers before the standbys have it.
package postgres
