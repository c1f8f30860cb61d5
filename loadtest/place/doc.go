// Package place is where a load test takes place: how the programs are built, how
// the databases and the lock services are started and opened, and what each
// database calls things, so that no load test distinguishes them by itself.
package place
