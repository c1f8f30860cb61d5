// Package locker provides the locks that external mode can take before it decides a
// batch. [Open] is the registry: one entry for each URL scheme.
//
// No lock is trusted by itself: each gives out a growing token that the guarded write
// of package stock checks, and cancels its holder's context when it may have lost the
// lock.
package locker
