// Command bench measures how fast the service draws. It builds and starts
// everything itself, takes the candidates in turn, round after round (A B C A
// B C …), and states ratios of figures of one round: against a no-op gin
// handler that is sent the same requests and answers as much, and against the
// textbook programs. Absolute figures depend on the machine and are kept in
// the results' JSON, those of the tail in the tables of the main rows as well.
// With --against it takes the services of two commits in turn and judges the
// difference.
//
// Every measurement has a fresh process of the service, and a fresh database
// save where a filled one is the point. Databases write through to the disk
// before they acknowledge. What a measurement counted as drawn is looked up in
// the service's books afterwards.
//
// Adding a measure costs one line in entries.go. Run it at the root of the
// repository; it needs Linux, wrk, and the programs of PostgreSQL, MariaDB and
// Redis.
package main
