// Package ledger holds the rows of pools: it reads their logs, and makes all changes of
// pools except draws. A change is one transaction. The transaction locks the pool's row,
// carries out the due items of the pool's agenda, and appends the change to the log.
//
// Sibling packages hold the other rows of pools. Each of them reads and changes pools
// through the ledger, and does not import the others.
package ledger
