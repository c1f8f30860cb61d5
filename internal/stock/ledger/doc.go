// Package ledger keeps the rows of pools: it reads their logs, and it is the one way to
// change them by other means than a draw. A change is one transaction, which locks the
// pool's row, comes after what is due of the pool's agenda, and records itself as the
// next versions of the log.
//
// What else a database holds of pools is in packages beside this one: each reads and
// changes by the ledger, and none knows the others.
package ledger
