// Package locker provides the locks that external mode takes before it decides a batch.
// [Open] finds a lock in the registry, which has one entry for each URL scheme.
//
// No lock is trusted by itself. Each lock provides a growing token, which the guarded
// write of package stock checks. It also cancels its holder's context when the lock may
// be lost.
package locker
