// Package lockertest is the contract of package locker as a suite, run for
// every lock of its registry against real servers.
//
// It keeps the law that a lock is tested directly: behind the guarded write a
// lock that excludes nobody still issues exactly the stock, so its draws prove
// nothing about it. Holders and contenders are processes of their own, which
// are killed and stopped. [Flaws] are locks that are broken on purpose, one
// for each promise, and the suite has to catch every one.
//
// What the suite measures goes to the file that DRAWSVC_LOCKS_OUT names, from
// which the program loadtest/locks makes the tables of docs/locks.md.
package lockertest
