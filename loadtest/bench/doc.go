// Command bench measures how fast the service draws. It builds and starts everything
// itself, and measures the candidates round after round (A B C A B C …). It reports
// ratios of figures of one round: against a no-op gin handler that gets the same
// requests and returns answers of the same size, and against the textbook programs.
// Absolute figures depend on the machine: they are only in the results' JSON, and those
// of the tail also in the tables of the main rows. With --against it measures the
// services of two commits alternately and judges the difference.
//
// Every measurement has a fresh process of the service and a fresh database, unless it
// is about a filled one. Databases write through to the disk before they acknowledge.
// Afterwards the draws that were counted are compared with the service's own counters.
//
// Adding a measure costs one line in entries.go. Run it at the root of the repository;
// it needs Linux, wrk, and the programs of PostgreSQL, MariaDB and Redis.
package main
