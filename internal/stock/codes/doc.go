// Package codes stores the codes of prizes: unit k of a prize has the code at place k.
// Imports fill the places in the order of their file, and places are never reordered. A
// draw does not assign codes: they are read after its commit.
//
// Codes are sealed (package seal), and never in a log, an error or a metric. Locks are
// taken in the order pool, prize, head. A transaction that writes codes without locking
// the pool's row locks the rows of seal_keys first. So only one import at a time writes
// to a database.
package codes
