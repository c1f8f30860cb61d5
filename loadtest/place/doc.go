// Package place is where a load test takes place: how the programs are built, how the
// databases and the lock services are started and opened, and which names and
// statements each database needs, so that no load test contains these differences.
package place
