// Package ledger holds the rows of pools: it reads their logs, and it is the only way
// to change pools by other means than a draw. A change is one transaction, which locks
// the pool's row, comes after the due items of the pool's agenda, and records itself as
// the next versions of the log.
//
// What else a database holds of pools is in sibling packages: each reads and changes
// through the ledger, and none knows the others.
package ledger
