// Command rehearse simulates the load of an evening on a staging deployment. The load
// rises, peaks, and stays while the database fails over and the instances are replaced.
// Stock is added, and the pool is closed, audited and verified. The report states the
// effects on callers, and whether the log has every answer. The page docs/rehearsal.md
// describes the rehearsal.
//
// With --here it starts its own deployment on this machine. Run it at the root of the
// repository.
package main
