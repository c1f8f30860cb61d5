// Package locker holds the locks that external mode can take before it
// decides a batch. [Open] is the registry: one entry for each URL scheme.
//
// It keeps the law that a lock is never trusted alone: each hands out a
// growing token that the guarded write of package stock checks, and cancels
// its holder's context when it may have lost the lock.
package locker
