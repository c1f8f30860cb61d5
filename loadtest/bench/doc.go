// Command bench measures how fast the service draws. It builds and starts everything
// itself, and measures the candidates round after round (A B C A B C …). It reports
// ratios: a figure of the service, divided by the same round's figure of another program.
// That is a textbook program, or a no-op gin handler with the same requests and answers
// of the same size. Only the results' JSON has absolute figures, because they depend on
// the machine. The tables of the main rows also show the tails in milliseconds. With
// --against it measures the services of two commits alternately and judges the
// difference.
//
// Every measurement has a fresh process of the service and a fresh database, unless the
// measurement is about a filled database. Databases write through to the disk before
// they acknowledge. Afterwards the load program's count of draws is compared with the
// service's own counters.
//
// Adding a measure costs one line in entries.go. Run it at the root of the repository;
// it needs Linux, wrk, and the programs of PostgreSQL, MariaDB and Redis.
package main
