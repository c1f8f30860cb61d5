// Package group is group commit: the draws that wait on a pool while its last
// batch commits are the next batch, and are decided and written together.
// There is one queue for each active pool and no timer, so an idle pool decides
// a draw at once, and a busy pool decides hundreds of draws at a time.
//
// A [Batcher] holds the queues; the wire calls it. An [Issuer], a lock mode, decides
// [Batch] after batch. The package keeps two laws: every queue has a maximum length and
// every wait a limit (law 5), and a replay depends on a lookup in the log in the same
// attempt (law 4). So does a refusal of a named draw: its plan lists it for the write,
// see [urn.Plan.Unasked].
//
// A batch is in one of three phases:
//
//	        write lost its answer
//	 open ───────────────────────> in doubt
//	  │  ^                            │
//	  │  │ the plan is undone         │ the log answers, or nobody waits
//	  v  │                            v
//	planned ──────────────────────> settled
//	        written, refused, failed
//
// An open batch takes in the draws that arrive while it waits for its turn; a batch in
// doubt does not change.
package group
