// Package ledger holds the rows of pools: it reads their logs, and makes all changes of
// pools except draws. A change is one transaction. It locks the pool's row, carries out
// the due items of the pool's agenda first, and records itself as the next versions of
// the log.
//
// Sibling packages hold the other rows of pools: each reads and changes through the
// ledger, and does not import the others.
package ledger
