// Package lockertest is the contract of package locker as a suite. It runs for every lock
// of the registry, with real servers.
//
// It tests locks directly, because draws prove nothing about a lock: the guarded write
// issues exactly the stock even with a lock that excludes nobody. Holders and contenders
// are separate processes, which the suite kills and pauses. [Flaws] are locks that are
// deliberately broken, one for each important promise. The suite must detect each of
// them.
//
// The suite writes measurements to the file that DRAWSVC_LOCKS_OUT names. From that file,
// the program loadtest/locks creates the tables of docs/locks.md.
package lockertest
