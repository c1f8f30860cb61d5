package gate

import (
	"golang.org/x/sync/semaphore"
)

const (
	// publicLogsMax is how many revealed logs are sent at once, and proofsMax how many
	// receipts are proven. Whoever comes then waits.
	publicLogsMax = 8
	proofsMax     = 1
)

// Bounds is what calls share, so that no number of callers uses up the memory or the
// connections to the database, and no rank what a higher one needs.
type Bounds struct {
	// Reads are the calls that read the database at once, beside the draws: the
	// connections for reads. Changes are those that change it: one of its connections
	// is left for the service itself.
	Reads, Changes *Shares
	// LongChanges are those that may read or write a whole log. The connections that are
	// left remain for draws and short changes.
	LongChanges *Shares
	// Streams are audits and exports. They read for as long as their caller takes,
	// which has a pace to keep to.
	Streams *Shares
	// Listeners are the streams of events.
	Listeners *Shares
	// Simulations use a processor each.
	Simulations *Shares
	// Imports are the files that arrive or are imported. Of these one is at work:
	// Importing.
	Imports   *Shares
	Importing *semaphore.Weighted
	// Answers bounds the bytes of all long answers that are being sent: a caller that
	// reads slowly holds its answer until the write timeout.
	Answers *Shares
	// PublicLogs and Proofs are those of publicLogsMax and proofsMax.
	PublicLogs, Proofs *semaphore.Weighted
}

// ReadsUsual is the number of connections for reads where the Config names none.
const ReadsUsual = 5

// NewBounds returns the bounds of a server with at most so many connections of
// callers, and of the database for reads.
func NewBounds(connections, reads int) Bounds {
	n, m := int64(connections), int64(reads)
	return Bounds{
		Reads:       NewShares([Ranks]int64{m - 3, m - 2, m - 1, m}),
		Changes:     NewShares([Ranks]int64{0, 0, 2, 3}),
		LongChanges: NewShares([Ranks]int64{0, 0, 0, 2}),
		Streams:     NewShares([Ranks]int64{0, 2, 3, 4}),
		Listeners:   NewShares([Ranks]int64{0, max(1, n/4), max(2, 3*n/8), max(3, n/2)}),
		Simulations: NewShares([Ranks]int64{0, 1, 2, 3}),
		Imports:     NewShares([Ranks]int64{0, 0, 1, 2}),
		Importing:   semaphore.NewWeighted(1),
		Answers:     NewShares([Ranks]int64{16 << 20, 32 << 20, 48 << 20, 64 << 20}),
		PublicLogs:  semaphore.NewWeighted(publicLogsMax),
		Proofs:      semaphore.NewWeighted(proofsMax),
	}
}
