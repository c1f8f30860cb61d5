// Package proof makes draws verifiable. It contains the seeds to which a pool is
// committed before it opens, and the numbers that follow from them. It also contains the
// lines of the public log, the tree over them, signed notes, and the verifier that
// recomputes all draws. It imports only packages of internal/draw, so the same code
// decides in the verifier and in the service. docs/verify/format.md specifies the exact
// bytes.
//
// It keeps law 9: everything that decides a draw is in the log. The number of a version
// is a function of the seed, the commitment and the version. So a draw at a given version
// always gets the same result, whatever batch, instance, mode or retry leads to that
// version (law 3).
package proof
