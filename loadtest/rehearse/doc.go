// Command rehearse plays an evening on a staging deployment: the load rises, peaks, and
// stays while the database fails over and the instances are replaced; stock is added,
// and the pool is closed, audited and verified. Its report states the effects on
// callers, and whether the log has every answer. Docs/rehearsal.md describes it.
//
// With --here it starts its own deployment on this machine. Run it at the root of the
// repository.
package main
