// Package lockmode provides the modes of concurrency control for draws on one pool: a
// mode determines when a batch may be decided. [Names] lists them.
//
// No mode is trusted: whichever lock is held, every batch ends in the one guarded write
// of package stock, so that a lock that fails costs a retry and never a unit.
//
// In every mode, if no other session seems to write to a pool, a batch is planned from
// the pool's cached copy, before any read or lock. The write, which locks the row,
// rejects a plan whose head is no longer the pool's. See decider.decide.
//
// A small batch, in a mode whose lock is the row's own, may share a transaction with
// batches of other pools; see coalescer.
package lockmode
