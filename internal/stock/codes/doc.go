// Package codes keeps the codes of prizes: unit k of a prize has the code at place k.
// Places are filled by imports, in the order of the file, and never reordered. The draw
// assigns nothing: codes are read after its commit.
//
// Codes are sealed (package seal), and never in a log, an error or a metric. Locks are
// taken in the order pool, prize, head; a transaction that writes codes without locking
// the pool's row locks the rows of seal_keys first, so that only one import at a time
// writes in a database.
package codes
