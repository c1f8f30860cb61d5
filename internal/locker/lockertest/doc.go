// Package lockertest is the contract of package locker as a suite, run for every lock
// of its registry against real servers.
//
// It tests locks directly: because of the guarded write, a lock that excludes no
// process still issues exactly the stock, so draws prove nothing about a lock. Holders
// and contenders are separate processes, which are killed and paused. [Flaws] are locks
// that are broken on purpose, one for each promise, and the suite has to detect each of
// them.
//
// Measurements of the suite are written to the file that DRAWSVC_LOCKS_OUT names, from
// which the program loadtest/locks makes the tables of docs/locks.md.
package lockertest
