package gate

import (
	"golang.org/x/sync/semaphore"
)

const (
	// publicLogsMax is how many revealed logs are sent to players at once. proofsMax is
	// how many receipts are proven for players at once. Further callers wait.
	publicLogsMax = 8
	proofsMax     = 1
	// publicMax is how many callers without a token read the database at once: fewer than
	// the places that players have among all reads.
	publicMax = 1
)

// Bounds are limits that calls share, so that callers cannot use up the memory or the
// connections to the database, and no rank uses up the places of a higher rank.
type Bounds struct {
	// Reads limits the calls, other than draws, that read the database at once, to the
	// number of connections for reads. Changes limits the calls that change the database;
	// one of the connections for changes is left for the service itself.
	Reads, Changes *Shares
	// Claims limits the number of waiting claims, which winners' servers make. The
	// claims of one pool share a transaction, and few transactions write claims at once.
	Claims *Shares
	// LongChanges limits changes that may read or write a whole log. The other
	// connections remain for draws and short changes.
	LongChanges *Shares
	// Streams limits audits and exports. Each lasts as long as its caller reads; the
	// caller must keep a minimum pace.
	Streams *Shares
	// Listeners limits the streams of events.
	Listeners *Shares
	// Waiters limits the calls that wait for awards. They hold no connection to the
	// database.
	Waiters *Shares
	// Simulation limits simulations to one at a time, because each uses a whole processor.
	Simulation *Turn
	// Imports limits the files that arrive or are imported. Importing allows one import at a
	// time for each rank, so that one rank does not wait for the long file of another.
	Imports   *Shares
	Importing [Ranks]*semaphore.Weighted
	// Answers bounds the bytes of all long answers that are being sent: a caller that
	// reads slowly holds its answer until the write timeout.
	Answers *Shares
	// PublicLogs and Proofs limit calls of players, to publicLogsMax and proofsMax. Each
	// higher rank has one more place.
	PublicLogs, Proofs *Shares
	// Public limits the reads from the database without a token.
	Public *semaphore.Weighted
}

// NewBounds returns the bounds of a server with a maximum number of callers' connections.
func NewBounds(connections int) Bounds {
	n := int64(connections)
	var importing [Ranks]*semaphore.Weighted
	for of := range importing {
		importing[of] = semaphore.NewWeighted(1)
	}
	return Bounds{
		Reads:       NewShares([Ranks]int64{2, 3, 4, 5}),
		Changes:     NewShares([Ranks]int64{0, 0, 2, 3}),
		Claims:      NewShares([Ranks]int64{32, 64, 80, 96}),
		LongChanges: NewShares([Ranks]int64{0, 0, 0, 2}),
		Streams:     NewShares([Ranks]int64{0, 2, 3, 4}),
		Listeners:   NewShares([Ranks]int64{0, max(1, n/4), max(2, 3*n/8), max(3, n/2)}),
		Waiters:     NewShares([Ranks]int64{0, 90, 95, 100}),
		Simulation:  &Turn{},
		Imports:     NewShares([Ranks]int64{0, 0, 1, 2}),
		Importing:   importing,
		Answers:     NewShares([Ranks]int64{16 << 20, 32 << 20, 48 << 20, 64 << 20}),
		PublicLogs:  oneMoreForEach(publicLogsMax),
		Proofs:      oneMoreForEach(proofsMax),
		Public:      semaphore.NewWeighted(publicMax),
	}
}

// oneMoreForEach returns a bound with the given number of places for the lowest rank,
// and one more place for each higher rank.
func oneMoreForEach(lowest int64) *Shares {
	return NewShares([Ranks]int64{lowest, lowest + 1, lowest + 2, lowest + 3})
}
