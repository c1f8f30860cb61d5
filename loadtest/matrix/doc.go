// Command matrix is the load proof. For every combination that the service offers, it
// starts a database, a lock service and one or three instances, and runs the load
// scripts against them. After each run it checks the rows by its own SQL, without the
// service.
//
// It must be able to fail: the first run is against a textbook program that
// over-issues, and the matrix continues only if that run fails for that reason.
//
// Run it at the root of the repository.
package main
