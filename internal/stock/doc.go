// Package stock owns the rows: all SQL of the service is here. It keeps the
// law that one write decides: whatever lock was held before, a batch of awards
// is written by [Tx.Apply] alone, which raises the pool's version only from
// the version that the plan was made from.
//
// What the databases do differently is a [dialect], one value in one file for
// each; drawing on PostgreSQL goes through pgx and its pipeline, everything
// else through database/sql. Errors are told by code, once, in the dialect's
// file.
package stock
