// Command matrix is the load proof: it builds the service, starts databases,
// lock services and one or three instances for every combination that the
// service offers, runs the load scripts against them, and after each checks
// the rows by SQL of its own, without the service.
//
// It must be able to fail: the first run is against a textbook program that
// over-issues, and the matrix goes no further unless that run fails, for that
// reason.
//
// Run it at the root of the repository.
package main
