// Package lockertest is the contract of package locker as a suite, run for every lock
// of its registry against real servers.
//
// It tests locks directly. Draws prove nothing about a lock: because of the guarded
// write, exactly the stock is issued even with a lock that excludes no process. Holders
// and contenders are separate processes, which are killed and paused. [Flaws] are locks
// that are broken on purpose, one for each promise that matters. The suite has to detect
// each of them.
//
// Measurements of the suite are written to the file that DRAWSVC_LOCKS_OUT names, from
// which the program loadtest/locks makes the tables of docs/locks.md.
package lockertest
