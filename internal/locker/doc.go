// Package locker provides the locks that external mode can take before it decides a
// batch. [Open] is the registry: one entry for each URL scheme.
//
// No lock is trusted by itself: each lock provides a growing token that the guarded
// write of package stock checks, and cancels its holder's context when the lock may be
// lost.
package locker
