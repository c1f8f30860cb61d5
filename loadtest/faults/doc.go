// Command faults breaks the service, its database, its lock service and its clients in
// many ways, under load. Then it compares the answers with the rows of the database. No
// acknowledged change may be lost, no unit issued twice, and the service must recover by
// itself.
//
// It is a black box test: it starts the released program, speaks HTTP to it and reads
// the rows by its own SQL. Only the faults at named points inside the service need a
// build with the tag faults.
//
// A cell is one fault at one place: a database, a mode, a lock and a number of instances.
// Each run prints its seed, and the same seed replays its schedule. The first runs are
// controls: broken programs, which must fail.
//
// Run it at the root of the repository.
package main
