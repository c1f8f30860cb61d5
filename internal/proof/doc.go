// Package proof makes draws verifiable: the seeds that are committed before a pool
// opens, the numbers that follow from them, the lines of the public log, the tree over
// them, signed notes, and the verifier that recomputes everything. It imports only
// package draw, whose code decides in the verifier as it did in the service.
// docs/verify/format.md specifies the exact bytes.
//
// It keeps law 9: everything that decides a draw is in the log. The number of a version
// is a function of the seed, the commitment and the version. So a draw at a given
// version always gets the same result, whatever batch, instance, mode or retry leads to
// that version (law 3).
package proof
