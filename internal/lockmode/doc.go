// Package lockmode provides the modes of concurrency control for draws on one pool:
// WHEN a batch may be decided. [Names] lists them.
//
// No mode is trusted: whichever lock is held, every batch ends in the one guarded write
// of package stock, so that a lock that fails costs a retry and never a unit.
//
// In every mode, a pool to which nobody else seems to write is planned from its cached
// copy, before any read or lock; the write, which locks the row, rejects a plan whose
// head is no longer the pool's. See decider.decide.
//
// A small batch, in a mode whose lock is the row's own, may share a transaction with
// batches of other pools; see coalescer.
package lockmode
