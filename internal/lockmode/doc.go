// Package lockmode holds the ways in which two draws on one pool are kept
// apart: WHEN a batch may be decided. [Names] lists them.
//
// It keeps the law that no mode is trusted: whichever lock is held, every
// batch ends in the one guarded write of package stock, so that a lock that
// lies costs a retry and never a unit.
//
// A pool that nobody else seems to write to is planned from its cached copy,
// before any read or lock, in every mode; the write, which locks the row,
// rejects a plan whose head is not the pool's any more. See decider.decide.
//
// A batch that is small, in a mode whose lock is the row's own, may share a
// transaction with those of other pools; see coalescer.
package lockmode
