// Package lockmode holds the ways in which two draws on one pool are kept
// apart: WHEN a batch may be decided. [Modes] is the registry.
//
// It keeps the law that no mode is trusted: whichever lock is held, every
// batch ends in the one guarded write of package stock, so that a lock that
// lies costs a retry and never a unit.
package lockmode
