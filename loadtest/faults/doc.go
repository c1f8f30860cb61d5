// Command faults breaks the service, its database, its lock service and its
// clients in every way that it knows, under load, and then holds what was
// answered against what the database has: nothing acknowledged is lost, nothing
// is issued twice, and the service comes back by itself.
//
// It is a black box: it starts the program that is released, speaks HTTP to it
// and reads the rows by SQL of its own. Only the faults at named points inside
// the service need a build with the tag faults.
//
// Each run prints its seed, and the same seed replays its schedule. The first
// runs are controls: programs that are broken, which must fail.
//
// Run it at the root of the repository.
package main
